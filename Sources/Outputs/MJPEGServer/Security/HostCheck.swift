import NIOCore

/// Keeps other web pages from a server that only this machine can reach and that asks for no password.
///
/// The browser of its user can reach it as well, and so can every page that the browser shows, by a name of the page's
/// own that leads to 127.0.0.1 (DNS rebinding); then the page may read whatever is answered. That name is in the
/// request's `Host`, so other names than the server's own are refused.
struct HostCheck {
    private let names: Set<String>

    /// - Parameter address: where the server listens.
    /// - Returns: nil where any name may be used: others can reach the server anyway, or a password protects it.
    init?(_ configuration: MJPEGServerConfiguration, at address: SocketAddress?) {
        guard configuration.authentication == nil, let address, address.isLoopback else { return nil }
        names = Set((configuration.allowedHosts + ["localhost", configuration.address]).map { $0.lowercased() })
    }

    static let refusal = Reply(
        403,
        "This server answers to localhost and its own address only, so that no other web page reads the picture. Ask for "
            + "it by one of them, set a password, or allow the name that you have used.")

    /// - Parameter host: the request's `Host`: a name or an address, and perhaps a port.
    func allows(_ host: String) -> Bool {
        var name = host.lowercased()[...]
        if let colon = name.lastIndex(of: ":"), name[colon...].dropFirst().allSatisfy(\.isNumber), !name.hasSuffix("]")
        {
            name = name[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") {
            let address = try? SocketAddress(ipAddress: String(name.dropFirst().dropLast()), port: 0)
            return address?.isLoopback ?? false
        }
        if name.hasSuffix(".") { name.removeLast() }
        if names.contains(String(name)) { return true }
        let address = try? SocketAddress(ipAddress: String(name), port: 0)
        guard case .v4? = address else { return false }
        return address?.isLoopback ?? false
    }
}
