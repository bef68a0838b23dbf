import Testing

@testable import StreamCapturer

@Suite struct StreamProbeTests {
    private func look(_ bytes: [UInt8]) -> StreamProbe? { try? StreamProbe.look(at: bytes, isComplete: true) }

    @Test func knowsTheBeginnings() {
        #expect(look([0, 0, 1, 0x67, 1]) == .annexB)
        #expect(look([0, 0, 0, 1, 0x09, 0xF0]) == .annexB)
        #expect(look([0, 0, 0, 0, 0, 1, 0x67]) == .annexB)
        #expect(look([0, 0, 0, 24, 0x67]) == .lengthPrefixed)
        #expect(look([0, 0, 0, 2, 0x09, 0xF0]) == .lengthPrefixed)
        // A length of 300, which begins like a start code of three bytes.
        #expect(look([0, 0, 1, 0x2C, 0x67]) == .lengthPrefixed)
        #expect(look([0x1A, 0x45, 0xDF, 0xA3]) == .container("matroska"))
        #expect(look([0x46, 0x4C, 0x56, 0x01]) == .container("flv"))
        var packets = [UInt8](repeating: 0, count: 377)
        for start in [0, 188, 376] { packets[start] = 0x47 }
        #expect(look(packets) == .container("mpegts"))
        packets[188] = 0
        #expect(look(packets) == nil)
    }

    @Test func refusesTheRest() {
        #expect(look(Array("GET / HTTP/1.1\r\n\r\n".utf8)) == nil)
        #expect(look([0, 0, 0, 1, 0x67].reversed()) == nil)
        // One byte long, and longer than any unit.
        #expect(look([0x00, 0x00, 0x00, 0x00, 0x00]) == nil)
        #expect(look([0x7F, 0xFF, 0xFF, 0xFF, 0x67]) == nil)
        #expect(throws: StreamProbe.Unknown.self) {
            try StreamProbe.look(at: Array("HTTP/1.1 200 OK".utf8), isComplete: false)
        }
        #expect("\(StreamProbe.Unknown(first: [0x0A, 0xFF]))" == "0A FF")
    }

    /// What H.265 begins with is no H.264, behind start codes and lengths.
    @Test func namesH265() {
        for unit in [[0x40, 1, 0x0C], [0x42, 1], [0x46, 1, 0x50], [0x4E, 1]] as [[UInt8]] {
            for prefix in [[0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 24]] as [[UInt8]] {
                let error = #expect(throws: StreamProbe.Unknown.self) {
                    try StreamProbe.look(at: prefix + unit, isComplete: true)
                }
                #expect(error?.name == "H.265")
            }
        }
    }

    /// It waits for more only as long as there is a chance.
    @Test func asksForMoreBytes() throws {
        for prefix in [
            [], [0], [0, 0, 0], [0, 0, 0, 1, 0x42], [0, 0, 0, 24], [0, 0, 0, 24, 0x40], [0x47], [0x1A, 0x45],
        ] as [[UInt8]] {
            #expect(try StreamProbe.look(at: prefix, isComplete: false) == nil)
        }
    }

    @Test func lengthsBecomeStartCodes() throws {
        let bytes: [UInt8] = [0, 0, 0, 3, 0x67, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0x68]
        for size in 1...bytes.count {
            var unwrapper = LengthUnwrapper()
            var stream: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                var failure: LengthUnwrapper.Implausible?
                piece.withUnsafeBytes { piece in
                    do throws(LengthUnwrapper.Implausible) {
                        try unwrapper.unwrap(piece) { stream.append(contentsOf: $0) }
                    } catch {
                        failure = error
                    }
                }
                #expect(failure == nil)
            }
            #expect(stream == [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68])
        }
        var unwrapper = LengthUnwrapper()
        #expect(throws: LengthUnwrapper.Implausible.self) {
            try [UInt8]([0x7F, 0, 0, 0]).withUnsafeBytes { try unwrapper.unwrap($0) { _ in } }
        }
    }
}
