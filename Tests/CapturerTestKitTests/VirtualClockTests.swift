import CapturerTestKit
import Testing
import VideoCapturing

@Suite struct VirtualClockTests {
    @Test func automaticTimeJumpsToTheDeadline() {
        let clock = VirtualClock(start: .zero)
        clock.wait(until: MediaTime(nanoseconds: 3_600_000_000_000), or: ManualResetEvent())
        #expect(clock.now == MediaTime(nanoseconds: 3_600_000_000_000))
        clock.wait(until: .zero, or: ManualResetEvent())
        #expect(clock.now == MediaTime(nanoseconds: 3_600_000_000_000))
    }

    @Test func manualTimeWakesSleepers() throws {
        let clock = VirtualClock(.manual, start: .zero)
        let consumer = RecordingConsumer()
        let capture = SourceCapturer(Gradient(), clock: clock)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        for index in 1...5 {
            #expect(consumer.waitForFrames(index))
            let due = try #require(clock.awaitSleeper())
            #expect(due == MediaTime(nanoseconds: Int64(index) * 5_000_000))
            #expect(consumer.count == index)
            // Just before the time nothing comes.
            clock.advance(by: .nanoseconds(4_999_999))
            #expect(clock.awaitSleeper() == due)
            #expect(consumer.count == index)
            clock.advance(by: .nanoseconds(1))
        }
        try capture.stopCapture()
        #expect(clock.awaitSleeper(timeout: .zero) == nil)
        capture.releaseCapture()
    }

    @Test func wakeEndsAManualWait() {
        let clock = VirtualClock(.manual)
        let wake = ManualResetEvent()
        Task.detached {
            // Raised beforehand or during the wait: either way it ends.
            _ = clock.awaitSleeper()
            wake.raise()
        }
        clock.wait(until: MediaTime(nanoseconds: .max), or: wake)
        #expect(wake.isRaised)
    }
}
