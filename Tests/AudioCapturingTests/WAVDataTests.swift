import AudioCapturing
import Testing

@Suite struct WAVDataTests {
    private func chunk(_ samples: [Int16], first: Int64, lost: Int64? = nil) throws -> AudioChunk {
        let buffer = try AudioBuffer(copying: samples, channels: .stereo, sampleRate: 8000)
        let time = MediaTime(nanoseconds: first * 125_000)
        return AudioChunk(
            buffer: buffer, timestamp: time, firstFrame: first, discontinuity: lost.map { .lost(frames: $0) })
    }

    @Test func headerSamplesAndGaps() throws {
        let wav = try [chunk([1, 2, 3, 4], first: 0), chunk([5, 6], first: 4, lost: 2)].wavData()
        func number(_ offset: Int, _ bytes: Int) -> Int {
            (0..<bytes).reduce(0) { $0 | Int(wav[offset + $1]) << (8 * $1) }
        }
        #expect(String(decoding: wav[0..<4], as: UTF8.self) == "RIFF")
        #expect(String(decoding: wav[8..<16], as: UTF8.self) == "WAVEfmt ")
        #expect([number(4, 4), number(20, 2), number(22, 2), number(24, 4)] == [wav.count - 8, 1, 2, 8000])
        #expect([number(28, 4), number(32, 2), number(34, 2)] == [32_000, 4, 16])
        #expect(String(decoding: wav[36..<40], as: UTF8.self) == "data")
        #expect(number(40, 4) == wav.count - 44)
        let samples = stride(from: 44, to: wav.count, by: 2).map { number($0, 2) }
        #expect(samples == [1, 2, 3, 4, 0, 0, 0, 0, 5, 6])
    }

    @Test func nothingIsNoFile() {
        let error = #expect(throws: CaptureError.self) { try [AudioChunk]().wavData() }
        #expect(error?.code == .invalidConfiguration)
    }
}
