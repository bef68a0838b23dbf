import NIOCore
import NIOHTTP1
import ServerTransport
import VideoCapturing

/// One connection: takes a request, answers it, and takes the next one or becomes a stream. On its event loop only.
///
/// Requests are answered one after the other. A client that sends the next one before the response to the previous one is
/// answered and then disconnected.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    enum Phase {
        case waiting
        case answering
        /// The body of an offer is received, and then answered.
        case receiving(ByteBuffer)
        case awaitingSession
        /// Until the newest frame is a part, or until the timeout.
        case awaitingSnapshot(ticket: UInt64?)
        case streaming(StreamViewer)
        /// A thread looks for recordings.
        case awaitingRecordings
        /// Parts of a clip are sent as they are cut.
        case sendingClip(isChunked: Bool)
        /// The response was sent; data of the client is discarded until it closes.
        case closing
    }

    let service: Service
    let hub: LoopHub
    let gate: RequestGate
    private let transport: Transport
    let peer: Peer
    private let admission: Connections.Admission
    /// Nil where any host is allowed.
    private var hostCheck: HostCheck?
    private(set) var context: ChannelHandlerContext?
    var phase = Phase.waiting
    private var deadline: Scheduled<Void>?
    private(set) var isHeadOnly = false
    var staysOpen = false
    private(set) var crossOrigin: [(name: String, value: String)] = []
    /// The bytes of the last response, while the kernel has not taken all of it.
    private var waitingByteCount = 0

    init(
        _ service: Service, hub: LoopHub, gate: RequestGate, transport: Transport, peer: Peer,
        admission: Connections.Admission
    ) {
        self.service = service
        self.hub = hub
        self.gate = gate
        self.transport = transport
        self.peer = peer
        self.admission = admission
    }

    // MARK: Life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin() }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin()
        context.fireChannelActive()
    }

    private func begin() {
        let requestTimeout = service.configuration.limits.requestTimeout
        if case .refused(let limit, let isOfAddress) = admission {
            let subject = isOfAddress ? "connections from your address" : "connections"
            answer(Reply(503, "\(limit) \(subject) are open, which is the limit; try again later."))
            // With TLS the response waits for the handshake.
            if isSecure { setDeadline(after: requestTimeout) { $0.transport.close() } }
            return
        }
        hostCheck = HostCheck(service.configuration, at: context?.channel.parent?.localAddress)
        setDeadline(after: requestTimeout) { handler in
            // No client can read a response before the handshake.
            if handler.isSecure, !handler.gate.hasInput { return handler.transport.close() }
            handler.answer(Reply(408, "The request did not come in time."))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
        releaseWaiting()
        switch phase {
        case .streaming(let viewer):
            viewer.close()
            hub.remove(viewer)
            service.broadcaster.leave(viewer.record)
        case .awaitingSnapshot(let ticket):
            if let ticket { service.broadcaster.withdrawSnapshot(ticket) }
        case .waiting, .answering, .receiving, .awaitingSession, .awaitingRecordings, .sendingClip, .closing: break
        }
        phase = .closing
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        releaseWaiting()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { releaseWaiting() }
        if case .streaming(let viewer) = phase { viewer.writabilityChanged() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch phase {
        case .waiting where error as? HTTPParserError == .headerOverflow:
            answer(Reply(431, "The request's head has too many lines."))
        case .waiting where error is HTTPParserError:
            answer(Reply(400, "The request is not one of HTTP/1.0 or HTTP/1.1."))
        case .closing where error is HTTPParserError: break
        default: context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is RequestGate.HeadTooLong {
            if case .waiting = phase {
                answer(Reply(431, "The request's head has more than \(service.configuration.limits.headBytes) bytes."))
            }
            return
        }
        if event is RequestGate.NoVersion {
            if case .waiting = phase {
                answer(Reply(400, "The request names no version of HTTP; this server speaks HTTP/1.0 and HTTP/1.1."))
            }
            return
        }
        if case ChannelEvent.outputClosed? = event as? ChannelEvent {
            // The kernel has everything; a client that reads it closes at once.
            setDeadline(after: .seconds(1)) { $0.context?.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let head: HTTPRequestHead
        switch unwrapInboundIn(data) {
        case .head(let received): head = received
        case .body(let bytes): return receive(bytes)
        case .end: return receiveEnd()
        }
        gate.recordHead()
        guard case .waiting = phase else {
            // The next request is too early.
            gate.close()
            staysOpen = false
            return
        }
        deadline?.cancel()
        deadline = nil
        phase = .answering
        isHeadOnly = head.method == .HEAD
        staysOpen = head.isKeepAlive
        crossOrigin = service.crossOriginLines(for: head, isExposed: hostCheck != nil)
        if let refusal = RequestCheck.refusal(head, hostCheck, bodyLimit: bodyLimit(head)) {
            staysOpen = false
            return answer(refusal)
        }
        handle(head)
    }

    private func handle(_ head: HTTPRequestHead) {
        var query = Query("")
        let route = Route(head.uri, query: &query)
        if head.method == .OPTIONS { return answer(service.optionsReply(route)) }
        if let refusal = service.authorizationRefusal(head, from: peer) {
            // A body that follows is not read.
            if head.method == .POST { staysOpen = false }
            return answer(refusal)
        }
        if case .session(let identifier)? = route, let viewing = service.broadcaster.viewing {
            return handleSession(identifier, head, viewing)
        }
        if case .record? = route { return answer(service.recordReply(head)) }
        guard head.method == .GET || head.method == .HEAD else {
            var reply = Reply(405, "This server answers GET, HEAD and OPTIONS.")
            reply.headers = [("Allow", "GET, HEAD, OPTIONS")]
            return answer(reply)
        }
        switch route {
        case .recordings(let part)?: answerRecordings(part, query, isChunked: head.version == .http1_1)
        case nil:
            answer(Reply(404, "There is nothing here; try /, /stream, /snapshot, /state or /metrics."))
        case .session?, .record?: answer(Reply(404, "This server shows its pictures as MJPEG alone."))
        case .page?: answer(service.page)
        case .state?: answer(Reply(.state, service.stateReport()))
        case .metrics?: answer(Reply(.metrics, service.metricsReport()))
        case .icon?:
            var reply = Reply(.icon, ByteBuffer(), status: 204)
            reply.tellsLength = false
            reply.isFresh = false
            answer(reply)
        case .stream? where isHeadOnly, .snapshot? where isHeadOnly:
            var reply = Reply(route!, ByteBuffer())
            reply.tellsLength = false
            answer(reply)
        case .stream?: startStream(query)
        case .snapshot?: startSnapshot()
        }
    }

    private func startStream(_ query: Query) {
        guard let context else { return }
        gate.close()
        let peer = context.channel.remoteAddress?.ipAddress ?? "local"
        let record = ViewerRecord(StreamParameters(query), peer: peer)
        let viewer = StreamViewer(
            record, on: context, of: hub, sendTimeout: service.configuration.limits.sendTimeout,
            isSecure: isSecure, transport: transport)
        service.connections.recordAnswer(200)
        // First of all, so that a frame that comes meanwhile isn't lost.
        hub.expectViewer()
        let first = service.broadcaster.join(record)
        phase = .streaming(viewer)
        context.writeAndFlush(NIOAny(service.streamHead(record, crossOrigin: crossOrigin)), promise: nil)
        // The connection may have broken meanwhile.
        guard case .streaming = phase else { return }
        hub.viewers.add(viewer, first: first, at: service.broadcaster.clock.now)
    }

    // MARK: Snapshots

    private func startSnapshot() {
        guard let context else { return }
        phase = .awaitingSnapshot(ticket: nil)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let hub = self.hub
        let ticket = service.broadcaster.requestSnapshot { part in
            hub.execute { handler.value.finishSnapshot(part) }
        }
        phase = .awaitingSnapshot(ticket: ticket)
        setDeadline(after: service.configuration.snapshotTimeout) { handler in
            if let ticket { handler.service.broadcaster.withdrawSnapshot(ticket) }
            handler.finishSnapshot(nil)
        }
    }

    private func finishSnapshot(_ part: FramePart?) {
        guard case .awaitingSnapshot = phase else { return }
        deadline?.cancel()
        deadline = nil
        phase = .answering
        answer(service.snapshotReply(part))
    }

    // MARK: Answers

    func answer(_ reply: Reply) {
        guard let context else { return }
        if case .closing = phase { return }
        // Before a request, nothing more is expected of the client.
        if case .waiting = phase { staysOpen = false }
        service.connections.recordAnswer(reply.status)
        deadline?.cancel()
        deadline = nil
        phase = staysOpen ? .waiting : .closing
        context.write(NIOAny(reply.head(crossOrigin: crossOrigin, staysOpen: staysOpen)), promise: nil)
        if !isHeadOnly, reply.body.readableBytes > 0 { context.write(NIOAny(reply.body), promise: nil) }
        context.flush()
        if !context.channel.isWritable { wait(for: reply.body) }
        let limits = service.configuration.limits
        if staysOpen {
            setDeadline(after: limits.idleTimeout) { $0.context?.close(promise: nil) }
        } else {
            gate.close()
            // Not at once, and with its input read to the end: otherwise the kernel would discard the response. The event that
            // the output is closed shortens the wait to a second.
            setDeadline(after: limits.sendTimeout) { $0.context?.close(promise: nil) }
            context.close(mode: .output, promise: nil)
        }
    }

    private var isSecure: Bool { service.configuration.tls != nil }

    /// Counts a response that the kernel has not taken all of; closes the connection when too much waits already.
    private func wait(for body: ByteBuffer) {
        let waiting = service.broadcaster.waiting
        waitingByteCount = body.storageCapacity
        waiting.add(waitingByteCount)
        guard waiting.isExceeded else { return }
        waiting.recordDisconnection()
        transport.close()
    }

    private func releaseWaiting() {
        service.broadcaster.waiting.remove(waitingByteCount)
        waitingByteCount = 0
    }

    func setDeadline(after duration: Duration, _ action: @escaping (ConnectionHandler) -> Void) {
        guard let context else { return }
        deadline?.cancel()
        let bound = NIOLoopBound((handler: self, action: action), eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(duration)) {
            bound.value.action(bound.value.handler)
        }
    }
}
