import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension XConnection {
    /// Connects to a display by its name, such as `:0`.
    ///
    /// - Throws: `deviceNotFound`, `permissionDenied`, `invalidConfiguration`.
    package static func open(named name: String) throws(CaptureError) -> XConnection {
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

    /// The error of a failed connection. libxcb reports no reason: whether the socket accepts connections distinguishes a
    /// server that rejects the client from a missing one.
    private static func failure(of name: String, _ code: Int32) -> CaptureError {
        if code == XCB_CONN_CLOSED_PARSE_ERR {
            return CaptureError(
                .invalidConfiguration, operation: "connect to the display", subject: name,
                message: "This is not the name of an X display, which looks like :0, :0.1 or host:1.")
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
        let others = displays()
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
        return accepts(number)
    }

    /// A variable of the environment; nil when it is not set or empty.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The X displays of this machine whose server accepts connections, as `:0`.
    package static func displays() -> [String] {
        guard let folder = opendir("/tmp/.X11-unix") else { return [] }
        defer { closedir(folder) }
        var numbers: [Int] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix("X"), let number = Int(name.dropFirst()), accepts(number) { numbers.append(number) }
        }
        return numbers.sorted().map { ":\($0)" }
    }

    /// Whether a server accepts connections for the display of that number, through its socket in the file system or its
    /// abstract one.
    private static func accepts(_ number: Int) -> Bool {
        let path = Array("/tmp/.X11-unix/X\(number)".utf8)
        return [path, [0] + path].contains { name in
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(length)) == 0
                }
            }
        }
    }
}
