import NIOCore
import NIOHTTP1
import ServerTransport
import VideoCapturing

/// Sessions of another way than MJPEG, by the requests of draft-ietf-wish-whep: a POST brings an offer and is answered with
/// 201 and the address of the session, which a DELETE ends. On the connection's event loop, but for the answering.
extension ConnectionHandler {
    /// The bytes of the largest offer.
    private static let maximumOffer = 64 * 1024

    /// The bytes that the body of a request may have.
    func bodyLimit(_ head: HTTPRequestHead) -> Int {
        var query = Query("")
        guard head.method == .POST, service.broadcaster.viewing != nil,
            case .session(nil)? = Route(head.uri, query: &query)
        else { return 0 }
        return ConnectionHandler.maximumOffer
    }

    func handleSession(_ identifier: String?, _ head: HTTPRequestHead, _ viewing: any LiveViewing) {
        switch (head.method, identifier) {
        case (.POST, nil):
            // Also what keeps other pages' forms out: browsers send this type to other origins only where these allow it.
            let type = head.headers.first(name: "content-type")?.lowercased().prefix { $0 != ";" } ?? ""
            guard type == "application/sdp" else {
                return refuse(Reply(415, "An offer is of the type application/sdp."))
            }
            guard let length = head.headers.first(name: "content-length").flatMap({ Int($0) }) else {
                return refuse(Reply(400, "The request does not state the length of its offer."))
            }
            gate.recordHead(bodyBytes: length)
            phase = .receiving(ByteBuffer())
            setDeadline(after: service.configuration.limits.requestTimeout) { handler in
                handler.refuse(Reply(408, "The offer did not come in time."))
            }
        case (.DELETE, let identifier?):
            answer(
                viewing.end(identifier) ? Reply(200, "The session has ended.") : Reply(404, "There is no such session.")
            )
        default:
            var reply = Reply(405, "A session begins with a POST and ends with a DELETE; it has no changes.")
            reply.headers = [("Allow", identifier == nil ? "POST, OPTIONS" : "DELETE, OPTIONS")]
            answer(reply)
        }
    }

    /// Answers a request whose body is not read.
    private func refuse(_ reply: Reply) {
        phase = .waiting
        answer(reply)
    }

    func receive(_ bytes: ByteBuffer) {
        guard case .receiving(var body) = phase else { return }
        phase = .answering
        body.writeImmutableBuffer(bytes)
        phase = .receiving(body)
    }

    func receiveEnd() {
        guard case .receiving(let body) = phase, let context, let viewing = service.broadcaster.viewing else { return }
        phase = .awaitingSession
        // The answer has a limit of its own; what a client waits for is the loop's.
        setDeadline(after: service.configuration.sessionTimeout) { handler in
            // An answer that comes later must not be taken for that of the connection's next offer.
            handler.staysOpen = false
            handler.finishSession(.refused("The answer could not be made in time; try again."))
        }
        let offer = String(buffer: body)
        let address = context.channel.localAddress?.ipAddress ?? ""
        // A program on this machine may use any of its addresses.
        let isLocal = peer == .local || peer == Peer(context.channel.localAddress)
        let client = isLocal ? nil : peer.name
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let hub = self.hub
        do {
            try CaptureThread(name: "whep") {
                let result = viewing.answer(offer, localAddress: address, client: client)
                hub.execute { handler.value.finishSession(result) }
            }
        } catch {
            finishSession(.busy("The system allows no further thread; try again later."))
        }
    }

    private func finishSession(_ result: LiveViewingAnswer) {
        guard case .awaitingSession = phase else {
            // The client has gone meanwhile.
            if case .accepted(let identifier, _) = result { _ = service.broadcaster.viewing?.end(identifier) }
            return
        }
        phase = .answering
        switch result {
        case .accepted(let identifier, let sdp):
            var reply = Reply(.session(nil), ByteBuffer(string: sdp), status: 201)
            // Relative, so that it is right behind a proxy at any path.
            reply.headers = [("Location", "whep/\(identifier)")]
            answer(reply)
        case .busy(let sentence):
            var reply = Reply(503, sentence)
            reply.headers = [("Retry-After", "10")]
            answer(reply)
        case .refused(let sentence): answer(Reply(422, sentence))
        case .unacceptable(let sentence): answer(Reply(406, sentence))
        }
    }
}
