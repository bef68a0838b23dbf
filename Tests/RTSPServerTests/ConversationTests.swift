import Digests
import RTP
import Testing
import VideoCapturing

@testable import RTSPServer

/// The answers to requests, without a connection.
@Suite struct ConversationTests {
    private static let media: PlainSession = {
        var media = PlainSession(
            host: "0.0.0.0",
            streams: [
                .init(format: .h264, payloadType: 96, port: 0, reportPort: 0, ssrc: 0xAB, cname: "name"),
                .init(
                    format: .aac(rate: 44_100, channels: 2), payloadType: 97, port: 0, reportPort: 0, ssrc: 2,
                    cname: "name"),
            ])
        media.hasFeedback = false
        return media
    }()

    private func settings(path: String? = nil) -> RTSPConversation.Settings {
        .init(path: path, transports: [.tcp, .udp], datagramPorts: (6970, 6971), sessionTimeout: 60)
    }

    private func request(
        _ method: String, _ target: String = "rtsp://h:8554/cam", _ headers: [String: String] = [:]
    ) -> RTSPRequest {
        RTSPRequest(
            method: method, target: target, headers: headers.map { .init(name: $0.key, value: $0.value) })
    }

    private func response(_ actions: [RTSPConversation.Action]) -> RTSPResponse? {
        actions.lazy.compactMap { action -> RTSPResponse? in
            if case .respond(let response) = action { response } else { nil }
        }.first
    }

    private func value(_ name: String, _ response: RTSPResponse?) -> String? {
        response?.headers.first { $0.name == name }?.value
    }

    // MARK: A session

    @Test func aSessionOnTheConnection() throws {
        var conversation = RTSPConversation(settings(), authenticator: nil)
        func handle(_ request: RTSPRequest) -> [RTSPConversation.Action] {
            conversation.handle(request, media: Self.media)
        }
        #expect(value("Public", response(handle(request("OPTIONS", "*"))))?.contains("GET_PARAMETER") == true)
        let described = try #require(response(handle(request("DESCRIBE"))))
        #expect(described.status == 200 && value("Content-Base", described) == "rtsp://h:8554/cam/")
        let lines = described.body.split(separator: "\r\n")
        #expect(lines.contains("m=video 0 RTP/AVP 96") && lines.contains("m=audio 0 RTP/AVP 97"))
        #expect(lines.contains("a=control:*") && lines.contains("a=control:rtsp://h:8554/cam/trackID=1"))
        #expect(!described.body.contains("rtcp-fb") && lines.contains("a=rtpmap:97 mpeg4-generic/44100/2"))

        let tcp = ["Transport": "RTP/AVP/TCP;unicast;interleaved=0-1"]
        let first = try #require(response(handle(request("SETUP", "rtsp://h:8554/cam/trackID=0", tcp))))
        #expect(value("Transport", first) == "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=000000AB")
        let session = try #require(conversation.session)
        #expect(value("Session", first) == "\(session);timeout=60")
        // The same channels are not given twice, and the other track goes the same way.
        let udp = ["Transport": "RTP/AVP;unicast;client_port=5000-5001", "Session": session]
        #expect(response(handle(request("SETUP", "rtsp://h:8554/cam/trackID=1", udp)))?.status == 461)
        let again = tcp.merging(["Session": session]) { $1 }
        let second = response(handle(request("SETUP", "rtsp://h:8554/cam?x=1&y=2/trackID=1", again)))
        #expect(value("Transport", second)?.contains("interleaved=2-3") == true)

        #expect(response(handle(request("PLAY", "rtsp://h:8554/cam/", ["Session": "other"])))?.status == 454)
        let play = handle(request("PLAY", "rtsp://h:8554/cam/", ["Session": session + ";timeout=60"]))
        #expect(play.count == 1 && conversation.phase == .playing)
        guard case .play(let transports)? = play.first else {
            Issue.record("\(play)")
            return
        }
        #expect(transports[1] == .interleaved(.init(packets: 2, reports: 3)))
        // The answer comes with the first packet.
        let answer = conversation.playResponse([0: .init(sequenceNumber: 7, timestamp: 4_000_000_000)])
        #expect(answer.status == 200 && value("Range", answer) == "npt=now-" && value("Session", answer) == session)
        let places = "url=rtsp://h:8554/cam/trackID=0;seq=7;rtptime=4000000000,url=rtsp://h:8554/cam/trackID=1"
        #expect(value("RTP-Info", answer) == places)
        #expect(response(handle(request("SETUP", "rtsp://h:8554/cam/trackID=0", again)))?.status == 455)
        // A repeated one begins nothing twice.
        #expect(response(handle(request("PLAY")))?.status == 200)
        #expect(value("Session", response(handle(request("GET_PARAMETER")))) == session)
        #expect(handle(request("PAUSE")).first == .pause && conversation.phase == .ready)
        #expect(handle(request("PLAY")) == [.play(transports)])
        #expect(handle(request("TEARDOWN", "rtsp://h:8554/cam/", ["Session": session])).first == .endSession)
        #expect(conversation.phase == .initial && conversation.session == nil)
        #expect(response(handle(request("PLAY")))?.status == 455)
    }

