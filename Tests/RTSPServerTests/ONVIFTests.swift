import Digests
import ServerTransport
import TestTools
import Testing
import VideoCapturing

@_spi(Fuzzing) @testable import RTSPServer

#if canImport(Glibc)
    import Glibc
#endif

/// The ONVIF device: its reader of XML, its passwords, its answers, and its ports.
@Suite struct ONVIFTests {
    private static let device = ONVIFDevice(
        name: "Cam <1>", identifier: String(repeating: "0123456789abcdef", count: 2),
        snapshotURL: "http://*:8080/snapshot", rtspPort: 8554, rtspPath: "cam", offersMulticast: false)

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    // MARK: XML

    @Test func documentsAreRead() throws {
        let text = """
            \u{FEFF}<?xml version="1.0"?> <!-- a > b -->
            <a:x xmlns:a='urn:a' xmlns="urn:b" a:k="1 &lt; 2"><y>t&#x41;&amp;<z/>u</y><a:y xmlns:a="urn:c"></a:y></a:x>
            """
        let root = try XMLReader.read(bytes(text))
        #expect(root.namespace == "urn:a" && root.name == "x" && root.attributes == ["k": "1 < 2"])
        #expect(root.children.map(\.namespace) == ["urn:b", "urn:c"] && root["y"]?.text == "tA&u")
    }

    @Test(arguments: [
        "", "text", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>text", "<a b='1' b='2'/>", "<a b=1/>", "<p:a/>", "<a:/>",
        "<a b='<'/>", "<a>&unknown;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#+65;</a>", "<a>&amp</a>", "<1/>",
        "<!DOCTYPE a><a/>", "<a><![CDATA[x]]></a>", "<a><?php ?></a>", "<a", "<a b", "<a b=", "<a b='", "<a/",
        "<a>\u{1}</a>",
        "<!DOCTYPE a [<!ENTITY l 'lol'><!ENTITY m '&l;&l;&l;'>]><a>&m;</a>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>", "<!-- <a/>", "<?xml <a/>",
    ]) func documentsAreRefused(_ text: String) {
        #expect(throws: XMLReader.Failure.malformed) { try XMLReader.read(bytes(text)) }
    }

    @Test func documentsAreLimited() throws {
        for text in [
            String(repeating: "<a>", count: 30_000), "<a>" + String(repeating: "<b/>", count: 16_000) + "</a>",
            "<a " + (0..<100).map { "k\($0)='' " }.joined() + "/>",
        ] {
            #expect(throws: XMLReader.Failure.tooLarge) { try XMLReader.read(bytes(text)) }
        }
        #expect(throws: XMLReader.Failure.malformed) { try XMLReader.read([0x3C, 0x61, 0xFF, 0x2F, 0x3E]) }
    }

    /// Whatever arrives is read or refused: parts of messages, and messages with a byte that is another one.
    @Test func anyBytesAreReadOrRefused() {
        var generator = SystemRandomNumberGenerator()
        for whole in [probe("<d:Types>a:Device</d:Types>"), bytes(SOAPResponse.envelope("", "<trt:GetStreamUri/>"))] {
            #expect(ONVIFParsing.read(whole))
            for count in whole.indices {
                #expect(!ONVIFParsing.read(Array(whole[..<count])))
                var changed = whole
                changed[count] = UInt8.random(in: 0...255, using: &generator)
                ONVIFParsing.read(changed)
            }
        }
    }

    // MARK: Passwords

    private let login = RTSPServer.Configuration.Authentication(user: "Zoë", password: "pa ss")

    private func token(
        _ password: String = "pa ss", user: String = "Zoë", created: String = "2026-11-30T01:00:00.5Z",
        nonce: [UInt8] = [7, 8]
    ) -> UsernameToken {
        let digest = Base64.encode(sha1(nonce + bytes(created) + bytes(password)))
        let text =
            "<t><Username>\(user)</Username><Password Type='x#PasswordDigest'>\(digest)</Password>"
            + "<Nonce>\(Base64.encode(nonce))</Nonce><Created>\(created)</Created></t>"
        return UsernameToken((try? XMLReader.read(bytes(text))) ?? XMLElement(namespace: "", name: ""))
    }

    @Test func aDigestIsAcceptedOnce() throws {
        var validator = UsernameTokenValidator(login)
        func accepts(_ token: UsernameToken, _ now: Int) -> Bool { validator.accepts(token, at: now) }
        let now = try #require(UsernameTokenValidator.seconds("2026-11-30T01:02:00Z"))
        #expect(!accepts(token("other"), now) && !accepts(token(user: "Zoe"), now))
        #expect(!accepts(token(nonce: []), now) && !accepts(token(), now + 600))
        #expect(!accepts(token(), now - 600))
        #expect(accepts(token(), now))
        #expect(!accepts(token(), now), "it is repeated")
        #expect(accepts(token(nonce: [9]), now))
        var plain = token()
        (plain.password, plain.isDigest) = ("pa ss", false)
        #expect(!accepts(plain, now))
        var login = login
        login.schemes = [.basic]
        validator = UsernameTokenValidator(login)
        #expect(accepts(plain, now))
        plain.password = "pa s"
        #expect(!accepts(plain, now))
    }

