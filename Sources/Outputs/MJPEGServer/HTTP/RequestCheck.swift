import NIOCore
import NIOHTTP1
import ServerTransport

/// Refuses requests that the parser accepts, but that are ambiguous, have a body or name another host.
enum RequestCheck {
    /// Checks the head of a request.
    ///
    /// - Parameters:
    ///   - head: the head.
    ///   - hostCheck: the hosts that are allowed; nil for all.
    ///   - bodyLimit: the bytes that the body may have; 0 for none.
    /// - Returns: the response that refuses it; nil for one that is accepted.
    static func refusal(_ head: HTTPRequestHead, _ hostCheck: HostCheck?, bodyLimit: Int = 0) -> Reply? {
        guard head.version == .http1_1 || head.version == .http1_0 else {
            return Reply(505, "This server speaks HTTP/1.0 and HTTP/1.1.")
        }
        let hosts = head.headers["host"]
        if hosts.count > 1 {
            return Reply(400, "The request names several hosts; name one.")
        }
        if head.version == .http1_1, hosts.isEmpty {
            return Reply(400, "The request names no host; HTTP/1.1 asks for it.")
        }
        let lengths = head.headers["content-length"]
        if head.headers.contains(name: "transfer-encoding") {
            // Two statements of where a body ends are how a request is smuggled past a proxy.
            guard lengths.isEmpty else { return Reply(400, "The request states the length of its body in two ways.") }
            return bodyLimit == 0
                ? Reply(413, "Requests to this server have no body.")
                : Reply(411, "State the length of the body by Content-Length; it is not taken in chunks.")
        }
        if let length = lengths.first {
            guard lengths.count == 1, length.utf8.allSatisfy({ 48...57 ~= $0 }), !length.isEmpty else {
                return Reply(400, "The request's Content-Length is not a number.")
            }
            guard let count = Int(length), count <= bodyLimit else {
                return Reply(
                    413,
                    bodyLimit == 0
                        ? "Requests to this server have no body." : "The body has more than \(bodyLimit) bytes.")
            }
        }
        // Browsers always name one.
        if let hostCheck, let host = hosts.first, !hostCheck.allows(host) { return HostCheck.refusal }
        return nil
    }
}

/// The handler before the parser of requests: counts the bytes of a head, and discards everything once no more requests are
/// accepted.
final class RequestGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event that a head is too long.
    struct HeadTooLong {}

    /// The event that a request names no version of HTTP, as in HTTP/0.9. The parser would wait for more.
    struct NoVersion {}

    private let limit: Int
    private var count = 0
    private var isClosed = false
    /// The connection's first line as far as it has arrived; nil once it is complete.
    private var firstLine: [UInt8]? = []
    /// Whether any data has arrived: with TLS, after the handshake.
    private(set) var hasInput = false

    init(limit: Int) { self.limit = limit }

    /// A head is complete; the next one begins after this many bytes.
    func recordHead(bodyBytes: Int = 0) { count = -bodyBytes }

    /// Discards all data from now on.
    func close() { isClosed = true }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosed else { return }
        let bytes = unwrapInboundIn(data)
        hasInput = true
        count += bytes.readableBytes
        guard count <= limit else { return refuse(HeadTooLong(), context) }
        guard namesVersion(bytes) else { return refuse(NoVersion(), context) }
        context.fireChannelRead(data)
    }

    private func refuse(_ event: Any, _ context: ChannelHandlerContext) {
        isClosed = true
        context.fireUserInboundEventTriggered(event)
    }

    /// False once the first line is complete and is `GET /` or the like.
    private func namesVersion(_ bytes: ByteBuffer) -> Bool {
        guard var line = firstLine else { return true }
        firstLine = nil
        for byte in bytes.readableBytesView {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            // Empty lines may come first (RFC 9112, 2.2).
            guard line.isEmpty else { return String(decoding: line, as: UTF8.self).contains(" HTTP/") }
        }
        firstLine = line
        return true
    }
}

/// Protects a server that only this machine can reach, and that needs no password, from other web pages.
///
/// The browser of its user can reach it as well, and so can every page that the browser shows, by a host name of the page
/// that resolves to 127.0.0.1 (DNS rebinding); then the page may read the responses. That name is in the request's `Host`,
/// so other names than the server's own are refused.
struct HostCheck {
    private let names: Set<String>

    /// Nil where any name is allowed: other machines can reach the server anyway, or a password protects it.
    ///
    /// - Parameters:
    ///   - configuration: the server's.
    ///   - address: the address at which the server listens.
    init?(_ configuration: MJPEGServer.Configuration, at address: SocketAddress?) {
        guard configuration.authentication == nil, let address, address.isLoopback else { return nil }
        names = Set((configuration.allowedHosts + ["localhost", configuration.address]).map { $0.lowercased() })
    }

    static let refusal = Reply(
        403,
        "This server answers to localhost and its own address only, so that no other web page reads the picture. Ask for "
            + "it by one of them, set a password, or allow the name that you have used by allowedHosts (--serve-host NAME "
            + "of the tool).")

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
