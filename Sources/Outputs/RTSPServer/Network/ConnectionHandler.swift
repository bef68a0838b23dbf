import CaptureCore
import NIOCore
import ServerTransport

/// One connection of a client: reads its requests, does what their ``RTSPConversation`` decides, and carries interleaved
/// packets. Used on the event loop only.
final class ConnectionHandler: ChannelInboundHandler, PlaybackConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: ConnectionService
    private let transport: Transport
    private let peer: Peer
    private let admission: Connections.Admission
    private var context: ChannelHandlerContext?
    private var parser: RTSPParser
    private var conversation: RTSPConversation
    private var playback: Playback?
    /// The request that waits for the tracks.
    private var waitingRequest: RTSPRequest?
    /// The request to play that is answered once the first packet is known.
    private var waitingPlay: RTSPRequest?
    private var mediaTimeout: Scheduled<Void>?
    private var isClosing = false
    /// The bytes of responses that the kernel has not taken.
    private var unsentResponses = 0
    /// When the connection, its last request or its present part of one began.
    private var lastRequest: MediaTime
    private var partSince: MediaTime?
    private var hasAsked = false

    /// A client that takes no responses is not answered further.
    private static let maximumUnsentResponses = 65_536
    /// The maximum number of bytes that wait while a request does.
    private static let maximumWaitingInput = 65_536

    init(_ service: ConnectionService, transport: Transport, peer: Peer, admission: Connections.Admission) {
        self.service = service
        self.transport = transport
        self.peer = peer
        self.admission = admission
        parser = RTSPParser(headLimit: service.hub.configuration.limits.headBytes)
        conversation = RTSPConversation(
            service.settings, authenticator: service.hub.configuration.authentication.map { RTSPAuthenticator($0) })
        lastRequest = MonotonicClock().now
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
        service.handlers[ObjectIdentifier(self)] = self
        guard admission != .served else { return }
        respond(RTSPResponse(503, [("Retry-After", "10")]), nil)
        close()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        mediaTimeout?.cancel()
        endSession()
        service.handlers[ObjectIdentifier(self)] = nil
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { abandon() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        unsentResponses = 0
        playback?.drain(at: MonotonicClock().now)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let bytes = unwrapInboundIn(data)
        parser.append(bytes.readableBytesView)
        guard !isWaiting else {
            if parser.waitingBytes > ConnectionHandler.maximumWaitingInput { abandon() }
            return
        }
        readEvents()
    }

    /// Whether a request waits, and those behind it with it.
    private var isWaiting: Bool { waitingRequest != nil || waitingPlay != nil }

    private func readEvents() {
        let now = MonotonicClock().now
        while !isClosing, !isWaiting {
            do throws(RTSPParser.Failure) {
                guard let event = try parser.next() else { break }
                partSince = nil
                switch event {
                case .request(let request): take(request, at: now)
                case .packet(let channel, let bytes): take(bytes, on: channel)
                }
            } catch {
                respond(RTSPResponse(error.status), nil)
                close()
            }
        }
        partSince = parser.hasPart ? partSince ?? now : nil
    }

    private func take(_ request: RTSPRequest, at now: MediaTime) {
        hasAsked = true
        lastRequest = now
        playback?.lastSign = now
        let isThrottled = request["Authorization"] != nil && service.isThrottled(peer, at: now)
        perform(conversation.handle(request, media: service.hub.media, isThrottled: isThrottled), request, at: now)
    }

    private func take(_ bytes: [UInt8], on channel: UInt8) {
        guard let playback else { return }
        playback.lastSign = MonotonicClock().now
        for case .interleaved(let channels) in playback.transports.values where channels.reports == channel {
            bytes.withUnsafeBytes { service.hub.takeReport($0, of: playback) }
        }
    }

    private func perform(_ actions: [RTSPConversation.Action], _ request: RTSPRequest, at now: MediaTime) {
        for action in actions {
            switch action {
            case .respond(let response): respond(response, request)
            case .awaitMedia: awaitMedia(for: request)
            case .play(let transports): play(transports, request, at: now)
            case .pause, .endSession: endSession()
            case .recordWrongPassword: service.recordWrongPassword(of: peer, at: now)
            case .warn(let sentence): service.warnOnce(sentence)
            }
        }
    }

    /// Answers later, once the tracks are known; or with an error after a while.
    private func awaitMedia(for request: RTSPRequest) {
        guard let context else { return }
        waitingRequest = request
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        mediaTimeout = context.eventLoop.scheduleTask(
            in: TimeAmount(service.hub.configuration.limits.mediaTimeout)
        ) { bound.value.resumeRequest(isKnown: false) }
    }

    /// Answers the request that waits for the tracks; nothing without one.
    func resumeRequest(isKnown: Bool) {
        guard let request = waitingRequest, !isClosing else { return }
        waitingRequest = nil
        mediaTimeout?.cancel()
        if isKnown {
            take(request, at: MonotonicClock().now)
        } else {
            respond(RTSPConversation.noMediaResponse, request)
        }
        readEvents()
    }

    private func play(_ transports: [Int: TrackTransport], _ request: RTSPRequest, at now: MediaTime) {
        guard let context else { return }
        waitingPlay = request
        let configuration = service.hub.configuration
        let name = context.channel.remoteAddress.map { "\($0.ipAddress ?? "local"):\($0.port ?? 0)" } ?? "local"
        var group: MulticastGroup?
        if transports.values.contains(where: \.isMulticast) {
            do {
                group = try service.hub.multicastGroup(at: context.channel.localAddress)
            } catch {
                return disconnect("Nothing can be sent to the multicast group (\(error)).")
            }
        }
        let playback = Playback(
            transports, client: name, host: context.channel.remoteAddress, multicast: group, connection: self,
            limits: .init(duration: configuration.maximumDelay, bytes: configuration.limits.waitingBytes), now: now)
        self.playback = playback
        service.hub.add(playback)
    }

    func willBegin(_ starts: [Int: TrackStart]) {
        guard let context, let request = waitingPlay else { return }
        waitingPlay = nil
        respond(conversation.playResponse(starts), request)
        // Later, since the hub is about to send.
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.readEvents() }
    }

    private func endSession() {
        guard let playback else { return }
        self.playback = nil
        service.hub.remove(playback)
    }

    // MARK: Writing

    var isWritable: Bool { context?.channel.isWritable ?? false }

    func send(_ bytes: ByteBuffer) { context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }

    private func respond(_ response: RTSPResponse, _ request: RTSPRequest?) {
        guard let context, !isClosing else { return }
        service.connections.recordAnswer(response.status)
        let bytes = ByteBuffer(string: response.text(sequence: request?.sequence))
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        guard !context.channel.isWritable else { return }
        unsentResponses += bytes.readableBytes
        if unsentResponses > ConnectionHandler.maximumUnsentResponses { abandon() }
    }

    /// Ends the connection once the last response was taken.
    private func close() {
        guard let context, !isClosing else { return }
        isClosing = true
        endSession()
        // Not at once, and with the input read to the end: otherwise the kernel would discard the response.
        context.close(mode: .output, promise: nil)
        let bound = NIOLoopBound(transport, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .seconds(1)) { bound.value.close() }
    }

    /// Ends the connection at once.
    func abandon() { transport.close() }

    func disconnect(_ reason: String) {
        service.warnOnce(reason)
        abandon()
    }

    // MARK: Times

    /// Ends the connection of a client that is silent or takes nothing; called a few times per second.
    func check(at now: MediaTime) {
        guard !isClosing, context != nil else { return }
        let limits = service.hub.configuration.limits
        func isOver(_ since: MediaTime, _ limit: Duration) -> Bool { now - since > limit }
        if !hasAsked
            ? isOver(lastRequest, limits.requestTimeout) : partSince.map({ isOver($0, limits.requestTimeout) }) ?? false
        {
            respond(RTSPResponse(408), nil)
            return close()
        }
        guard let playback else {
            let limit = conversation.phase == .initial ? limits.idleTimeout : service.sessionLimit
            if waitingRequest == nil, isOver(lastRequest, limit) { close() }
            return
        }
        if playback.isInterleaved {
            // The connection itself is the sign of life, as long as it takes packets.
            guard let since = playback.blockedSince, isOver(since, limits.sendTimeout) else { return }
            disconnect(
                "\(playback.client) has taken nothing for \(Int(limits.sendTimeout.seconds)) s and was disconnected.")
        } else if playback.multicast == nil, isOver(playback.lastSign, service.sessionLimit) {
            abandon()
        }
    }
}

