import VideoCapturing

/// What is asked of a screen.
public struct ScreenConfiguration: Sendable, Hashable {
    /// The X display, as `:0`, `:0.1` or `host:1`; nil for the one that the environment's `DISPLAY` names.
    public var display: String?
    /// What of it is captured.
    public var target: ScreenTarget
    /// The part of the target that is captured, in its pixels; nil for all of it.
    public var region: PixelRect?
    /// Whether the pointer is drawn into the picture.
    public var showsPointer: Bool
    /// The most frames a second. Less come when less changes.
    public var frameRate: FrameRate
    /// The format of the frames: NV12, I420 or ARGB.
    public var pixelFormat: PixelFormat
    /// Whether to wait for an X server that has gone, and to go on with it when it is back; otherwise the capture stops
    /// with `deviceLost`.
    public var reconnects: Bool

    public init(
        display: String? = nil, target: ScreenTarget = .desktop, region: PixelRect? = nil, showsPointer: Bool = true,
        frameRate: FrameRate = 30, pixelFormat: PixelFormat = .nv12, reconnects: Bool = true
    ) {
        self.display = display
        self.target = target
        self.region = region
        self.showsPointer = showsPointer
        self.frameRate = frameRate
        self.pixelFormat = pixelFormat
        self.reconnects = reconnects
    }

    /// Throws `formatUnsupported` or `invalidConfiguration` for what no screen has.
    func validate() throws(CaptureError) {
        guard [.nv12, .i420, .argb].contains(pixelFormat) else {
            throw CaptureError(
                .formatUnsupported, operation: "check the settings of the screen", subject: "\(pixelFormat)",
                message: "A screen is captured as NV12, I420 or ARGB; convert the frames with FrameProcessing.")
        }
        guard let region else { return }
        guard region.x >= 0, region.y >= 0, region.width > 0, region.height > 0,
            max(region.x, region.y, region.width, region.height) <= VideoFormat.maximumSide
        else {
            throw CaptureError(
                .invalidConfiguration, operation: "check the settings of the screen", subject: region.text,
                message: "A region begins at 0,0 or right and below of it, and has at least one pixel.")
        }
    }
}

extension PixelRect {
    /// As a person writes it: `10,20,640x480`.
    var text: String { "\(x),\(y),\(width)x\(height)" }
}
