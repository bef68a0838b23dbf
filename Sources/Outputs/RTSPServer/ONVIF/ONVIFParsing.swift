import CaptureCore

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
