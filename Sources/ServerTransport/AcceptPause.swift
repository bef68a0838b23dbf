import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Pauses a server that gets no descriptor for a connection until it tries again. Otherwise it would try in a busy loop, since
/// the connection is still there.
///
/// Instead of NIO's `AcceptBackoffHandler`, which suppresses further reads, but leaves the failed one registered.
package final class AcceptPause: ChannelInboundHandler {
    package typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(100)

    private let onWarning: @Sendable (String) -> Void
    private var hasWarned = false

    /// - Parameter onWarning: called with a sentence the first time.
    package init(_ onWarning: @escaping @Sendable (String) -> Void) { self.onWarning = onWarning }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode),
            // Not registered for reading until it is set again.
            (try? context.channel.syncOptions?.setOption(.autoRead, value: false)) != nil
        else { return context.fireErrorCaught(error) }
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: AcceptPause.pause) {
            try? channel.value.syncOptions?.setOption(.autoRead, value: true)
        }
        guard !hasWarned else { return }
        hasWarned = true
        onWarning(
            "A connection has to wait, since no more files and sockets can be opened (\(error)). Raise the limit with "
                + "`ulimit -n`, or lower the limit of connections.")
    }
}
