import VideoCapturing

/// A window of an X display that a user would call one.
public struct ScreenWindow: Sendable, Hashable {
    /// The identifier, as `xwininfo` shows it in hexadecimal.
    public var id: UInt32
    /// What its title bar says; empty when it has none.
    public var title: String
    /// The program's class, as `Firefox`; empty when it does not say.
    public var className: String
    /// The process that has made it, on whichever machine; nil when it does not say.
    public var processID: Int32?
    /// Where it lies on the display, without decorations, in pixels.
    public var frame: PixelRect

    public init(id: UInt32, title: String, className: String, processID: Int32?, frame: PixelRect) {
        self.id = id
        self.title = title
        self.className = className
        self.processID = processID
        self.frame = frame
    }
}
