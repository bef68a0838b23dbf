import AudioCapturing
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct LevelMeterTests {
    /// A sine in all channels, in chunks of 20 ms.
    private func feed(
        _ meter: LevelMeter, frequency: Double, amplitude: Float, seconds: Double, _ format: AudioFormat
    ) throws {
        let pool = AudioBufferPool()
        let channels = format.channels.count
        let chunk = format.sampleRate / 50
        for number in 0..<Int(seconds * 50) {
            let buffer = try pool.makeBuffer(format, frameCapacity: chunk) { writer in
                for frame in 0..<chunk {
                    let angle = 2 * Double.pi * frequency * Double(number * chunk + frame) / Double(format.sampleRate)
                    let value = amplitude * Float(sin(angle))
                    for channel in 0..<channels {
                        if format.sampleType == .float32 {
                            writer.withSamples(as: Float.self) { $0[frame * channels + channel] = value }
                        } else {
                            writer.withSamples(as: Int16.self) {
                                $0[frame * channels + channel] = Int16(value * 32_767)
                            }
                        }
                    }
                }
                return chunk
            }
            meter.consumeAudio(AudioChunk(buffer: buffer, timestamp: .zero))
        }
    }

    /// EBU Tech 3341, test case 1: a stereo sine of 1 kHz at −23 dBFS is −23 LUFS, ±0.1.
    @Test(arguments: [44_100, 48_000, 96_000], [SampleType.float32, .int16])
    func sineOfTheStandard(rate: Int, type: SampleType) throws {
        let meter = LevelMeter()
        #expect(meter.levels.channels.isEmpty)
        #expect(meter.levels.integratedLoudness == nil)
        try feed(
            meter, frequency: 1000, amplitude: pow(10, -23 / 20), seconds: 5,
            AudioFormat(type, .stereo, sampleRate: rate))
        let levels = meter.levels
        #expect(abs(try #require(levels.integratedLoudness) + 23) < 0.1)
        #expect(abs(try #require(levels.momentaryLoudness) + 23) < 0.1)
        #expect(levels.channels.count == 2)
        #expect(abs(levels.channels[0].peakDecibels + 23) < 0.05)
        #expect(abs(levels.channels[1].rmsDecibels + 26.01) < 0.05)
        // A reading begins the next.
        #expect(meter.levels.channels[0].peak == 0)
        #expect(meter.levels.channels[0].peakDecibels == -.infinity)
    }

    /// EBU Tech 3341, test case 3: what is 10 LU below the rest does not count.
    @Test func quietPartsAreGated() throws {
        let format = AudioFormat.float48kStereo
        let meter = LevelMeter()
        try feed(meter, frequency: 1000, amplitude: pow(10, -36 / 20), seconds: 3, format)
        try feed(meter, frequency: 1000, amplitude: pow(10, -23 / 20), seconds: 15, format)
        try feed(meter, frequency: 1000, amplitude: pow(10, -36 / 20), seconds: 3, format)
        #expect(abs(try #require(meter.levels.integratedLoudness) + 23) < 0.1)
        #expect(abs(try #require(meter.levels.momentaryLoudness) + 36) < 0.1)
    }

    @Test func badSamplesAreSilence() throws {
        let meter = LevelMeter()
        let samples: [Float] = [.nan, .infinity, -.infinity, 1.5, -1, 0.25]
        meter.consumeAudio(
            AudioChunk(
                buffer: try AudioBuffer(copying: samples, channels: .mono, sampleRate: 8000), timestamp: .zero))
        let level = try #require(meter.levels.channels.first)
        #expect(level.peak == 1.5)
        #expect(level.clippedSamples == 2)
        #expect(level.rms.isFinite)
    }
}