    @Test func requestsWaitForTheTracks() {
        var conversation = RTSPConversation(settings(), authenticator: nil)
        func handle(_ request: RTSPRequest, _ media: PlainSession?) -> [RTSPConversation.Action] {
            conversation.handle(request, media: media)
        }
        #expect(handle(request("DESCRIBE"), nil) == [.awaitMedia])
        #expect(response(handle(request("DESCRIBE"), Self.media))?.status == 200)
        #expect(handle(request("SETUP", "rtsp://h/cam/trackID=0"), nil) == [.awaitMedia])
    }

    @Test func requestsThatAreRefused() {
        var conversation = RTSPConversation(settings(path: "cam"), authenticator: nil)
        func status(_ request: RTSPRequest) -> Int? {
            response(conversation.handle(request, media: Self.media))?.status
        }
        #expect(status(request("ANNOUNCE")) == 501 && status(request("describe")) == 501)
        #expect(status(request("DESCRIBE", "rtsp://h/other")) == 404 && status(request("DESCRIBE", "/cam")) == 400)
        #expect(status(request("DESCRIBE", "rtsp://h//cam/?a=b")) == 200)
        #expect(status(request("DESCRIBE", "rtsp://h/cam", ["Require": "implicit-play"])) == 551)
        #expect(status(request("SETUP", "rtsp://h/cam/trackID=2", ["Transport": "RTP/AVP/TCP"])) == 404)
        #expect(status(request("SETUP", "rtsp://h/cam", ["Transport": "RTP/AVP/TCP"])) == 459)
        for transport in [
            "", "RTP/AVP;multicast;port=5000-5001", "RTP/AVP;unicast", "RTP/AVP;client_port=0-1", "RAW/RAW/UDP",
            "RTP/AVP/TCP;interleaved=300-301", "RTP/AVP/TCP;interleaved=4-4", "RTP/AVP/TCP;mode=record",
        ] {
            #expect(status(request("SETUP", "rtsp://h/cam/trackID=0", ["Transport": transport])) == 461, "\(transport)")
        }
        #expect(status(request("PLAY")) == 455 && status(request("PAUSE")) == 455)
        #expect(status(request("TEARDOWN")) == 200)
        var body = request("SET_PARAMETER")
        body.bodySize = 1
        #expect(status(body) == 451 && status(request("SET_PARAMETER")) == 200)
    }

