import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Notifies systemd that a run has begun, of its status, and that it is alive. Source: sd_notify(3), sd_watchdog_enabled(3).
///
/// The watchdog is for a capture that hangs, which a restart of the process may cure: it is fed while frames come, and
/// while the run knows why none do. Used on the main thread.
struct ServiceNotifier {
    private let address: sockaddr_un
    private let length: socklen_t
    /// The interval at which to notify the watchdog; nil for none.
    let watchdogInterval: Duration?

    /// Nil unless a service manager started the process.
    init?(environment: (String) -> String? = environmentVariable) {
        guard let path = environment("NOTIFY_SOCKET"), let first = path.utf8.first, first == 47 || first == 64 else {
            return nil
        }
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { field in
            field.copyBytes(from: bytes)
            // An abstract address begins with a null byte.
            if first == 64 { field[0] = 0 }
        }
        self.address = address
        length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path)! + bytes.count)
        let isOurs = environment("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let limit = environment("WATCHDOG_USEC").flatMap { parseDigits($0, as: Int64.self) }
        // Twice as often as required, so that one late time does no harm.
        watchdogInterval = isOurs ? limit.flatMap { $0 > 0 ? .microseconds($0) / 2 : nil } : nil
    }

    /// Sends lines of `NAME=VALUE`. What cannot be sent is lost: there is no other place to report it.
    func send(_ lines: String...) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(lines.joined(separator: "\n").utf8)
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), address, length)
            }
        }
    }
}
