import NIOCore

/// Stands before the parser of requests: counts the bytes of a head, and once nothing more is wanted of the client,
/// throws away whatever comes.
final class RequestGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event that tells that a head is too long.
    struct HeadTooLong {}

    /// The event that tells that a request names no version of HTTP, as those of HTTP/0.9 did. The parser would wait for
    /// more.
    struct NoVersion {}

    private let limit: Int
    private var count = 0
    private var isClosed = false
    /// What has come of the connection's first line; nil once it has been seen.
    private var firstLine: [UInt8]? = []
    /// Whether anything has come: with TLS, after the handshake.
    private(set) var hasInput = false

    init(limit: Int) { self.limit = limit }

    /// A head is complete; the next one begins.
    func noteHead() { count = 0 }

    /// What comes from now on is thrown away.
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
