import VideoCapturing

/// A mode of a camera: what is set with `VIDIOC_S_FMT` and `VIDIOC_S_PARM`.
public struct CameraMode: Sendable, Hashable {
    /// How the camera's pictures are coded.
    public var fourCC: FourCC
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The frames a second; nil when the driver does not say.
    public var rate: FrameRate?
    /// Whether the driver lists the rate for this format and size; otherwise it is the one that was set when the camera
    /// was asked, and may be another once frames come.
    public var isRateVerified: Bool
    /// What it takes to make NV12 of the pictures.
    public var cost: ConversionCost
    /// About how much comes over the bus; for JPEG a rough estimate.
    public var bytesPerSecond: Int
    /// The place in the driver's lists, from 0.
    public var index: Int
    private let bitsPerPixel: Int

    /// The size in pixels.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    init(
        _ format: CaptureFormat, _ size: PixelSize, rate: FrameRate?, isRateVerified: Bool, index: Int,
        for request: CameraModeRequest
    ) {
        fourCC = format.fourCC
        width = size.width
        height = size.height
        self.rate = rate
        self.isRateVerified = isRateVerified
        cost = format.cost
        bitsPerPixel = format.bitsPerPixel
        bytesPerSecond = format.bytesPerSecond(size, rate: rate ?? request.rate)
        self.index = index
    }

    /// Takes the rate that the driver has confirmed.
    mutating func setRate(_ rate: FrameRate?, for request: CameraModeRequest) {
        self.rate = rate
        bytesPerSecond = CaptureFormat.bytesPerSecond(size, bitsPerPixel: bitsPerPixel, rate: rate ?? request.rate)
    }
}

extension CameraMode: CustomStringConvertible {
    /// `YUYV 640x480 at 30 fps`.
    public var description: String {
        guard let rate else { return "\(fourCC) \(size) at an unknown rate" }
        return "\(fourCC) \(size) at \(rate.text) fps\(isRateVerified ? "" : " (not listed by the driver)")"
    }
}
