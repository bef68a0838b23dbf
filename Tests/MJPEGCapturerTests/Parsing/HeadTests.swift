import Testing

@testable import HTTPTransport
@testable import MJPEGCapturer

@Suite struct HeadTests {
    private func type(_ text: String) -> ContentType { ContentType(Array(text.utf8)[...]) }

    @Test(arguments: [
        ("multipart/x-mixed-replace; boundary=abc", "abc"),
        ("Multipart/X-Mixed-Replace;BOUNDARY=\"a b;c\"; x=y", "a b;c"),
        ("multipart/mixed; charset=x ; boundary = \"a\\\"b\" ;", "a\"b"),
        ("multipart/x-mixed-replace;boundary=--abc--", "--abc--"),
    ])
    func readsBoundaries(_ text: String, _ boundary: String) {
        #expect(type(text).boundary == Array(boundary.utf8))
        #expect(type(text).isMultipart)
    }

    @Test func readsTypes() {
        #expect(type("image/JPG").isPicture && type("image/jpeg;size=3").isPicture)
        #expect(type("").isVague && type(" application/octet-stream").isVague)
        #expect(!type("text/html").isVague && !type("text/html").isPicture && !type("text/html").isMultipart)
        #expect(type("multipart/x-mixed-replace; boundary=").boundary == nil)
    }

    @Test func readsChallenges() {
        var challenges = AuthenticationChallenges()
        let values = ["Negotiate", "Basic realm=\"a, b\", Digest qop=\"auth,auth-int\", realm=\"c\", nonce=\"x=\""]
        for value in values { challenges.take(Array(value.utf8)[...]) }
        #expect(challenges.names == "Negotiate, Basic, Digest")
        #expect(challenges.best?.scheme == "Digest" && challenges.best?.realm == "c")
        var basic = AuthenticationChallenges()
        basic.take(Array("basic realm=\"a, b\"".utf8)[...])
        #expect(basic.best?.scheme == "Basic" && basic.best?.realm == "a, b")
    }

    @Test func readsPins() {
        let base64 = "qvTGHdzF6KLavt4PO0gs2a6pQ00P8nPrJ/5XrM1k8Q4="
        #expect(MJPEGCapturer.Configuration.ServerTrust.curlPin(base64) == "sha256//" + base64)
        #expect(MJPEGCapturer.Configuration.ServerTrust.curlPin("sha256//" + base64) == "sha256//" + base64)
        let bytes = "00:01:02:03 " + String(repeating: "ff", count: 28)
        #expect(
            MJPEGCapturer.Configuration.ServerTrust.curlPin(bytes)
                == "sha256//AAECA/////////////////////////////////////8=")
        for wrong in ["", "abc", base64 + "x", String(repeating: "g", count: 64)] {
            #expect(MJPEGCapturer.Configuration.ServerTrust.curlPin(wrong) == nil)
        }
    }

    @Test func takesAddressesApart() throws {
        let address = try HTTPAddress("HTTPS://us%40er:p%3Aw:x@[::1]:8443/a b?token=1&é=2#part")
        #expect(address.requestURL == "https://[::1]:8443/a%20b?token=1&%C3%A9=2")
        #expect(address.displayName == "https://[::1]:8443/a b?token=…&é=2")
        #expect(address.credential == MJPEGCapturer.Credential(user: "us@er", password: "p:w:x"))
        #expect(address.isSecure && address.isLoopback && address.host == "[::1]:8443")
        let plain = try HTTPAddress("http://user:p@ss@camera?x")
        #expect(plain.credential?.password == "p@ss" && plain.host == "camera" && !plain.isLoopback)
        #expect(
            try HTTPAddress("http://user@LOCALHOST/").credential
                == MJPEGCapturer.Credential(user: "user", password: ""))
    }

    @Test func writesSecondsOfAnySize() {
        #expect([0.0, 1, 1.25, 2.96, 12.5].map(\.formatted) == ["0", "1", "1.3", "3", "12.5"])
        #expect(MJPEGCapturer.Event.waiting(.seconds(Int64.max), attempt: 1).description.hasSuffix("s (attempt 1)."))
        for extreme in [Double.infinity, -.infinity, .nan, 1e300, -1e300] { #expect(!extreme.formatted.isEmpty) }
    }
}
