import CaptureCore
import RTP

/// The reading of requests, and the answers to them, only for the fuzzer.
@_spi(Fuzzing)
public enum RTSPParsing {
    private static let media: PlainSession = {
        var media = PlainSession(
            host: "0.0.0.0",
            streams: [
                .init(format: .h264, payloadType: 96, port: 0, reportPort: 0, ssrc: 1, cname: "name"),
                .init(format: .opus, payloadType: 97, port: 0, reportPort: 0, ssrc: 2, cname: "name"),
            ])
        media.hasFeedback = false
        return media
    }()
    private static let settings = RTSPConversation.Settings(
        path: nil, transports: [.tcp, .udp], datagramPorts: (6970, 6971), sessionTimeout: 60)

    /// Reads the bytes of a connection and answers what they ask, and checks what must hold for any: however they are cut,
    /// the same events are read; no line of an answer is the client's; nothing is granted without the password.
    ///
    /// - Parameter step: the bytes that arrive at once, 1 or more.
    /// - Returns: the number of requests.
    @discardableResult
    public static func read(_ bytes: [UInt8], step: Int) -> Int {
        let (events, failure) = events(bytes, step: max(1, step))
        let (others, otherFailure) = RTSPParsing.events(bytes, step: max(1, bytes.count))
        precondition(events == others && failure == otherFailure, "the events depend on how the bytes arrive")
        let requests = events.compactMap { event -> RTSPRequest? in
            if case .request(let request) = event { request } else { nil }
        }
        answer(requests, authenticator: nil)
        answer(
            requests,
            authenticator: RTSPAuthenticator(.init(user: "user", password: "secret", schemes: [.digest, .basic])))
        return requests.count
    }

    private static func events(_ bytes: [UInt8], step: Int) -> ([RTSPParser.Event], RTSPParser.Failure?) {
        var parser = RTSPParser(headLimit: 1024)
        var events: [RTSPParser.Event] = []
        do throws(RTSPParser.Failure) {
            for start in stride(from: 0, to: bytes.count, by: step) {
                parser.append(bytes[start..<min(bytes.count, start + step)])
                while let event = try parser.next() { events.append(event) }
                precondition(parser.waitingBytes <= 1024 + RTSPParser.maximumPacket + step, "more waits than is needed")
            }
        } catch {
            return (events, error)
        }
        return (events, nil)
    }

    private static func answer(_ requests: [RTSPRequest], authenticator: RTSPAuthenticator?) {
        var conversation = RTSPConversation(settings, authenticator: authenticator)
        for request in requests {
            let hadTracks = !conversation.transports.isEmpty
            for action in conversation.handle(request, media: media) {
                switch action {
                case .respond(let response): check(response, request)
                case .play(let transports):
                    precondition(hadTracks && !transports.isEmpty, "tracks are set up first")
                    check(conversation.playResponse([0: .init(sequenceNumber: 1, timestamp: 2)]), request)
                default: break
                }
            }
            precondition(authenticator == nil || conversation.phase == .initial, "granted without the password")
            precondition(
                (conversation.session == nil) == (conversation.phase == .initial), "a session has an identifier")
            var channels: [UInt8] = []
            for case .interleaved(let taken) in conversation.transports.values {
                channels += [taken.packets, taken.reports]
            }
            precondition(Set(channels).count == channels.count, "no channel is given twice")
        }
    }

    private static func check(_ response: RTSPResponse, _ request: RTSPRequest) {
        let parts = response.text(sequence: request.sequence).split(
            separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        precondition(parts.count == 2, "a head ends")
        for line in parts[0].split(separator: "\r\n", omittingEmptySubsequences: false).dropFirst() {
            precondition(line.contains(": ") && line.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "a line of a head: \(line)")
            precondition(!line.lowercased().hasPrefix("x-injected"), "a line of the client's")
        }
        for line in parts[1].split(separator: "\r\n") {
            precondition(line.utf8.first.map { $0 >= 0x61 && $0 <= 0x7A } == true, "a line of a description: \(line)")
        }
    }
}

/// The reading of ONVIF's requests and probes, and the answers to them, only for the fuzzer.
@_spi(Fuzzing)
public enum ONVIFParsing {
    /// Reads bytes as a request and as a probe, and checks what must hold for any: an answer is a well-formed message, and no
    /// token is accepted without the password.
    ///
    /// - Returns: whether they are a message.
    @discardableResult
    public static func read(_ bytes: [UInt8]) -> Bool {
        guard let request = try? SOAPRequest(bytes) else { return false }
        let device = ONVIFDevice(
            name: "name", identifier: String(repeating: "0", count: 32), snapshotURL: "http://*/", rtspPort: 554,
            rtspPath: "", offersMulticast: true)
        let answer = device.answer(request.operation, .init(authority: "host", now: 1_800_000_000))
        check(answer.text)
        if let found = DiscoveryMessages(device: device, authority: "host").answer(to: bytes) { check(found) }
        var validator = UsernameTokenValidator(.init(user: "user", password: "secret", schemes: [.digest, .basic]))
        if let token = request.token, token.password != "secret" || token.isDigest {
            let now = UsernameTokenValidator.seconds(token.created) ?? 0
            precondition(!validator.accepts(token, at: now), "granted without the password")
        }
        return true
    }

    private static func check(_ text: String) {
        let envelope = try? XMLReader.read(Array(text.utf8))
        precondition(envelope?["Body"]?.children.count == 1, "an answer is a message")
    }
}
