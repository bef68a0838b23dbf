import FrameProcessing
import VideoCapturing

extension ScreenCapturer {
    /// The configuration of a ``ScreenCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// The X display, as `:0`, `:0.1` or `host:1`; nil for that of the environment variable `DISPLAY`.
        public var display: String?
        /// The target that is captured.
        public var target: ScreenCapturer.Configuration.Target
        /// The part of the target that is captured, in its pixels; nil for all of it.
        public var region: PixelRect?
        /// Whether the pointer is drawn into the frames.
        public var showsPointer: Bool
        /// The maximum rate. Fewer frames are delivered when less changes.
        public var frameRate: FrameRate
        /// The format of the frames: NV12, I420 or ARGB.
        public var pixelFormat: PixelFormat
        /// Whether to wait for an X server that has exited, and to continue when it is back; otherwise the capture stops
        /// with `deviceLost`.
        public var reconnects: Bool

        /// Creates a configuration; see the properties.
        public init(
            display: String? = nil, target: ScreenCapturer.Configuration.Target = .desktop, region: PixelRect? = nil,
            showsPointer: Bool = true,
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

        /// Throws `formatUnsupported` or `invalidConfiguration` for a value that is out of range.
        func validate() throws(CaptureError) { try ScreenFrameMaker.check(pixelFormat, region) }
    }
}

extension ScreenCapturer.Configuration {
    /// The part of a display that is captured.
    public enum Target: Sendable, Hashable {
        /// The whole display, with all monitors.
        case desktop
        /// One monitor, by its RandR name, as `HDMI-1`; or `primary`.
        case monitor(String)
        /// One window, by its identifier.
        case window(UInt32)
        /// The window with this title, or else the first one whose title contains it; not case-sensitive.
        case windowTitled(String)
        /// The window that is clicked next; `initCapture` waits for it.
        case clickedWindow
    }
}
