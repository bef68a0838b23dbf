/// Where a server listens.
public struct MJPEGServerAddress: Sendable, Hashable {
    /// The IP address, or the path of the socket.
    public var host: String
    /// The TCP port; nil for a socket in the file system.
    public var port: Int?
    /// Whether it speaks HTTPS.
    public var isSecure: Bool

    /// The address of the page, to be opened in a browser; of a socket in the file system, its path after `unix:`.
    public var url: String {
        guard let port else { return "unix:\(host)" }
        let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
        return "\(isSecure ? "https" : "http")://\(isIPv6 ? "[\(host)]" : host):\(port)/"
    }
}
