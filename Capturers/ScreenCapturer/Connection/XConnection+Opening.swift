import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension XConnection {
    /// Connects to a display, by its name or that of the environment.
    static func open(_ display: String?) throws(CaptureError) -> XConnection {
        let name = try displayName(display)
        var number: Int32 = 0
        let handle = xcb_connect(name, &number)
        guard let handle, xcb_connection_has_error(handle) == 0 else {
            let code = handle.map { xcb_connection_has_error($0) } ?? 0
            if let handle { xcb_disconnect(handle) }
            throw failure(of: name, code)
        }
        var screens = xcb_setup_roots_iterator(xcb_get_setup(handle))
        for _ in 0..<number where screens.rem > 1 { xcb_screen_next(&screens) }
        return XConnection(handle: handle, screen: screens.data.pointee)
    }

    private static func displayName(_ display: String?) throws(CaptureError) -> String {
        if let display, !display.isEmpty { return display }
        if let name = environment("DISPLAY") { return name }
        if environment("WAYLAND_DISPLAY") != nil {
            throw CaptureError(
                .deviceNotFound, operation: "connect to the display",
                message: "This is a Wayland session without an X server. Wayland lets programs see its screen through "
                    + "portals only; log in to an X11 session, or name an X display such as Xwayland's.")
        }
        throw CaptureError(
            .deviceNotFound, operation: "connect to the display",
            message: "DISPLAY is not set, so there is no screen to capture; name the X display, such as :0"
                + (ScreenDirectory.displays().isEmpty
                    ? "." : " (there is: \(ScreenDirectory.displays().joined(separator: ", ")))."))
    }

    /// The error of a failed connection. libxcb reports no reason: whether the socket accepts connections distinguishes a
    /// server that rejects the client from a missing one.
    private static func failure(of name: String, _ code: Int32) -> CaptureError {
        if code == XCB_CONN_CLOSED_PARSE_ERR {
            return CaptureError(
                .invalidConfiguration, operation: "connect to the display", subject: name,
                message: "This is no name of an X display; one looks like :0, :0.1 or host:1.")
        }
        if code == XCB_CONN_CLOSED_INVALID_SCREEN {
            return CaptureError(
                .deviceNotFound, operation: "connect to the display", subject: name,
                message: "The display has no screen of that number; try 0.")
        }
        if isListening(name) {
            return CaptureError(
                .permissionDenied, operation: "connect to the display", subject: name,
                message: "The X server does not let this user in; run as the user who is logged in, or let them run "
                    + "`xhost +si:localuser:$USER`, or name their authority file in XAUTHORITY.")
        }
        let others = ScreenDirectory.displays()
        return CaptureError(
            .deviceNotFound, operation: "connect to the display", subject: name,
            message: "No X server answers there; "
                + (others.isEmpty
                    ? "start one, or log in to a desktop." : "there is \(others.joined(separator: ", "))."))
    }

    /// Whether a server of this machine accepts connections for the display. Servers elsewhere are not checked.
    private static func isListening(_ name: String) -> Bool {
        guard let colon = name.lastIndex(of: ":"), colon == name.startIndex || name.hasPrefix("unix:"),
            let number = Int(name[name.index(after: colon)...].prefix { $0 != "." })
        else { return false }
        return ScreenDirectory.accepts(number)
    }

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