    @Test func times() {
        #expect(UsernameTokenValidator.seconds("1970-01-02T00:00:01Z") == 86_401)
        #expect(UsernameTokenValidator.seconds("2024-02-29T12:00:00.123456+00:00") == 1_709_208_000)
        for text in [
            "", "2026-11-30 01:00:00Z", "2026-11-30T01:00:00", "2026-13-30T01:00:00Z", "2026-11-30T01:00:00+01:00",
            "2026-11-30T24:00:00Z", "9999999999999999999999999Z", "२०२६-11-30T01:00:00Z",
        ] {
            #expect(UsernameTokenValidator.seconds(text) == nil, "\(text)")
        }
    }

    // MARK: Answers

    private func answer(
        _ name: String, media: Bool = true, content: String = "", tracks: [TrackDescription] = [Sample.video]
    ) throws -> (status: Int, body: XMLElement) {
        let space = media ? ONVIFDevice.mediaNamespace : ONVIFDevice.deviceNamespace
        let request = try SOAPRequest(
            bytes(SOAPResponse.envelope("", "<o:\(name) xmlns:o=\"\(space)\">\(content)</o:\(name)>")))
        let found = Self.device.answer(
            request.operation, .init(authority: "[fe80::1]:8000", tracks: tracks, now: 1_709_208_000))
        return (found.status, try #require(try XMLReader.read(bytes(found.text))["Body"]?.children.first))
    }

    @Test func operations() throws {
        let date = try answer("GetSystemDateAndTime", media: false).body["SystemDateAndTime"]?["UTCDateTime"]
        #expect(date?["Date"]?["Day"]?.text == "29" && date?["Time"]?["Hour"]?.text == "12")
        #expect(try answer("GetDeviceInformation", media: false).body["Model"]?.text == "Cam <1>")
        let services = try answer("GetServices", media: false).body.children.compactMap { $0["XAddr"]?.text }
        #expect(
            services == ["http://[fe80::1]:8000/onvif/device_service", "http://[fe80::1]:8000/onvif/media_service"])
        let profile = try answer("GetProfiles").body["Profiles"]
        #expect(profile?.attributes["token"] == "main")
        let encoder = profile?["VideoEncoderConfiguration"]
        #expect(encoder?["Encoding"]?.text == "VP8" && encoder?["Resolution"]?["Width"]?.text == "64")
        let stream = try answer("GetStreamUri", content: "<ProfileToken>main</ProfileToken>").body["MediaUri"]?["Uri"]
        #expect(stream?.text == "rtsp://[fe80::1]:8554/cam")
        #expect(try answer("GetSnapshotUri").body["MediaUri"]?["Uri"]?.text == "http://[fe80::1]:8080/snapshot")
        for (name, content, tracks, code) in [
            ("GetStreamUri", "<ProfileToken>x</ProfileToken>", [Sample.video], "ter:NoProfile"),
            ("GetProfiles", "", [], "ter:NoConfig"), ("DeleteProfile", "", [Sample.video], "ter:ActionNotSupported"),
            (
                "GetStreamUri", "<StreamSetup><Stream>RTP-Multicast</Stream></StreamSetup>", [Sample.video],
                "ter:InvalidStreamSetup"
            ),
        ] as [(String, String, [TrackDescription], String)] {
            let found = try answer(name, content: content, tracks: tracks)
            #expect(found.status >= 400 && found.body["Code"]?["Subcode"]?["Value"]?.text == code)
        }
    }

    // MARK: Discovery

    private func probe(_ content: String, id: String = "<m>&amp;") -> [UInt8] {
        bytes(SOAPResponse.envelope("<a:MessageID>\(xmlText(id))</a:MessageID>", "<d:Probe>\(content)</d:Probe>"))
    }