/// The parts of a server that its connections share. Used on the event loop only.
final class ConnectionService {
    let hub: MediaHub
    let settings: RTSPConversation.Settings
    let connections: Connections
    /// The connections that are open.
    var handlers: [ObjectIdentifier: ConnectionHandler] = [:]
    private var throttle: LoginThrottle?
    private var warned: Set<String> = []
    private let warn: @Sendable (String) -> Void

    /// The maximum number of different warnings.
    private static let maximumWarnings = 32

    init(
        _ hub: MediaHub, _ settings: RTSPConversation.Settings, connections: Connections,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.hub = hub
        self.settings = settings
        self.connections = connections
        self.warn = warn
        throttle = hub.configuration.limits.loginAttempts.map { LoginThrottle(freeAttempts: $0) }
    }

    /// Longer than clients are promised, since some report late.
    var sessionLimit: Duration { .seconds(settings.sessionTimeout) + .seconds(15) }

    func isThrottled(_ peer: Peer, at now: MediaTime) -> Bool { throttle?.delay(for: peer, at: now) != nil }

    func recordWrongPassword(of peer: Peer, at now: MediaTime) { throttle?.recordFailure(of: peer, at: now) }

    func warnOnce(_ sentence: String) {
        guard warned.count < ConnectionService.maximumWarnings, warned.insert(sentence).inserted else { return }
        warn(sentence)
    }

    /// Checks the times of all connections.
    func check() {
        let now = MonotonicClock().now
        for handler in handlers.values { handler.check(at: now) }
    }
}
