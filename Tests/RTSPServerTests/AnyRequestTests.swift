import TestTools
import Testing

@_spi(Fuzzing) @testable import RTSPServer

/// Bytes of any content, as the fuzzer makes them; each is checked by `RTSPParsing`.
@Suite struct AnyRequestTests {
    private static let seeds = [
        "OPTIONS rtsp://h:8554/cam RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: a\r\n\r\nDESCRIBE rtsp://h:8554/cam RTSP/1.0\r\n"
            + "CSeq: 2\r\nAccept: application/sdp\r\n\r\nSETUP rtsp://h:8554/cam/trackID=0 RTSP/1.0\r\nCSeq: 3\r\n"
            + "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\nSETUP rtsp://h:8554/cam/trackID=1 RTSP/1.0\r\n"
            + "Transport: RTP/AVP;client_port=5000,RTP/AVP/TCP;interleaved=1\r\n\r\nPLAY rtsp://h:8554/cam/ RTSP/1.0\r\n\r\n",
        "DESCRIBE rtsp://h/cam RTSP/1.0\r\nAuthorization: Digest username=\"user\", realm=\"Live picture\", nonce=\"0\", "
            + "uri=\"rtsp://h/cam\", response=\"0123\", qop=auth, nc=1, cnonce=\"a\"\r\n\r\n",
        "$\u{1}\u{0}\u{4}abcdSETUP rtsp://h/cam?a=b/trackID=0 RTSP/1.0\nTransport: RTP/AVP;client_port=5000-5001\n\n",
        "SET_PARAMETER rtsp://h/cam RTSP/1.0\r\nContent-Length: 5\r\nRequire: x\r\nX-Injected: 1\r\n\r\nab\r\n\r\n",
    ]

    @Test func anyBytesAreAnsweredWithinTheRules() {
        var random = SeededRandom(state: 554)
        var requests = 0
        for round in 0..<1500 {
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: index)
                case 1: bytes[index] = .random(in: 0...255, using: &random)
                default: bytes.insert(contentsOf: Array("\r\n%0d:/?&=;$".utf8), at: index)
                }
            }
            requests += RTSPParsing.read(bytes, step: Int.random(in: 1...40, using: &random))
        }
        #expect(requests > 500)
    }
}
