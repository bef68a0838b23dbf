import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

@Suite struct PacingTests {
    private let start = Int64(1_000_000_000)

    private func run(_ source: sending ScriptedSource, clock: any CaptureClock) throws -> (
        [VideoFrame], CaptureStatistics
    ) {
        let consumer = RecordingConsumer(limit: 200_000)
        let capture = SourceCapturer(source, clock: clock)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        defer { capture.releaseCapture() }
        return (consumer.frames, capture.statistics)
    }

    @Test func anHourWithoutDrift() throws {
        // 107892 frames are an hour of 30000/1001 to the frame; only the times of a few are kept.
        final class Times: VideoCaptureConsumer {
            let state = Locked<(count: Int64, wrong: Int64, last: MediaTime)>((0, 0, .zero))
            func consumeFrame(_ frame: VideoFrame) {
                state.withLock { state in
                    let due = Int64((Int128(state.count) * 1001 * 1_000_000_000 + 15_000) / 30_000)
                    if frame.timestamp.nanoseconds != 1_000_000_000 + due { state.wrong += 1 }
                    state.count += 1
                    state.last = frame.timestamp
                }
            }
        }
        let rate = FrameRate(30000, per: 1001)!
        var source = ScriptedSource(pacing: .rate(rate))
        source.onFrame = { _, index, _ in index < 107_893 }
        let consumer = Times()
        let capture = SourceCapturer(source, clock: VirtualClock(start: MediaTime(nanoseconds: 1_000_000_000)))
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        // Milliseconds, but for sanitizers.
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        let (count, wrong, last) = consumer.state.withLock { $0 }
        #expect(count == 107_893)
        #expect(wrong == 0)
        #expect(last.nanoseconds == 1_000_000_000 + 3_599_996_400_000)
        #expect(capture.statistics.measuredFrameRate == rate)
        #expect(capture.statistics.framesDropped.total == 0)
    }

    @Test func slowSourceSkipsMoments() throws {
        let clock = VirtualClock()
        var source = ScriptedSource(pacing: .rate(100))
        source.onFrame = { _, index, _ in
            // Frame 2 takes 35 ms of the 10 that it has.
            if index == 2 { clock.advance(by: .milliseconds(35)) }
            return index < 5
        }
        let (frames, statistics) = try run(source, clock: clock)
        #expect(frames.map { ($0.timestamp.nanoseconds - start) / 1_000_000 } == [0, 10, 20, 50, 60])
        #expect(frames.map(\.sequenceNumber) == [0, 1, 2, 5, 6])
        #expect(statistics.framesDropped.late == 2)
        #expect(statistics.framesDropped.total == 2)
    }

    @Test func ownTimesAreKept() throws {
        for pacing in [FramePacing.sourceTimestamps, .sourceTimestampsWithoutWaiting] {
            let clock = VirtualClock()
            var source = ScriptedSource(pacing: pacing)
            let offsets: [Int64] = [0, 40, 45, 45, 30, 100]
            source.onFrame = { _, index, frame in
                guard index < offsets.count else { return false }
                frame.timestamp = MediaTime(nanoseconds: 9_000_000_000 + offsets[index] * 1_000_000)
                return true
            }
            let (frames, _) = try run(source, clock: clock)
            let ms = Int64(1_000_000)
            // What does not increase is moved to just after the frame before.
            #expect(
                frames.map { $0.timestamp.nanoseconds - start } == [
                    0, 40 * ms, 45 * ms, 45 * ms + 1, 45 * ms + 2, 100 * ms,
                ])
            #expect((clock.now.nanoseconds - start) / ms == (pacing == .sourceTimestamps ? 100 : 0))
        }
    }

    @Test func ratesFollowWants() throws {
        let clock = VirtualClock()
        let held = Locked<SourceCapturer?>(nil)
        defer { held.withLock { $0 = nil } }
        var source = ScriptedSource(pacing: .rate(100))
        source.onFrame = { _, index, _ in
            if index == 2 { held.withLock { $0 }?.adapt(to: CaptureWants(maximumFrameRate: 20)) }
            if index == 4 { held.withLock { $0 }?.adapt(to: CaptureWants()) }
            return index < 7
        }
        let consumer = RecordingConsumer()
        let capture = SourceCapturer(source, clock: clock)
        held.withLock { $0 = capture }
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        // A lower rate begins where the next frame of the old one was due, a higher one an interval after the last frame.
        #expect(
            consumer.frames.map { ($0.timestamp.nanoseconds - start) / 1_000_000 } == [0, 10, 20, 30, 80, 90, 100])
        #expect(capture.statistics.requestedFrameRate == 100)
        #expect(capture.statistics.framesDropped.total == 0)
    }

    /// As a viewer comes to an encoder that was idle.
    @Test func aHigherRateDoesNotWaitForTheNextFrameOfALowOne() throws {
        let clock = VirtualClock()
        let held = Locked<SourceCapturer?>(nil)
        defer { held.withLock { $0 = nil } }
        var source = ScriptedSource(pacing: .rate(100))
        source.onFrame = { _, index, _ in
            if index == 2 {
                // The frame took long, and its rate is raised: the next one is due at once.
                clock.advance(by: .milliseconds(25))
                held.withLock { $0 }?.adapt(to: CaptureWants())
            }
            return index < 5
        }
        let consumer = RecordingConsumer()
        let capture = SourceCapturer(source, clock: clock)
        held.withLock { $0 = capture }
        capture.videoCaptureConsumer = consumer
        capture.adapt(to: CaptureWants(maximumFrameRate: FrameRate(1, per: 3600)))
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        let hour = 3_600_000
        #expect(
            consumer.frames.map { Int($0.timestamp.nanoseconds - start) / 1_000_000 } == [
                0, hour, 2 * hour, 2 * hour + 25, 2 * hour + 35,
            ])
        #expect(capture.statistics.framesDropped.total == 0)
    }
}
