import AudioCapturing
import AudioResampling
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct AudioResamplerTests {
    /// A tone of 997 Hz at half of full scale.
    static func tone(_ frames: Int, rate: Double, channels: Int, frequency: Double = 997) -> [Float] {
        (0..<frames * channels).map { Float(0.5 * sin(2 * Double.pi * frequency * Double($0 / channels) / rate)) }
    }

    /// All output of an input that comes in pieces.
    static func convert(_ resampler: AudioResampler, _ samples: [Float], piece: Int) throws -> [Float] {
        var output: [Float] = []
        let channels = resampler.input.channels.count
        for start in stride(from: 0, to: samples.count, by: piece * channels) {
            let part = samples[start..<min(samples.count, start + piece * channels)]
            var room = [Float](
                repeating: 0,
                count: resampler.outputCapacity(forInput: part.count / channels) * resampler.output.channels.count)
            let frames = try part.withUnsafeBytes { input in
                try room.withUnsafeMutableBytes { try resampler.convert(input, into: $0) }
            }
            output += room[..<(frames * resampler.output.channels.count)]
        }
        return output
    }

    /// The share of a signal that is not a tone of this frequency, in decibels below it.
    static func signalToNoise(_ samples: ArraySlice<Float>, frequency: Double) -> Double {
        var (ss, cc, sc, xs, xc, xx) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        let values = Array(samples)
        for (index, value) in values.enumerated() {
            let (s, c, x) = (sin(frequency * Double(index)), cos(frequency * Double(index)), Double(value))
            ss += s * s
            cc += c * c
            sc += s * c
            xs += x * s
            xc += x * c
            xx += x * x
        }
        let determinant = ss * cc - sc * sc
        let (a, b) = ((xs * cc - xc * sc) / determinant, (xc * ss - xs * sc) / determinant)
        var rest = 0.0
        for (index, value) in values.enumerated() {
            let error = Double(value) - a * sin(frequency * Double(index)) - b * cos(frequency * Double(index))
            rest += error * error
        }
        return 10 * log10((xx - rest) / rest)
    }

    @Test(arguments: [(44_100, 48_000), (22_050, 48_000), (48_000, 44_100), (8_000, 48_000)])
    func `A tone keeps its pitch and stays clean`(rates: (input: Int, output: Int)) throws {
        let resampler = try AudioResampler(
            from: AudioFormat(.float32, .mono, sampleRate: rates.input),
            to: AudioFormat(.float32, .mono, sampleRate: rates.output))
        let input = Self.tone(rates.input * 2, rate: Double(rates.input), channels: 1)
        let output = try Self.convert(resampler, input, piece: 577)
        #expect(abs(output.count - rates.output * 2) < rates.output / 50)
        let middle = output[(rates.output / 2)..<(rates.output * 3 / 2)]
        #expect(Self.signalToNoise(middle, frequency: 2 * .pi * 997 / Double(rates.output)) > 80)
    }

    @Test(arguments: [200.0, -200, 1000, -2000, 33.3])
    func `Compensation stretches by its millionths, without noise`(millionths: Double) throws {
        let format = AudioFormat(.float32, .mono, sampleRate: 48_000)
        let resampler = try AudioResampler(from: format, to: format)
        resampler.compensation = millionths
        let seconds = 20
        let output = try Self.convert(resampler, Self.tone(48_000 * seconds, rate: 48_000, channels: 1), piece: 960)
        let expected = Double(48_000 * seconds) * (1 + millionths / 1e6)
        // What it holds back at the end, and the squares of the millionths.
        #expect(abs(Double(output.count) - expected) < 64)
        let middle = output[48_000..<96_000]
        let frequency = 2 * Double.pi * 997 / 48_000
        let best =
            stride(from: -5.0, through: 5, by: 0.25).map { offset in
                Self.signalToNoise(middle, frequency: frequency / (1 + (millionths + offset) / 1e6))
            }.max() ?? 0
        #expect(best > 70)
    }

    @Test func `Compensation that ends leaves the nominal rate`() throws {
        let format = AudioFormat(.float32, .mono, sampleRate: 48_000)
        let resampler = try AudioResampler(from: format, to: format)
        resampler.compensation = 1000
        _ = try Self.convert(resampler, Self.tone(96_000, rate: 48_000, channels: 1), piece: 960)
        resampler.compensation = 0
        _ = try Self.convert(resampler, Self.tone(96_000, rate: 48_000, channels: 1), piece: 960)
        let output = try Self.convert(resampler, Self.tone(96_000, rate: 48_000, channels: 1), piece: 960)
        #expect(output.count == 96_000)
    }

    @Test func `Channels and sample types are converted`() throws {
        let resampler = try AudioResampler(
            from: AudioFormat(.int16, .mono, sampleRate: 48_000), to: AudioFormat(.float32, .stereo, sampleRate: 48_000)
        )
        let input = [Int16](repeating: 16_384, count: 4800)
        var output = [Float](repeating: 0, count: 2 * resampler.outputCapacity(forInput: 4800))
        let frames = try input.withUnsafeBytes { input in
            try output.withUnsafeMutableBytes { try resampler.convert(input, into: $0) }
        }
        #expect(frames > 4700)
        #expect(abs(output[2 * 2000] - output[2 * 2000 + 1]) < 1e-6)
        #expect(output[2 * 2000] > 0.3 && output[2 * 2000] <= 0.51)
    }

    @Test func `What is held comes out at the end, and a reset forgets it`() throws {
        let resampler = try AudioResampler(
            from: AudioFormat(.float32, .mono, sampleRate: 44_100), to: AudioFormat(.float32, .mono, sampleRate: 48_000)
        )
        _ = try Self.convert(resampler, Self.tone(4410, rate: 44_100, channels: 1), piece: 441)
        #expect(resampler.delay > .zero && resampler.delay < .milliseconds(2))
        var room = [Float](repeating: 0, count: 1024)
        let rest = try room.withUnsafeMutableBytes { try resampler.drain(into: $0) }
        #expect((1...96).contains(rest))
        try resampler.reset()
        #expect(try room.withUnsafeMutableBytes { try resampler.drain(into: $0) } == 0)
    }

    @Test func `Formats that cannot be are refused`() {
        let good = AudioFormat(.float32, .stereo, sampleRate: 48_000)
        for bad in [
            AudioFormat(.float32, .discrete(64), sampleRate: 48_000), AudioFormat(.int16, .mono, sampleRate: 0),
        ] {
            #expect(throws: CodecError.self) { try AudioResampler(from: bad, to: good) }
            #expect(throws: CodecError.self) { try AudioResampler(from: good, to: bad) }
        }
    }
}
