import VideoCapturing

/// A monitor of an X display, as RandR 1.5 has it.
public struct ScreenMonitor: Sendable, Hashable {
    /// The name, as `HDMI-1`.
    public var name: String
    /// Where it lies on the display, in pixels.
    public var frame: PixelRect
    /// Whether it is the one for the panel and the first windows.
    public var isPrimary: Bool

    public init(name: String, frame: PixelRect, isPrimary: Bool) {
        self.name = name
        self.frame = frame
        self.isPrimary = isPrimary
    }
}
