import AudioCapturing
import CapturerTestKit
import Testing

/// Where chunks are placed, by the clock and by the times of devices.
@Suite struct TimelineTests {
    private typealias Step = ScriptedSound.Step

    /// A chunk of 20 ms at a time of the device.
    private static func step(at time: Double, lost: Int64 = 0) -> Step {
        .chunk(frames: 960, at: ms(1000 + time), lost: lost)
    }

    private func record(_ steps: [Step]) throws -> (chunks: [AudioChunk], statistics: AudioStatistics) {
        let clock = VirtualClock(start: ms(1000))
        var source = ScriptedSound(mono, steps.flatMap { [.delay(.milliseconds(20)), $0] })
        source.onDelay = { clock.advance(by: $0) }
        let capture = AudioSourceCapturer(source, clock: clock)
        let result = try run(capture)
        return (result, capture.statistics)
    }

    @Test func contiguousSoundHasNoDiscontinuity() throws {
        let (chunks, statistics) = try record((0..<50).map { TimelineTests.step(at: Double($0) * 20) })
        let expected: [AudioChunk.Discontinuity?] = [.start] + Array(repeating: nil, count: 49)
        #expect(chunks.map(\.discontinuity) == expected)
        #expect(chunks.map(\.firstFrame) == (0..<50).map { Int64($0) * 960 })
        #expect(chunks.map(\.timestamp) == (0..<50).map { ms(1000 + Double($0) * 20) })
        #expect(statistics.framesLost.total == 0)
        #expect(statistics.framesDelivered == 48_000)
        #expect(statistics.chunksDelivered == 50)
    }

    /// A read may tell its time a few milliseconds off; the times that are delivered are even.
    @Test func jitterIsSmoothed() throws {
        var random = UInt64(7)
        let raw = (0..<3000).map { index -> Double in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(index) * 20 + Double(random >> 40) / Double(1 << 24) * 4 - 2
        }
        let (chunks, statistics) = try record(raw.map { TimelineTests.step(at: $0) })
        #expect(statistics.framesLost.total == 0)
        // After half a minute, of jitter of ±2 ms (1.15 ms RMS) less than 0.2 ms is left.
        let late = zip(chunks, 0...).dropFirst(1500)
        let worst = late.map { abs(($0.timestamp - ms(1000 + Double($1) * 20)).nanoseconds) }.max()!
        #expect(worst < 200_000, "\(worst) ns")
        // From chunk to chunk hardly anything.
        for (earlier, later) in zip(chunks, chunks.dropFirst()).dropFirst(600) {
            #expect(abs((later.timestamp - earlier.endTimestamp).nanoseconds) < 20_000)
        }
    }

    @Test(arguments: [-1000.0, -100, 100, 1000])
    func theRateOfTheDeviceIsFound(partsPerMillion: Double) throws {
        let period = 20 / (1 + partsPerMillion / 1e6)
        let (chunks, statistics) = try record((0..<3000).map { TimelineTests.step(at: Double($0) * period) })
        #expect(statistics.framesLost.total == 0)
        #expect(statistics.resynchronizations == 0)
        let rate = try #require(statistics.measuredSampleRate)
        #expect(abs(rate - 48_000 * (1 + partsPerMillion / 1e6)) < 0.5)
        let last = try #require(chunks.last)
        #expect(abs((last.timestamp - ms(1000 + 2999 * period)).nanoseconds) < 10_000)
    }

    /// A buffer of 300 ms that was overwritten without a word, as through the pipewire plugin.
    @Test func lossesAreFoundByTheClock() throws {
        let steps = [0, 20, 40, 360, 380].map { TimelineTests.step(at: $0) }
        let (chunks, statistics) = try record(steps)
        #expect(chunks.map(\.discontinuity) == [.start, nil, nil, .lost(frames: 14_400), nil])
        #expect(chunks[3].firstFrame == 3 * 960 + 14_400)
        #expect(chunks[3].timestamp == ms(1360))
        #expect(statistics.framesLost.source == 14_400)
    }

    /// The driver says that something is lost; how much is told by its time, however little.
    @Test func reportedLossesAreMeasured() throws {
        let (chunks, statistics) = try record([
            TimelineTests.step(at: 0), TimelineTests.step(at: 25, lost: 1), TimelineTests.step(at: 45),
        ])
        #expect(chunks.map(\.discontinuity) == [.start, .lost(frames: 240), nil])
        #expect(statistics.framesLost.source == 240)
    }

