import AudioCapturing
import Testing

@testable import MediaPublishing

@Suite struct SoundTriggerTests {
    private static let block = Duration.milliseconds(50)

    /// The decisions of levels that each last for a number of seconds, with the time of each in seconds.
    private func decisions(
        _ levels: [(level: Double, seconds: Double)], _ configuration: SoundTrigger.Configuration = .init()
    ) -> [(isBegin: Bool, time: Double)] {
        var detector = SoundDetector(configuration)
        var found: [(Bool, Double)] = []
        var count = 0
        for (level, seconds) in levels {
            for _ in 0..<Int((seconds * 20).rounded()) {
                count += 1
                // The noise of a room varies.
                let varied = level + (count % 3 == 0 ? 1.5 : count % 5 == 0 ? -2 : 0)
                switch detector.add(varied, for: SoundTriggerTests.block) {
                case .begin: found.append((true, Double(count) / 20))
                case .end: found.append((false, Double(count) / 20))
                case nil: break
                }
            }
        }
        return found
    }

    @Test func soundAboveTheNoiseBeginsAndEnds() {
        let found = decisions([(-50, 30), (-25, 2), (-50, 10), (-30, 1), (-50, 10)])
        #expect(found.map(\.isBegin) == [true, false, true, false])
        for (time, expected) in zip(found.map(\.time), [30.1, 33, 42.1, 44]) {
            #expect(abs(time - expected) < 0.16, "\(time)")
        }
    }

    @Test func noiseAloneIsNothing() {
        #expect(decisions([(-50, 600)]).isEmpty)
        #expect(decisions([(-.infinity, 60)]).isEmpty)
        #expect(decisions([(-20, 60)]).isEmpty)
        // It gets louder in five minutes.
        #expect(decisions((0..<300).map { (-60 + Double($0) / 10, 1) }).isEmpty)
    }

    /// A crack of one block, and sound that is hardly above silence.
    @Test func whatIsTooShortOrTooQuietIsNothing() {
        #expect(decisions([(-50, 10), (-10, 0.05), (-50, 10)]).isEmpty)
        #expect(decisions([(-90, 10), (-65, 5), (-90, 10)]).isEmpty)
        #expect(!decisions([(-90, 10), (-65, 5), (-90, 10)], .init(minimumLevel: -80)).isEmpty)
    }

    /// A fan that was switched on is heard, and becomes a part of the noise.
    @Test func whatGoesOnBecomesTheNoise() throws {
        let found = decisions([(-55, 20), (-30, 120)])
        #expect(found.map(\.isBegin) == [true, false])
        #expect(try #require(found.last).time < 50)
        // After it was switched off the old noise is known within seconds.
        let again = decisions([(-55, 20), (-30, 120), (-55, 5), (-38, 1), (-55, 5)])
        #expect(again.count == 4)
    }

    /// Pauses of speech do not end it.
    @Test func aPauseIsBridged() {
        let found = decisions([(-50, 10), (-25, 1), (-50, 0.6), (-25, 1), (-50, 5)])
        #expect(found.map(\.isBegin) == [true, false])
    }

    /// Samples, in chunks of 20 ms: the times are those of the chunks.
    @Test func itFiresAtTheTimesOfTheSound() throws {
        let recording = RecordingTrigger()
        let calls = Locked<[RecordingTrigger.Call]>([])
        _ = recording.connect { call in calls.withLock { $0.append(call) } }
        let trigger = SoundTrigger(recording)
        for index in 0..<500 {
            let isLoud = (250..<300).contains(index)
            let samples = (0..<960).map { sample -> Float in
                (sample % 48 < 24 ? 1 : -1) * (isLoud ? 0.3 : 0.001)
            }
            trigger.consumeAudio(
                AudioChunk(
                    buffer: try AudioBuffer(copying: samples, channels: .mono, sampleRate: 48_000),
                    timestamp: MediaTime(nanoseconds: Int64(index) * 20_000_000), firstFrame: Int64(index) * 960))
        }
        let found = calls.withLock { $0 }
        try #require(found.count == 2)
        #expect(found.allSatisfy { $0.reason == .sound })
        let begin = try #require(found[0].time)
        let end = try #require(found[1].time)
        #expect(abs((begin - MediaTime(nanoseconds: 5_000_000_000)).seconds) < 0.15)
        #expect(abs((end - MediaTime(nanoseconds: 7_000_000_000)).seconds) < 0.15)
        #expect(found[0].detail?.contains("above the noise") == true)
    }
}
