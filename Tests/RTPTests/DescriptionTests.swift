import CaptureCore
import Testing

@_spi(Fuzzing) @testable import RTP

/// Descriptions that are damaged, too large or strange.
@Suite struct DescriptionTests {
    private func read(_ text: String) throws(SDPError) -> SessionDescription {
        try SessionDescription(parsing: text, operation: "read the answer")
    }

    @Test func lineEndsAndUnknownLines() throws {
        let text = Descriptions.janus.replacing("\r\n", with: "\n")
        let read = try read(text + "\n\nb=AS:500\na=x-google-flag:conference\na=unknown")
        #expect(read.sections.count == 1 && read.sections[0].payloadTypes == [96, 97])
    }

    @Test(arguments: [
        ("", "does not begin with v=0"), ("<html>500</html>", "\"<html>500</html>\""), ("v=1\r\n", "v=0"),
        ("v=0\r\nno line", "Line 2"), ("v=0\r\nm=video x UDP/TLS/RTP/SAVPF 96", "Line 2"),
        ("v=0\r\nm=video 70000 UDP/TLS/RTP/SAVPF 96", "65535"), ("v=0\r\nm=video 9 RTP/AVP", "formats"),
        ("v=0\r\nm=video 9 RTP/AVP 300", "below 128"), ("v=0\r\na=fingerprint:sha-256 AA:BB", "32 bytes"),
        ("v=0\r\na=fingerprint:sha-256 \((0..<32).map { _ in "+1" }.joined(separator: ":"))", "32 bytes"),
        ("v=0\r\na=fingerprint:sha-256", "hash function"), ("v=0\r\na=setup:maybe", "actpass"),
        ("v=0\r\nm=video 9 RTP/AVP 96\r\na=rtpmap:96 VP8", "clock rate"), ("v=0\r\na=rtpmap:x VP8/90000", "below 128"),
        ("v=0\r\na=extmap:0 urn:x", "1 to 255"), ("v=0\r\na=extmap:1 urn:x\r\na=extmap:1 urn:y", "number 1"),
        ("v=0\r\na=fmtp:96", "number and a value"), ("v=0\r\na=ice-ufrag:a", "4 to 256"),
        ("v=0\r\na=ice-ufrag:has space", "4 to 256"),
    ])
    func refusesWhatIsWrong(text: String, words: String) {
        let error = #expect(throws: SDPError.self) { try read(text) }
        #expect(error?.code == .malformed && error?.message.contains(words) == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func limits() throws {
        let large = #expect(throws: SDPError.self) { try read("v=0\r\n" + String(repeating: "a", count: 1 << 20)) }
        #expect(large?.code == .tooLarge)
        let sections = "v=0\r\n" + String(repeating: "m=video 9 RTP/AVP 96\r\n", count: 9)
        #expect(#expect(throws: SDPError.self) { try read(sections) }?.code == .tooLarge)
        let candidate = "a=candidate:1 1 udp 1 127.0.0.1 1 typ host\r\n"
        let many = try read("v=0\r\nm=video 9 RTP/AVP 96\r\n" + String(repeating: candidate, count: 100))
        #expect(many.sections[0].candidates.count == 32 && many.candidatesIgnored == 68)
        let types = (0..<128).map { "\($0)" }.joined(separator: " ")
        let maps = (0..<128).map { "a=rtpmap:\($0) X/1\r\na=fmtp:\($0) a=b" }.joined(separator: "\r\n")
        let formats = try read("v=0\r\nm=video 9 RTP/AVP \(types)\r\n\(maps)")
        #expect(formats.sections[0].payloadTypes.count == 64 && formats.sections[0].codecs.count == 64)
        let feedback = String(repeating: "a=rtcp-fb:96 x\r\n", count: 1000)
        #expect(try read("v=0\r\nm=video 9 RTP/AVP 96\r\na=rtpmap:96 VP8/90000\r\n" + feedback).sections.count == 1)
    }

    @Test func secretsStaySecret() {
        for line in ["a=ice-pwd:short", "a=ice-ufrag:no", "a=ice-pwd:\(Descriptions.password) \u{1B}[2J"] {
            let error = #expect(throws: SDPError.self) { try read("v=0\r\n\(line)") }
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains("…") && !text.contains("short") && !text.contains(Descriptions.password), "\(text)")
        }
        let error = #expect(throws: SDPError.self) { try read("v=0\r\n\u{1B}[2Jgarbage") }
        #expect(error.map { "\($0)".contains("\u{1B}") } == false)
    }

    @Test func theSessionIsForAllSections() throws {
        let read = try read(
            Descriptions.lines(
                """
                v=0
                a=ice-ufrag:user
                a=ice-pwd:\(Descriptions.password)
                a=setup:passive
                a=recvonly
                a=extmap:5 urn:3gpp:video-orientation
                m=video 9 UDP/TLS/RTP/SAVPF 96
                m=audio 9 UDP/TLS/RTP/SAVPF 111
                a=setup:active
                a=sendrecv
                a=ice-ufrag:other
                """))
        #expect(
            read.sections.map(\.iceUser) == ["user", "other"] && read.sections.map(\.setup) == [.passive, .active])
        #expect(read.sections.map(\.direction) == [.receive, .sendAndReceive])
        #expect(read.sections.allSatisfy { $0.extensions.first?.id == 5 })
    }

    @Test func feedbackForAllFormats() throws {
        let read = try read(Descriptions.janus + "a=rtcp-fb:* ccm tmmbr\r\na=rtcp-fb:99 nack\r\n")
        #expect(read.sections[0].codecs.allSatisfy { $0.feedback.contains("ccm tmmbr") })
    }

    /// Attributes of a section have no order (RFC 8866, 6): Firefox writes `a=fmtp`, `a=rtcp-fb`, and then `a=rtpmap`.
    @Test(arguments: [Descriptions.janus, Descriptions.aiortc, Descriptions.page, Descriptions.firefox])
    func theOrderOfAttributesDoesNotMatter(text: String) throws {
        let inOrder = try read(text + "a=rtcp-fb:* ccm tmmbr\r\n")
        #expect(inOrder.sections.flatMap(\.codecs).allSatisfy { !$0.name.isEmpty })
        for seed in 0..<200 as Range<UInt64> {
            let other = RTPParsing.reordered(text + "a=rtcp-fb:* ccm tmmbr\r\n", by: seed)
            #expect(try read(other) == inOrder, "\(other)")
        }
    }

    @Test func anyText() {
        var random = Repeatable(state: 3)
        let seeds = [Descriptions.janus, Descriptions.aiortc, Descriptions.page].map { Array($0.utf8) }
        var refused = 0
        for round in 0..<3000 {
            var bytes = seeds[round % 3]
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.remove(at: index)
                case 1: bytes[index] = .random(in: 0...255, using: &random)
                case 2: bytes.insert(contentsOf: bytes[index..<min(index + 40, bytes.count)], at: index)
                default: bytes[index] = Array(":=\r\n /*09".utf8).randomElement(using: &random)!
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            _ = RTPParsing.readDescription(text)
            do throws(SDPError) {
                let local = Descriptions.local(audio: true, h264: true)
                _ = try local.readAnswer(text)
                _ = try local.answer(to: read(text))
            } catch {
                refused += 1
                #expect(!error.message.contains(Descriptions.password))
            }
        }
        #expect(refused > 500 && refused < 3000)
    }
}
