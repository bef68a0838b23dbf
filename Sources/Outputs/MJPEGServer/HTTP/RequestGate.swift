import NIOCore

/// Stands before the parser of requests: counts the bytes of a head, and once nothing more is wanted of the client,
/// throws away whatever comes.
final class RequestGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event that tells that a head is too long.
    struct HeadTooLong {}

    private let limit: Int
    private var count = 0
    private var isClosed = false

    init(limit: Int) { self.limit = limit }

    /// A head is complete; the next one begins.
    func noteHead() { count = 0 }

    /// What comes from now on is thrown away.
    func close() { isClosed = true }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosed else { return }
        count += unwrapInboundIn(data).readableBytes
        guard count <= limit else {
            isClosed = true
            context.fireUserInboundEventTriggered(HeadTooLong())
            return
        }
        context.fireChannelRead(data)
    }
}
