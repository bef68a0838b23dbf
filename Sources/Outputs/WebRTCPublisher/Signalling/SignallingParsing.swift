import CaptureCore

/// The parsers of what servers send, only for the fuzzer.
@_spi(Fuzzing)
public enum SignallingParsing {
    /// Reads the bytes as each thing that a server sends, and checks what must hold for any bytes.
    public static func read(_ bytes: UnsafeRawBufferPointer) {
        let text = String(decoding: bytes, as: UTF8.self)
        precondition(ICEServer.servers(inLinks: [text, text]).count <= ICEServer.maximumCount)
        _ = ICEServer(uri: text)
        if let fragment = ICEFragment(parsing: text) {
            precondition(ICEFragment(parsing: fragment.text) != nil, "a fragment that was written cannot be read")
        }
        for message in JanusMessage.messages(in: bytes) ?? [] { _ = message.event }
        if let value = JSONValue(reading: bytes) {
            let written = value.text
            precondition(
                JSONValue(reading: written.utf8)?.text == written, "a value that was written is read as another one")
        }
    }
}
