import HTTPTransport

/// The parsers, only for the fuzzer.
@_spi(Fuzzing)
public enum StreamProbe {
    /// The result of parsing a stream.
    public struct Result: Equatable {
        /// The bytes of the images.
        public var pictures: [[UInt8]] = []
        /// The number of images that were damaged.
        public var damaged: UInt64 = 0
        /// The number of images that were too large.
        public var oversized: UInt64 = 0
        /// Whether the server has marked the end of the stream.
        public var hasEnded = false
    }

    /// Parses a body that arrives in pieces, which are fed to the parser, or received by it.
    public static func pictures(
        in bytes: UnsafeRawBufferPointer, boundary: String?, pieceSize: Int, maximumFrameBytes: Int,
        areReceived: Bool = false
    ) -> Result {
        var parser = MultipartParser(
            .parts(boundary: boundary.map { Array($0.utf8) }), maximumFrameBytes: maximumFrameBytes)
        var result = Result()
        func take(_ picture: ReceivedPicture) {
            result.pictures.append(Array(picture.block.bytes))
            result.damaged += picture.losses.damaged
            result.oversized += picture.losses.oversized
        }
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + pieceSize)])
            if areReceived { parser.receive(from: piece, output: take) } else { parser.feed(piece, output: take) }
        }
        result.hasEnded = parser.hasEnded
        let losses = parser.takeLosses()
        result.damaged += losses.damaged
        result.oversized += losses.oversized
        parser.finish { result.pictures.append(Array($0.block.bytes)) }
        return result
    }

    /// Parses the bytes as heads, types, challenges and addresses.
    public static func readHeads(_ bytes: UnsafeRawBufferPointer) {
        var head = HTTPResponseHead()
        for line in bytes.split(separator: ASCII.newline, omittingEmptySubsequences: false) {
            head.take(UnsafeRawBufferPointer(rebasing: line))
        }
        _ = head.challenges.best
        _ = head.statusText
        let text = String(decoding: bytes, as: UTF8.self)
        _ = MJPEGCapturer.Configuration.ServerTrust.curlPin(text)
        guard let address = try? HTTPAddress(text) else { return }
        precondition(!address.requestURL.isEmpty)
    }
}

extension MultipartParser {
    /// Receives these bytes as from a socket. For tests and the fuzzer.
    mutating func receive(from bytes: UnsafeRawBufferPointer, output: (ReceivedPicture) -> Void) {
        var rest = bytes
        while !rest.isEmpty, !hasEnded {
            let before = rest.count
            var room = 0
            let isFilled = receive(
                { memory in
                    room = memory.count
                    let count = min(room, rest.count)
                    memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
                    rest.consume(count)
                    return count
                }, output: output)
            precondition(room > 0 && isFilled == (before - rest.count == room))
        }
    }
}
