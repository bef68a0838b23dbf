import VideoCapturing
import XDisplay

extension XConnection {
    /// Connects to the display to capture, by its name or that of the environment.
    static func open(_ display: String?) throws(CaptureError) -> XConnection {
        try open(named: displayName(display))
    }

    private static func displayName(_ display: String?) throws(CaptureError) -> String {
        if let display, !display.isEmpty { return display }
        if let name = environment("DISPLAY") { return name }
        if environment("WAYLAND_DISPLAY") != nil {
            throw CaptureError(
                .deviceNotFound, operation: "connect to the display",
                message: "This is a Wayland session without an X server. WaylandScreenCapturer captures its screens; "
                    + "or name an X display such as Xwayland's.")
        }
        throw CaptureError(
            .deviceNotFound, operation: "connect to the display",
            message: "DISPLAY is not set, so there is no screen to capture; name the X display, such as :0"
                + (displays().isEmpty
                    ? "." : " (there is: \(displays().joined(separator: ", ")))."))
    }
}
