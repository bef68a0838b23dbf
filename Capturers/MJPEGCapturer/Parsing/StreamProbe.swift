/// The parsers, for the fuzzer alone.
@_spi(Fuzzing)
public enum StreamProbe {
    /// What came of a stream.
    public struct Result: Equatable {
        /// The bytes of the pictures.
        public var pictures: [[UInt8]] = []
        /// How many were left out.
        public var damaged: UInt64 = 0
        public var oversized: UInt64 = 0
        /// Whether the stream has ended by itself.
        public var hasEnded = false
    }

    /// Parses a body that comes in pieces.
    public static func pictures(
        in bytes: UnsafeRawBufferPointer, boundary: String?, pieceSize: Int, maximumFrameBytes: Int
    ) -> Result {
        var parser = MultipartParser(
            .parts(boundary: boundary.map { Array($0.utf8) }), maximumFrameBytes: maximumFrameBytes)
        var result = Result()
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + pieceSize)])
            parser.feed(piece) { picture in
                result.pictures.append(Array(picture.block.bytes))
                result.damaged += picture.losses.damaged
                result.oversized += picture.losses.oversized
            }
        }
        result.hasEnded = parser.hasEnded
        let losses = parser.takeLosses()
        result.damaged += losses.damaged
        result.oversized += losses.oversized
        parser.finish { result.pictures.append(Array($0.block.bytes)) }
        return result
    }

    /// Reads the bytes as heads, types, challenges and addresses.
    public static func readHeads(_ bytes: UnsafeRawBufferPointer) {
        var head = HTTPResponseHead()
        for line in bytes.split(separator: ASCII.newline, omittingEmptySubsequences: false) {
            head.take(UnsafeRawBufferPointer(rebasing: line))
        }
        _ = head.challenges.best
        _ = head.statusText
        let text = String(decoding: bytes, as: UTF8.self)
        _ = MJPEGServerTrust.curlPin(text)
        guard let address = try? StreamAddress(text) else { return }
        precondition(!address.requestURL.isEmpty)
    }
}