    @Test func probesAreAnswered() throws {
        let messages = DiscoveryMessages(device: Self.device, authority: "192.0.2.7:8000")
        for content in [
            "", "<d:Types>dn:NetworkVideoTransmitter</d:Types>",
            "<d:Types> q:Device x:NetworkVideoTransmitter </d:Types>",
            "<d:Scopes>onvif://www.onvif.org/type</d:Scopes>",
        ] {
            let root = try XMLReader.read(bytes(try #require(messages.answer(to: probe(content)))))
            #expect(root["Header"]?["RelatesTo"]?.text == "<m>&amp;")
            let match = root["Body"]?["ProbeMatches"]?["ProbeMatch"]
            #expect(match?["XAddrs"]?.text == "http://192.0.2.7:8000/onvif/device_service")
            #expect(
                match?["EndpointReference"]?["Address"]?.text == "urn:uuid:01234567-89ab-cdef-0123-456789abcdef")
        }
        for datagram in [
            probe("<d:Types>dn:Printer</d:Types>"), probe("<d:Scopes>onvif://www.onvif.org/ty</d:Scopes>"), bytes("x"),
            bytes(messages.hello), bytes(messages.bye), bytes(try #require(messages.answer(to: probe("")))),
            probe(String(repeating: " ", count: 9000)),
        ] {
            #expect(messages.answer(to: datagram) == nil)
        }
    }

    @Test func answersToProbesAreLimited() {
        var limit = AnswerLimit()
        let second = MediaTime(nanoseconds: 5_000_000_000)
        func count(_ peer: ServerTransport.Peer, at time: MediaTime) -> Int {
            (0..<1000).count { _ in limit.take(peer, at: time) }
        }
        #expect(count(.ipv4(1), at: second) == AnswerLimit.perSecondAndPeer)
        let others = (2..<1000).reduce(0) { $0 + count(.ipv4($1), at: second) }
        #expect(others == AnswerLimit.perSecond - AnswerLimit.perSecondAndPeer)
        #expect(count(.ipv4(1), at: second.advanced(by: .seconds(1))) == AnswerLimit.perSecondAndPeer)
    }

    // MARK: HTTP

    /// The whole answer on a connection.
    private func exchange(_ port: Int, _ text: String) throws -> String {
        let socket = try connectTo(port)
        defer { close(socket) }
        var rest = bytes(text)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&wait, 1, 60_000) > 0 else { throw NoConnection(code: ETIMEDOUT) }
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += buffer[..<count]
        }
    }

    private func post(_ body: String, head: String = "POST /onvif/device_service HTTP/1.1\r\nHost: h:1\r\n") -> String {
        "\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func requestsOfStrangers() throws {
        var configuration = RTSPServer.Configuration()
        configuration.onvif = .init(port: 0)
        configuration.authentication = login
        let server = try RTSPServer(configuration: configuration)
        try server.start()
        defer { server.stop() }
        let port = try #require(server.onvifPort)
        let open = SOAPResponse.envelope("", "<tds:GetSystemDateAndTime/>")
        #expect(try exchange(port, post(open)).hasPrefix("HTTP/1.1 200 OK\r\n"))
        for (text, status) in [
            ("GET /onvif/device_service HTTP/1.1\r\nHost: h\r\n\r\n", 405), ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 404),
            (post("<x/>"), 400), (post("<!DOCTYPE a [<!ENTITY b 'c'>]>" + open), 400),
            (post(open, head: "POST /onvif/x HTTP/1.1\r\n"), 400),
            (post(open, head: "POST /onvif/x HTTP/1.1\r\nHost: h<\"\r\n"), 400), ("\u{16}\u{3}\u{1}\r\n\r\n", 400),
            (post("", head: "POST /onvif/x HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999999\r\n"), 400),
            ("POST /onvif/x HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\n", 413),
            (
                "POST /onvif/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String(repeating: "4000\r\n\(String(repeating: "a", count: 0x4000))\r\n", count: 5), 413
            ),
            (post(SOAPResponse.envelope("", "<tds:GetScopes/>")), 400),
            (post(SOAPResponse.envelope("", "<trt:GetProfiles/>")), 400),
        ] as [(String, Int)] {
            let answer = try exchange(port, text)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(text.prefix(60)): \(answer.prefix(60))")
        }
        // Wrong passwords, which are throttled; missing ones were not.
        let wrong = SOAPResponse.envelope(
            "<Security><UsernameToken><Username>Zoë</Username><Password>no</Password></UsernameToken></Security>",
            "<tds:GetScopes/>")
        for _ in 0..<6 { #expect(try exchange(port, post(wrong)).contains("ter:NotAuthorized")) }
        #expect(try exchange(port, post(wrong)).hasPrefix("HTTP/1.1 429 "))
        #expect(try exchange(port, post(open)).hasPrefix("HTTP/1.1 200 OK\r\n"))
        server.stop()
        #expect(eventually { openSockets(port: port) == 0 })
    }

    @Test func settings() throws {
        for (port, url) in [(-1, nil), (70_000, nil), (80, "ftp://h/"), (80, "http://"), (80, "http://a b/")]
            as [(Int, String?)]
        {
            var configuration = RTSPServer.Configuration()
            configuration.onvif = .init(port: port, snapshotURL: url)
            #expect(throws: CaptureError.self) { try configuration.validate() }
        }
        let taken = try RTSPServer()
        try taken.start()
        defer { taken.stop() }
        var configuration = RTSPServer.Configuration()
        configuration.onvif = .init(port: try #require(taken.address?.port))
        let server = try RTSPServer(configuration: configuration)
        #expect(#expect(throws: CaptureError.self) { try server.start() }?.code == .deviceBusy)
    }
}