    /// Without a time, the driver's number counts.
    @Test func countedLossesAreBelieved() throws {
        let clock = VirtualClock(start: ms(1000))
        var source = ScriptedSound(
            mono,
            [
                .chunk(frames: 960, at: nil), .delay(.milliseconds(30)), .chunk(frames: 960, at: nil, lost: 480),
            ])
        source.onDelay = { clock.advance(by: $0) }
        let capture = AudioSourceCapturer(source, clock: clock)
        let chunks = try run(capture)
        #expect(chunks.map(\.discontinuity) == [.start, .lost(frames: 480)])
        #expect(chunks[1].firstFrame == 1440)
        #expect(capture.statistics.framesLost.source == 480)
    }

    /// Sound that comes twice, or whose time runs back, is left out until time goes on.
    @Test func overlapsAreLeftOut() throws {
        let (chunks, statistics) = try record([0, 20, -60, -40, -20, 0, 20, 40, 60].map { TimelineTests.step(at: $0) })
        #expect(chunks.map(\.firstFrame) == [0, 960, 1920, 2880, 3840])
        #expect(chunks.map(\.discontinuity) == [.start, nil, .resynchronized(by: .milliseconds(-100)), nil, nil])
        #expect(zip(chunks, chunks.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        // 20 ms behind is still within what counts as contiguous.
        #expect(statistics.framesLost.overlapping == 4 * 960)
        #expect(statistics.resynchronizations == 1)
    }

    /// A clock that was set is another clock, not hours of sound that come twice.
    @Test func aClockThatIsSetBackIsAdopted() throws {
        let (chunks, statistics) = try record([0, 20, -5000, -4980, -4960].map { TimelineTests.step(at: $0) })
        #expect(chunks.map(\.firstFrame) == [0, 960, 1920, 2880, 3840])
        #expect(chunks.map(\.timestamp) == [1000, 1020, 1040, 1060, 1080].map { ms($0) })
        #expect(chunks[2].discontinuity == .resynchronized(by: .milliseconds(-5040)))
        #expect(statistics.framesLost.total == 0)
    }

    /// Times of another clock, and zero, are no times.
    @Test(arguments: [0.0, 1e9, -1e9])
    func timesOfAnotherClockAreIgnored(time: Double) throws {
        let clock = VirtualClock(start: ms(100_000))
        let steps = (0..<5).flatMap { index -> [Step] in
            [.delay(.milliseconds(20)), .chunk(frames: 960, at: ms(time + Double(index) * 20))]
        }
        var source = ScriptedSound(mono, steps)
        source.onDelay = { clock.advance(by: $0) }
        let chunks = try run(AudioSourceCapturer(source, clock: clock))
        #expect(chunks.map(\.timestamp) == (0..<5).map { ms(100_000 + Double($0) * 20) })
    }

    /// Without times of the device a read may be late by any time, which is no loss; only a second without an early one is.
    @Test func lateReadsAreNoLoss() throws {
        let clock = VirtualClock(start: ms(1000))
        // Each chunk is there at 20, 40, 60 … ms; every fifth read comes 80 ms late, and the next ones at once.
        var steps: [Step] = []
        for _ in 0..<100 {
            steps.append(.delay(.milliseconds(100)))
            for _ in 0..<5 { steps.append(.chunk(frames: 960, at: nil)) }
        }
        var source = ScriptedSound(mono, steps)
        source.onDelay = { clock.advance(by: $0) }
        let capture = AudioSourceCapturer(source, clock: clock)
        let chunks = try run(capture)
        #expect(capture.statistics.framesLost.source == 0)
        #expect(capture.statistics.framesDelivered == 480_000)
        // The first reads were late too, which only the next ones show.
        #expect(chunks.dropFirst(20).allSatisfy { $0.discontinuity == nil })
        let last = try #require(chunks.last)
        #expect(abs((last.endTimestamp - clock.now).nanoseconds) < 1_000_000)
    }

    @Test func lossesWithoutTimesAreFoundWithinASecond() throws {
        let clock = VirtualClock(start: ms(1000))
        let usual: [Step] = [.delay(.milliseconds(20)), .chunk(frames: 960, at: nil)]
        let steps =
            Array(repeating: usual, count: 60) + [[.delay(.milliseconds(500))]] + Array(repeating: usual, count: 120)
        var source = ScriptedSound(mono, steps.flatMap { $0 })
        source.onDelay = { clock.advance(by: $0) }
        let capture = AudioSourceCapturer(source, clock: clock)
        let chunks = try run(capture)
        #expect(capture.statistics.framesLost.source == 24_000)
        let gap = try #require(chunks.firstIndex { $0.discontinuity == .lost(frames: 24_000) })
        #expect((60...160).contains(gap))
    }

