import AudioCapturing
import CapturerTestKit
import Testing
import ToneCapturer

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct ToneCapturerTests {
    /// What a capture makes until it ends, by a clock that begins at `start`.
    private func record(
        _ sound: ToneCapturer.Sound, _ format: AudioFormat = .float48kStereo, amplitude: Double = 0.1,
        duration: Duration = .seconds(1), start: MediaTime = .zero
    ) throws -> RecordingAudioConsumer {
        let capture = ToneCapturer(
            sound, format: format, amplitude: amplitude, duration: duration, clock: VirtualClock(start: start))
        let recorder = RecordingAudioConsumer()
        capture.audioCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        let frames = format.frames(in: duration)
        #expect(recorder.waitForChunks(Int((frames + 959) / 960)))
        capture.releaseCapture()
        return recorder
    }

    /// The part of a frequency in samples: Goertzel's sum, by its definition.
    private func amplitude(of frequency: Double, in samples: ArraySlice<Float>, rate: Double) -> Double {
        var (real, imaginary) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * Double.pi * frequency * Double(index) / rate
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
        }
        return 2 * (real * real + imaginary * imaginary).squareRoot() / Double(samples.count)
    }

    @Test(arguments: [440.0, 997, 15_000])
    func sineIsPure(frequency: Double) throws {
        let samples = try record(.sine(frequency: frequency), amplitude: 0.5).samples(ofChannel: 1)
        #expect(samples.count == 48_000)
        #expect(abs(amplitude(of: frequency, in: samples[...], rate: 48_000) - 0.5) < 1e-4)
        let mean = samples.reduce(0.0) { $0 + Double($1) * Double($1) } / 48_000
        // All of its power is in that frequency: nothing of a chunk's beginning is to be seen.
        #expect(abs(mean - 0.125) < 1e-5)
    }

    @Test func noiseIsUniformAndTheSameAgain() throws {
        let first = try record(.whiteNoise(seed: 3), amplitude: 1)
        let (left, right) = (first.samples(ofChannel: 0), first.samples(ofChannel: 1))
        #expect(left == (try record(.whiteNoise(seed: 3), amplitude: 1).samples(ofChannel: 0)))
        #expect(left != (try record(.whiteNoise(seed: 4), amplitude: 1).samples(ofChannel: 0)))
        func mean(_ values: [Float]) -> Double { values.reduce(0) { $0 + Double($1) } / Double(values.count) }
        // 48,000 uniform samples: a standard error of 0.0026 of the mean, of 0.0014 of the power.
        #expect(abs(mean(left)) < 0.013)
        #expect(abs(mean(left.map { $0 * $0 }) - 1.0 / 3) < 0.007)
        #expect(abs(mean(zip(left, right).map { $0 * $1 })) < 0.008)
        #expect(abs(mean(zip(left, left.dropFirst()).map { $0 * $1 })) < 0.008)
        #expect(left.max()! > 0.999 && left.min()! < -0.999)
    }

    /// Each whole second of the clock, and nothing between; even ones with 1 kHz, odd ones with 2 kHz.
    @Test(arguments: [SampleType.float32, .int16])
    func beepsAreInTheirPlaces(type: SampleType) throws {
        let format = AudioFormat(type, .mono, sampleRate: 48_000)
        // Begins 250 ms before second 7.
        let recorder = try record(
            .beep, format, amplitude: 0.5, duration: .seconds(3), start: MediaTime(nanoseconds: 6_750_000_000))
        let samples = recorder.samples()
        let loud = samples.indices.filter { abs(samples[$0]) > 0.05 }
        // A beep begins where there was quiet for 50 ms.
        let starts = loud.enumerated().filter { $0.offset == 0 || $0.element - loud[$0.offset - 1] > 2400 }
        #expect(starts.map { $0.element / 48 } == [250, 1250, 2250])
        for (number, start) in starts.map(\.element).enumerated() {
            let beep = samples[start..<(start + 1400)]
            let expected = number.isMultiple(of: 2) ? 2000.0 : 1000
            #expect(amplitude(of: expected, in: beep, rate: 48_000) > 0.48)
            #expect(samples[(start + 1441)..<(start + 3000)].allSatisfy { $0 == 0 })
        }
        #expect(recorder.chunks[0].timestamp == MediaTime(nanoseconds: 6_750_000_000))
    }

    @Test(arguments: [
        (ToneCapturer.Sound.sine(frequency: 24_000), 0.1), (.sine(frequency: 0), 0.1), (.sine(frequency: .nan), 0.1),
        (.beep, 1.5), (.beep, -0.1), (.beep, .nan),
    ])
    func refusesWhatCannotBe(sound: ToneCapturer.Sound, amplitude: Double) {
        let capture = ToneCapturer(sound, amplitude: amplitude)
        #expect { try capture.initCapture() } throws: { ($0 as? CaptureError)?.code == .invalidConfiguration }
        #expect(capture.state == .idle)
    }

    @Test func refusesFormats() {
        let capture = ToneCapturer(format: AudioFormat(.float32, .stereo, sampleRate: 0))
        #expect { try capture.initCapture() } throws: { ($0 as? CaptureError)?.code == .invalidConfiguration }
        #expect(throws: CaptureError.self) { try ToneCapturer(chunkDuration: .zero).initCapture() }
    }

    @Test func entryReadsOptions() throws {
        let entry = AudioCapturerEntry.tone
        func settings(_ values: [String: [String]]) throws -> AudioSettings {
            try entry.make(.init(options: OptionValues(values))).capture.captureSettings()
        }
        #expect(try settings([:]).format == .float48kStereo)
        let given = try settings([
            "tone-sound": ["sine"], "tone-frequency": ["440"], "tone-rate": ["44100"], "tone-channels": ["1"],
        ])
        #expect(given.format == AudioFormat(.float32, .mono, sampleRate: 44_100))
        #expect(given.sourceName == "sine of 440.0 Hz")
        #expect(try settings(["tone-sound": ["BEEP"]]).sourceName == "beeps")
        for bad in [
            ["tone-sound": ["loud"]], ["tone-frequency": ["0"]], ["tone-frequency": ["30000"]], ["tone-level": ["-3"]],
            ["tone-channels": ["65"]], ["tone-rate": ["1.5"]], ["tone-sound": ["beep"], "tone-frequency": ["500"]],
        ] {
            #expect(throws: OptionError.self) { try settings(bad) }
        }
    }

    @Test func conforms() async {
        let suite = AudioConformanceSuite(name: "tone") {
            ToneCapturer(chunkDuration: .milliseconds(5))
        }
        let report = await suite.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }
}
