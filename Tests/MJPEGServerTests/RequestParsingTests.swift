@_spi(Fuzzing) import MJPEGServer
import Testing

/// Requests of any content, as the fuzzer makes them; each is checked by `RequestParsing`.
@Suite struct RequestParsingTests {
    private static let seeds = [
        "POST /whep HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/sdp\r\nContent-Length: 5\r\n\r\nv=0\r\n",
        "OPTIONS /whep/abc HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://player.example\r\n"
            + "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type, x-one\r\n\r\n",
        "GET /?action=stream&key=a%0d%0aX-Injected:%201&extra_headers=1 HTTP/1.0\r\nHost: [::1]:8080\r\n\r\n",
        "GET /state/?a=b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Digest username=\"user\", realm=\"Live picture\", "
            + "nonce=\"0\", uri=\"/state\", qop=auth, nc=00000001, cnonce=\"c\", response=\"0\", algorithm=SHA-256\r\n\r\n",
        "GET /snapshot HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic dXNlcjpndWVzcw==\r\n\r\n",
    ]

    @Test func `Any request is answered within the rules`() {
        var random = SystemRandomNumberGenerator()
        var answered = 0
        for round in 0..<2000 {
            var bytes = Array(RequestParsingTests.seeds[round % RequestParsingTests.seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: index)
                case 1: bytes[index] = .random(in: 0...255, using: &random)
                default: bytes.insert(contentsOf: Array("%0d%0a,:/?&=\"".utf8), at: index)
                }
            }
            if RequestParsing.read(String(decoding: bytes, as: UTF8.self)) { answered += 1 }
        }
        #expect(answered > 500)
    }
}