    /// A restart begins where the start before ended, whatever the device still has in its buffer.
    @Test func aRestartRepeatsNothing() throws {
        let clock = VirtualClock(start: ms(1000))
        let capture = AudioSourceCapturer(
            ScriptedSound(mono, (0..<5).map { TimelineTests.step(at: Double($0) * 20) }), clock: clock)
        let first = try run(capture)
        let second = try run(capture)
        #expect(first.map(\.timestamp) == [1000, 1020, 1040, 1060, 1080].map { ms($0) })
        // All of it but the last 20 ms, which are within what counts as contiguous.
        #expect(second.map(\.timestamp) == [ms(1100)])
        #expect(second.map(\.firstFrame) == [4800])
        #expect(second.map(\.discontinuity) == [.start])
        #expect(capture.statistics.framesLost.overlapping == 4 * 960)
    }

    @Test func interruptionsAreMeasured() throws {
        let clock = VirtualClock(start: ms(1000))
        let capture = AudioSourceCapturer(
            ScriptedSound(
                mono,
                [
                    TimelineTests.step(at: 0), .interruption(.deviceDisconnected),
                    TimelineTests.step(at: 3020), TimelineTests.step(at: 3040),
                ]), clock: clock)
        let chunks = try run(capture)
        #expect(chunks.map(\.discontinuity) == [.start, .lost(frames: 144_000), nil])
        #expect(capture.statistics.interruptions == 1)
        #expect(capture.statistics.framesLost.source == 144_000)
    }

    @Test func formatsMayChange() throws {
        let clock = VirtualClock(start: ms(1000))
        let other = AudioFormat(.float32, .stereo, sampleRate: 44_100)
        let capture = AudioSourceCapturer(
            ScriptedSound(
                mono,
                [
                    TimelineTests.step(at: 0), .other(other, frames: 882, at: ms(1020)),
                    .other(other, frames: 882, at: ms(1040)),
                ]), clock: clock)
        let chunks = try run(capture)
        #expect(chunks.map(\.discontinuity) == [.start, .formatChanged, nil])
        #expect(chunks.map(\.firstFrame) == [0, 960, 1842])
        #expect(chunks.map(\.timestamp) == [1000, 1020, 1040].map { ms($0) })
        #expect(capture.captureSettings().format == other)
    }

    /// A source that is paced by the clock is left no time to make up for: what is late is left out and counted.
    @Test func generatorsLeaveOutWhatIsLate() throws {
        let clock = VirtualClock(start: ms(1000))
        var source = ScriptedSound(
            mono, pacing: .clock,
            [
                .chunk(frames: 960, at: nil), .chunk(frames: 960, at: nil), .delay(.milliseconds(500)),
                .chunk(frames: 960, at: nil), .chunk(frames: 960, at: nil), .chunk(frames: 960, at: nil),
            ])
        source.onDelay = { clock.advance(by: $0) }
        let capture = AudioSourceCapturer(source, clock: clock)
        let chunks = try run(capture)
        // The third was asked for before the delay, so it is late but whole.
        #expect(chunks.map(\.firstFrame) == [0, 960, 1920, 24_960, 25_920])
        #expect(chunks[3].discontinuity == .lost(frames: 22_080))
        #expect(capture.statistics.framesLost.late == 22_080)
        for chunk in chunks {
            let milliseconds: Double = 1000 + Double(chunk.firstFrame) / 48
            #expect(chunk.timestamp == ms(milliseconds))
        }
    }

    /// An hour of a rate that nanoseconds do not divide has its last frame where it belongs.
    @Test func pacedTimesDoNotDrift() throws {
        let format = AudioFormat(.int16, .mono, sampleRate: 44_100)
        let clock = VirtualClock(start: .zero)
        let steps = Array(repeating: Step.chunk(frames: 1023, at: nil), count: 160_000)
        let capture = AudioSourceCapturer(ScriptedSound(format, pacing: .clock, steps), clock: clock)
        let last = Locked<AudioChunk?>(nil)
        let recorder = RecyclingRecorder { chunk in last.withLock { $0 = chunk } }
        capture.audioCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        #expect(recorder.awaitChunks(160_000))
        let chunk = try #require(last.withLock { $0 })
        #expect(chunk.firstFrame == 159_999 * 1023)
        #expect(chunk.timestamp == MediaTime(nanoseconds: 159_999 * 1023 * 1_000_000_000 / 44_100))
    }

    @Test func sourceTimestampsAreKept() throws {
        let clock = VirtualClock(start: ms(50_000))
        let steps = [7000.0, 7020, 7040, 7160].map { Step.chunk(frames: 960, at: ms($0)) }
        let chunks = try run(AudioSourceCapturer(ScriptedSound(mono, pacing: .sourceTimestamps, steps), clock: clock))
        #expect(chunks.map(\.timestamp) == [50_000, 50_020, 50_040, 50_160].map { ms($0) })
        #expect(chunks[3].discontinuity == .lost(frames: 4800))
        // The last is delivered when its end is due.
        #expect(clock.now == ms(50_180))
    }
}
