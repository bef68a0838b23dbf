import AudioCapturing
import MP3Codec
import TestTools
import Testing

@Suite struct MP3DecoderTests {
    @Test func `Samples are those of another program`() throws {
        let clip = try mp3Clip(seconds: 3)
        let ours = try decode(clip, as: .int16)
        #expect(ours.count == 1)
        let folder = TemporaryFolder()
        try folder.write(clip, to: "a.mp3")
        let theirs = try run(
            "ffmpeg", ["-v", "error", "-i", folder.file("a.mp3"), "-f", "s16le", "-"])
        let samples = theirs.withUnsafeBytes { $0.bindMemory(to: Int16.self).map { Float($0) / 32768 } }
        let mine = ours[0].samples
        #expect(mine.count == Parsed(clip).bytes.count * 1152 * 2)
        #expect(samples.count > 100_000)
        // ffmpeg leaves out the first 1105 frames, if anything; ours is faded in over two blocks.
        let shift = (mine.count - samples.count) / 2 * 2
        let start = 1152 * 6
        let limit = min(mine.count, samples.count + shift)
        let worst = (start..<limit).map { abs(mine[$0] - samples[$0 - shift]) }.max() ?? 1
        #expect(worst < 3 / 32768)
    }

    @Test func `Both sample types are the same sound`() throws {
        let clip = try mp3Clip()
        let (floats, integers) = try (decode(clip)[0].samples, decode(clip, as: .int16)[0].samples)
        #expect(floats.count == integers.count)
        #expect(zip(floats, integers).allSatisfy { abs($0 - $1) < 2 / 32768 })
    }

    @Test func `A change of rate and channels loses no sample`() throws {
        let parts = try [
            mp3Clip(), mp3Clip(rate: 48_000, channels: 1), mp3Clip(rate: 22_050), mp3Clip(rate: 11_025, channels: 1),
        ]
        .map { frames($0)[..<30] }
        let decoded = try decode(parts.flatMap { $0 }.flatMap { $0 })
        #expect(decoded.map(\.format.sampleRate) == [44_100, 48_000, 22_050, 11_025])
        #expect(decoded.map(\.format.channels) == [.stereo, .mono, .stereo, .mono])
        #expect(decoded.map { $0.samples.count } == [30 * 2304, 30 * 1152, 30 * 1152, 30 * 576])
    }

    @Test func `Noise in the stream is never heard`() throws {
        let whole = frames(try mp3Clip(seconds: 4))
        let quiet = try decode(whole.flatMap { $0 }).flatMap(\.samples).map { abs($0) }.max() ?? 0
        for seed in 1...8 as ClosedRange<UInt64> {
            let stream = whole[..<60].flatMap { $0 } + noise(60_000, seed: seed) + whole[60...].flatMap { $0 }
            let decoded = try decode(stream)
            #expect(decoded.count == 1, "another format was heard")
            #expect((decoded.flatMap(\.samples).map { abs($0) }.max() ?? 0) < quiet * 1.5)
            #expect(decoded[0].samples.count >= (whole.count - 2) * 2304)
        }
    }

    @Test func `After a gap sound is faded in`() throws {
        let whole = frames(try mp3Clip(seconds: 4))
        let decoded = try decode(whole[..<50].flatMap { $0 } + whole[80...].flatMap { $0 }.dropFirst(100))
        let samples = decoded[0].samples
        // The last frame before the gap is not given, since none follows it.
        let seam = 49 * 2304
        let (before, behind) = (samples[(seam - 2304)..<seam], samples[seam..<(seam + 400)])
        #expect((behind.map { abs($0) }.max() ?? 1) < (before.map { abs($0) }.max() ?? 0) * 0.3)
    }

    @Test func `Damaged frames give something or nothing, never a failure`() throws {
        let whole = frames(try mp3Clip())
        for seed in 1...20 as ClosedRange<UInt64> {
            let junk = noise(whole.count * 500, seed: seed)
            let damaged = whole.enumerated().flatMap { index, frame in
                // The header stays, so that the parser lets it through.
                frame[..<4] + zip(frame[4...], junk[(index * 500)...]).map { index % 3 == 0 ? $1 : $0 }
            }
            let decoded = try decode(damaged)
            #expect(decoded.allSatisfy { $0.format.sampleRate == 44_100 })
        }
    }
}
