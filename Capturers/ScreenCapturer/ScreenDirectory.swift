import CLibXCB
import VideoCapturing
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The displays, monitors and windows that can be captured. Each call queries the X server again. Thread-safe.
public struct ScreenDirectory: Sendable {
    /// The X display; nil for that of the environment.
    public var display: String?

    /// Creates a directory.
    ///
    /// - Parameter display: the X display, as `:0`; nil for that of the environment.
    public init(display: String? = nil) {
        self.display = display
    }

    /// The X displays of this machine whose server accepts connections, as `:0`.
    public static func displays() -> [String] { XConnection.displays() }

    /// The monitors of the display, the primary one first; one for the whole display where the server does not report
    /// monitors.
    ///
    /// - Throws: the errors of `ScreenCapturer.initCapture` for a display that is not available.
    public func monitors() throws(CaptureError) -> [ScreenDirectory.Monitor] {
        try ask("list the monitors") { (connection) throws(XFailure) in try connection.monitors() }
    }

    /// The application windows of the display, in the order of the window manager, or else the topmost last.
    ///
    /// - Throws: as ``monitors()``.
    public func windows() throws(CaptureError) -> [ScreenDirectory.Window] {
        try ask("list the windows") { (connection) throws(XFailure) in try connection.windows() }
    }

    private func ask<Result>(
        _ operation: String, _ body: (XConnection) throws(XFailure) -> Result
    ) throws(CaptureError) -> Result {
        let connection = try XConnection.open(display)
        do {
            return try body(connection)
        } catch {
            throw CaptureError(
                .deviceLost, operation: operation, subject: display,
                message: "The X server has not answered; check whether it still runs.")
        }
    }
}

extension ScreenDirectory {
    /// A monitor of an X display (RandR 1.5).
    public struct Monitor: Sendable, Hashable {
        /// The name, as `HDMI-1`.
        public var name: String
        /// Its position on the display, in pixels.
        public var frame: PixelRect
        /// Whether it is the primary monitor.
        public var isPrimary: Bool

        /// Creates a description of a monitor.
        public init(name: String, frame: PixelRect, isPrimary: Bool) {
            self.name = name
            self.frame = frame
            self.isPrimary = isPrimary
        }
    }
}

extension ScreenDirectory {
    /// An application window of an X display.
    public struct Window: Sendable, Hashable {
        /// The identifier, as `xwininfo` shows it in hexadecimal.
        public var id: UInt32
        /// Its title; empty when it has none.
        public var title: String
        /// The program's class, as `Firefox`; empty when it states none.
        public var className: String
        /// The process that created it, possibly on another machine; nil when it states none.
        public var processID: Int32?
        /// Its position on the display without decorations, in pixels.
        public var frame: PixelRect

        /// Creates a description of a window.
        public init(id: UInt32, title: String, className: String, processID: Int32?, frame: PixelRect) {
            self.id = id
            self.title = title
            self.className = className
            self.processID = processID
            self.frame = frame
        }
    }
}
