import CaptureCore
import NIOCore
import NIOHTTP1
import ServerTransport

/// One connection to the ONVIF device: takes one request of SOAP, and ends with its answer. Used on the event loop only.
final class ONVIFHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private let service: ONVIFService
    private let peer: Peer
    private let admission: Connections.Admission
    private var authority: String?
    private var body: [UInt8] = []
    private var hasAnswered = false
    private var timeout: Scheduled<Void>?

    /// The maximum number of bytes of a request.
    static let maximumBody = 65_536

    init(_ service: ONVIFService, peer: Peer, admission: Connections.Admission) {
        self.service = service
        self.peer = peer
        self.admission = admission
    }

    func channelActive(context: ChannelHandlerContext) {
        guard admission == .served else { return answer(503, context) }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        timeout = context.eventLoop.scheduleTask(in: TimeAmount(service.hub.configuration.limits.requestTimeout)) {
            bound.value.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { timeout?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError { answer(400, context) } else { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): take(head, context)
        case .body(let bytes):
            guard body.count + bytes.readableBytes <= ONVIFHandler.maximumBody else { return answer(413, context) }
            body += bytes.readableBytesView
        case .end: answer(context)
        }
    }

    private func take(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard head.uri.hasPrefix(ONVIFDevice.path) else { return answer(404, context) }
        guard head.method == .POST else { return answer(405, context, "Allow: POST\r\n") }
        authority = head.headers["Host"].first
        // It becomes a part of the addresses in the answer.
        guard let authority, (1...255).contains(authority.utf8.count),
            authority.utf8.allSatisfy({ isUnreserved($0) || [0x3A, 0x5B, 0x5D].contains($0) })
        else { return answer(400, context) }
        if let size = head.headers["Content-Length"].first.flatMap({ Int($0) }), size > ONVIFHandler.maximumBody {
            return answer(413, context)
        }
        if head.headers["Expect"].first?.lowercased() == "100-continue" {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let now = MonotonicClock().now
        let request: SOAPRequest
        do throws(XMLReader.Failure) {
            request = try SOAPRequest(body)
        } catch {
            return answer(SOAPResponse(fault: "WellFormed", "The request is not a message of SOAP 1.2."), context)
        }
        if let refusal = service.refusal(of: request, from: peer, at: now) {
            return refusal == .throttled
                ? answer(429, context, "Retry-After: 1\r\n")
                : answer(SOAPResponse(fault: "NotAuthorized", "The request needs the name and the password."), context)
        }
        answer(
            service.device.answer(
                request.operation, service.circumstances(authority ?? "", local: context.channel.localAddress)), context
        )
    }

    private func answer(_ response: SOAPResponse, _ context: ChannelHandlerContext) {
        answer(response.status, context, "Content-Type: application/soap+xml; charset=utf-8\r\n", response.text)
    }

    private func answer(
        _ status: Int, _ context: ChannelHandlerContext, _ headers: String = "", _ text: String = ""
    ) {
        guard !hasAnswered else { return }
        hasAnswered = true
        service.connections.recordAnswer(status)
        let reason = HTTPResponseStatus(statusCode: status).reasonPhrase
        let head =
            "HTTP/1.1 \(status) \(reason)\r\n\(headers)Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head + text)), promise: nil)
        // Not at once, and with the input read to the end: otherwise the kernel would discard the answer.
        context.close(mode: .output, promise: nil)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .seconds(1)) { bound.value.close(promise: nil) }
    }
}

/// The parts of the device that its connections share. Used on the event loop only.
final class ONVIFService {
    enum Refusal: Sendable, Hashable {
        case wrongPassword
        case throttled
    }

    let hub: MediaHub
    let device: ONVIFDevice
    let connections: Connections
    private let service: ConnectionService
    private var validator: UsernameTokenValidator?

    /// - Parameters:
    ///   - service: of the server, whose limits for wrong passwords hold for both.
    ///   - device: answers.
    init(_ service: ConnectionService, _ device: ONVIFDevice) {
        self.service = service
        self.device = device
        hub = service.hub
        connections = service.connections
        validator = hub.configuration.authentication.map { UsernameTokenValidator($0) }
    }

    /// Why a request is not answered; nil where it is.
    func refusal(of request: SOAPRequest, from peer: Peer, at now: MediaTime) -> Refusal? {
        guard validator != nil, !ONVIFDevice.openOperations.contains(request.operation.name) else { return nil }
        guard let token = request.token else { return .wrongPassword }
        guard !service.isThrottled(peer, at: now) else { return .throttled }
        if validator?.accepts(token, at: wallClockSeconds) == true { return nil }
        service.recordWrongPassword(of: peer, at: now)
        return .wrongPassword
    }

    func circumstances(_ authority: String, local: SocketAddress?) -> ONVIFDevice.Circumstances {
        ONVIFDevice.Circumstances(
            authority: authority, tracks: hub.tracks, now: wallClockSeconds,
            interface: local.flatMap { NetworkInterface.named(at: $0) })
    }

    private var wallClockSeconds: Int { Int(wallClockTime().components.seconds) }
}
