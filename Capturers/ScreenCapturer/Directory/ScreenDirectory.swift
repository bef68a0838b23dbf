import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The displays, monitors and windows that can be captured. Each call asks anew; from any thread.
public struct ScreenDirectory: Sendable {
    /// The X display; nil for the environment's.
    public var display: String?

    /// - Parameter display: the X display, as `:0`; nil for the environment's.
    public init(display: String? = nil) {
        self.display = display
    }

    /// The X displays of this machine at which a server takes connections, as `:0`.
    public static func displays() -> [String] {
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

    /// Whether a server takes connections for the display of that number: through its socket in the file system, or the
    /// one without a file.
    static func accepts(_ number: Int) -> Bool {
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

    /// The monitors of the display, the primary one first; one without a name of the whole display where the server
    /// knows no monitors. Throws what `ScreenCapturer.initCapture` throws for a display that cannot be had.
    public func monitors() throws(CaptureError) -> [ScreenMonitor] {
        try ask("list the monitors") { (connection) throws(XFailure) in try connection.monitors() }
    }

    /// The windows of the display that a user would call one, in the window manager's order, or else the topmost last.
    /// Throws as ``monitors()``.
    public func windows() throws(CaptureError) -> [ScreenWindow] {
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
                message: "The X server has not answered; look whether it still runs.")
        }
    }
}
