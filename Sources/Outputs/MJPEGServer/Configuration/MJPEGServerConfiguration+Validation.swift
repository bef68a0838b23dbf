#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension MJPEGServerConfiguration {
    /// Two, or as many as the machine has where that is less: kernel work on loopback takes the rest.
    static var defaultThreadCount: Int { min(2, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))) }

    /// The path after `unix:`; nil for TCP.
    var socketPath: String? {
        address.hasPrefix("unix:") ? String(address.dropFirst("unix:".count)) : nil
    }

    /// Throws for what cannot be served.
    func validate() throws(MJPEGServerError) {
        func refuse(_ subject: String, _ message: String) -> MJPEGServerError {
            MJPEGServerError(.invalidConfiguration, operation: "check the settings", subject: subject, message: message)
        }
        guard (0...65535).contains(port) else {
            throw refuse("port \(port)", "A port is 0 (any that is free) to 65535.")
        }
        guard (1...100).contains(quality) else { throw refuse("quality \(quality)", "The quality is 1 to 100.") }
        guard (1...64).contains(threadCount) else {
            throw refuse("thread count \(threadCount)", "The number of threads is 1 to 64.")
        }
        guard dropSameFrames >= 0, sendBufferSize >= 0, limits.connections >= 1, limits.headBytes >= 256,
            limits.connectionsPerAddress ?? 1 >= 1, limits.waitingBytes >= 0, limits.loginAttempts ?? 0 >= 0
        else {
            throw refuse(
                "limits",
                "Numbers of frames, bytes and attempts aren't negative, at least one connection and 256 bytes of a "
                    + "request's head must be allowed.")
        }
        if let authentication {
            guard !authentication.user.utf8.contains(UInt8(ascii: ":")), !authentication.schemes.isEmpty else {
                throw refuse(
                    "user \(authentication.user)",
                    "A user's name has no colon, and at least one scheme is to be offered.")
            }
            guard !authentication.password.isEmpty else {
                throw refuse(
                    "user \(authentication.user)",
                    "The password is empty, which anyone can guess. Set one, or leave authentication out.")
            }
        }
        for (name, text) in [
            ("allowed origin", allowedOrigin ?? ""), ("realm", authentication?.realm ?? ""),
            ("instance ID", instanceID),
        ] where !text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            throw refuse(name, "It becomes part of a header, so it consists of printable ASCII without quotes.")
        }
        guard instanceID.utf8.allSatisfy({ isUnreserved($0) }) else {
            throw refuse("instance ID", "It becomes part of a cookie's name: letters, digits, '-', '_', '.' and '~'.")
        }
        if let socketPath {
            guard (1...107).contains(socketPath.utf8.count) else {
                throw refuse(address, "The path of a socket has 1 to 107 bytes; choose a shorter one.")
            }
        }
    }
}