    /// VLC of Debian asks for MPEG-TS in its own dialect.
    @Test func aSetupWithoutADescription() {
        var conversation = RTSPConversation(settings(), authenticator: nil)
        let transport = ["Transport": "RTP/AVP;unicast;client_port=5000-5001"]
        let actions = conversation.handle(request("SETUP", "rtsp://h/cam", transport), media: Self.media)
        guard case .warn(let sentence)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(sentence.contains("VLC") && response(actions)?.status == 455)
    }

    @Test func theClientChoosesItsTransport() {
        var conversation = RTSPConversation(settings(), authenticator: nil)
        let offers = "RTP/AVP;multicast, RTP/AVP/UDP;unicast;client_port=5000, RTP/AVP/TCP;interleaved=1"
        let found = response(
            conversation.handle(
                request("SETUP", "rtsp://h/cam/trackID=0", ["Transport": offers]), media: Self.media))
        let wanted = "RTP/AVP;unicast;client_port=5000-5001;server_port=6970-6971;ssrc=000000AB"
        #expect(value("Transport", found) == wanted)
        #expect(conversation.transports == [0: .datagrams(port: 5000, reportPort: 5001)])
    }

    @Test func multicast() {
        var settings = settings()
        settings.multicast = .init(group: "239.1.2.3", port: 6000, timeToLive: 4)
        var conversation = RTSPConversation(settings, authenticator: nil)
        func transport(_ track: Int, _ offer: String) -> String? {
            let request = request("SETUP", "rtsp://h/cam/trackID=\(track)", ["Transport": offer])
            return value("Transport", response(conversation.handle(request, media: Self.media)))
        }
        // The group is the server's, whatever the client asks for.
        #expect(
            transport(0, "RTP/AVP;multicast;destination=192.0.2.1;port=9-10;ttl=99")
                == "RTP/AVP;multicast;destination=239.1.2.3;ttl=4;port=6000-6001;ssrc=000000AB")
        #expect(transport(1, "RTP/AVP;unicast;client_port=5000-5001") == nil)
        #expect(transport(1, "RTP/AVP/TCP;multicast") == nil)
        #expect(transport(1, "RTP/AVP/UDP;multicast")?.contains("port=6002-6003") == true)
        #expect(conversation.transports[1] == .multicast(port: 6002, reportPort: 6003))
        for (group, port, hops) in [
            ("10.0.0.1", 5004, 1), ("224.0.0.5", 5004, 1), ("ff05::1", 5004, 1), ("name", 5004, 1),
            ("239.1.1.1", 5005, 1), ("239.1.1.1", 65_534, 1), ("239.1.1.1", 5004, 0), ("239.1.1.1", 5004, 256),
        ] {
            var configuration = RTSPServer.Configuration()
            configuration.multicast = .init(group: group, port: port, timeToLive: hops)
            #expect(throws: CaptureError.self, "\(group):\(port) \(hops)") { try configuration.validate() }
        }
    }

    @Test(
        arguments: [
            ("rtsp://h:1/cam/trackID=1", "cam", 1), ("rtsp://u:p@h:1//cam//trackID=0/", "cam", 0),
            ("rtsp://h:1/cam?a=1&b=2/trackID=3", "cam", 3), ("rtsp://h:1/?trackID=2", "", 2), ("rtsp://h:1", "", nil),
            ("rtsp://h:1/a/b/", "a/b", nil), ("rtsp://h:1/cam/trackID=x", "cam", nil), ("*", "*", nil),
            ("rtsp://h:1/trackID=99999999999999999999", "", nil),
        ] as [(String, String, Int?)]) func targets(_ text: String, _ path: String, _ track: Int?)
    {
        let target = RTSPTarget(text)
        #expect(target.path == path && target.track == track && !target.origin.contains("@"))
    }

    // MARK: Passwords

    private func md5Text(_ text: String) -> String { hexText(md5(Array(text.utf8))) }

    /// What a client answers to a challenge.
    private func digest(_ challenge: String, _ method: String, user: String, password: String, qop: Bool) -> String {
        func field(_ name: String) -> String {
            challenge.components(after: "\(name)=\"")
        }
        let (realm, nonce, uri) = (field("realm"), field("nonce"), "rtsp://h:8554/cam")
        let (first, second) = (md5Text("\(user):\(realm):\(password)"), md5Text("\(method):\(uri)"))
        let answer = md5Text(qop ? "\(first):\(nonce):00000001:abc:auth:\(second)" : "\(first):\(nonce):\(second)")
        return "Digest username=\"\(user)\", realm=\"\(realm)\", nonce=\"\(nonce)\", uri=\"\(uri)\", "
            + "response=\"\(answer)\"" + (qop ? ", qop=auth, nc=00000001, cnonce=\"abc\"" : "")
    }

    @Test(arguments: [false, true]) func digestIsAccepted(qop: Bool) throws {
        let login = RTSPServer.Configuration.Authentication(user: "Zoë", password: "p:a ss")
        let authenticator = RTSPAuthenticator(login)
        var conversation = RTSPConversation(settings(), authenticator: authenticator)
        let refused = conversation.handle(request("DESCRIBE"), media: Self.media)
        // The first request of a client has no password, which is not a wrong one.
        #expect(refused.count == 1 && response(refused)?.status == 401)
        let challenge = try #require(value("WWW-Authenticate", response(refused)))
        #expect(challenge.hasPrefix("Digest ") && !challenge.contains("SHA"))
        let options = conversation.handle(request("OPTIONS"), media: Self.media)
        #expect(response(options)?.status == 200)
        func attempt(_ password: String, _ method: String = "DESCRIBE") -> [RTSPConversation.Action] {
            let answer = digest(challenge, "DESCRIBE", user: "Zoë", password: password, qop: qop)
            return conversation.handle(
                request(method, "rtsp://h:8554/cam", ["Authorization": answer]), media: Self.media)
        }
        #expect(response(attempt("p:a ss"))?.status == 200)
        let wrong = attempt("other")
        #expect(wrong.first == .recordWrongPassword && response(wrong)?.status == 401)
        // The answer is for one method.
        #expect(response(attempt("p:a ss", "SETUP"))?.status == 401)
        // It is of no use on another connection.
        var other = RTSPConversation(settings(), authenticator: RTSPAuthenticator(login))
        let answer = digest(challenge, "DESCRIBE", user: "Zoë", password: "p:a ss", qop: qop)
        let replayed = other.handle(
            request("DESCRIBE", "rtsp://h:8554/cam", ["Authorization": answer]), media: Self.media)
        #expect(response(replayed)?.status == 401)
        // Too many wrong ones.
        let throttled = conversation.handle(
            request("DESCRIBE", "rtsp://h:8554/cam", ["Authorization": answer]), media: Self.media, isThrottled: true)
        #expect(response(throttled)?.status == 429)
    }

    @Test func basicIsOffByDefault() {
        let basic = "Basic " + Base64.encode(Array("user:secret".utf8))
        let off = RTSPAuthenticator(.init(user: "user", password: "secret"))
        #expect(!off.accepts(basic, method: "DESCRIBE"))
        let on = RTSPAuthenticator(.init(user: "user", password: "secret", schemes: [.basic, .digest]))
        #expect(on.accepts(basic, method: "DESCRIBE") && on.challenges.map { $0.prefix(6) } == ["Digest", "Basic "])
        #expect(!on.accepts("Basic " + Base64.encode(Array("user:other".utf8)), method: "DESCRIBE"))
        #expect(!on.accepts("Basic !", method: "DESCRIBE") && !on.accepts("Bearer x", method: "DESCRIBE"))
        #expect(!on.accepts("", method: "DESCRIBE"))
    }
}

extension String {
    /// The characters between a text and the next quote.
    fileprivate func components(after text: String) -> String {
        guard let range = firstRange(of: text) else { return "" }
        return String(self[range.upperBound...].prefix { $0 != "\"" })
    }
}
