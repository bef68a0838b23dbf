import CLibV4L2
import TestTools
import Testing
import V4L2Support
import VideoCapturing

import struct TestTools.Stopwatch

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A capture that waits for frames in `VIDIOC_DQBUF`: what `poll` reports elsewhere must be handled here as well.
@Suite struct DequeueWaitingTests {
    private func run(keeps: Int = 0) throws -> CaptureRun {
        let run = CaptureRun(StreamingMachine(waitsInDequeue: true))
        run.probe.set { $0.keeps = keeps }
        try run.start()
        try #require(run.probe.waitForMore(10))
        return run
    }

    /// Sooner than the camera's silence would have ended the wait, which is after half a second.
    private let atOnce = Duration.milliseconds(400)

    private func isWaiting(_ run: CaptureRun) -> Bool { run.camera.get { !$0.waiting.isEmpty } }

    /// One `VIDIOC_DQBUF` and one `VIDIOC_QBUF` for each frame, `poll` once in half a second for events, and nothing
    /// else.
    ///
    /// A slow machine changes nothing about that: the camera counts its frames and the calls at the same moment, and
    /// not what is delivered meanwhile; and a frame whose timestamp is not valid is never stale, so `poll` is not asked
    /// for the newer one that would replace it.
    @Test func asksTwiceForEachFrame() throws {
        let run = try run()
        #expect(isWaiting(run))
        run.camera.set { $0.alter = { $0.flags = UInt32(V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN) } }
        try #require(run.probe.waitForMore(3))
        let began = MonotonicClock().now
        let before = run.camera.get { (frames: $0.framesGiven, calls: $0.calls) }
        try #require(run.probe.waitForMore(100))
        let after = run.camera.get { (frames: $0.framesGiven, calls: $0.calls) }
        let halfSeconds = (MonotonicClock().now - began).nanoseconds / 500_000_000
        let frames = after.frames - before.frames
        var calls = after.calls.merging(before.calls, uniquingKeysWith: -).filter { $0.value != 0 }
        #expect(frames >= 99)
        // The capture may have been between the two calls of a frame at either moment.
        #expect(abs(calls.removeValue(forKey: clibv4l2_DQBUF)! - frames) <= 1)
        #expect(abs(calls.removeValue(forKey: clibv4l2_QBUF)! - frames) <= 1)
        #expect(calls.removeValue(forKey: FakeCamera.pollCall) ?? 0 <= halfSeconds + 2)
        #expect(calls == [:])
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    @Test func onlyWithDriversThatAreKnown() throws {
        let run = try CaptureRun.running(frames: 20)
        #expect(!isWaiting(run))
    }

    @Test func stopsAtOnceAndStartsAgain() throws {
        let run = try run()
        for _ in 0..<3 {
            run.camera.set { $0.isSilent = true }
            pause(.milliseconds(20))
            #expect(try run.stop() < atOnce)
            #expect(!isWaiting(run) && run.capture.statistics.interruptions == 0)
            run.camera.set { $0.isSilent = false }
            try run.start()
            #expect(run.probe.waitForMore(10))
        }
        #expect(run.leak == nil)
    }

    @Test func isReleasedAtOnce() throws {
        let run = try run()
        run.camera.set { $0.isSilent = true }
        pause(.milliseconds(20))
        let watch = Stopwatch()
        #expect(run.leak == nil)
        #expect(watch.time < atOnce)
    }

    @Test func restartsACameraThatStalls() throws {
        let run = try run()
        let watch = Stopwatch()
        run.camera.set { $0.isSilent = true }
        #expect(run.waitForEvent(.restarting(attempt: 1, of: 4)))
        let time = MonotonicClock().now - (run.probe.notes.last?.timestamp ?? .zero)
        #expect(time >= .milliseconds(500) && watch.time < .milliseconds(1500), "\(time)")
        #expect(run.capture.state == .interrupted(.stalled))
        run.camera.set { $0.isSilent = false }
        #expect(run.probe.waitForMore(10))
        #expect(run.capture.state == .running && run.statistics.restarts == 1)
        #expect(run.capture.statistics.interruptions == 1)
        #expect(isWaiting(run))
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    /// The time that the consumer takes is none of the camera's.
    @Test func takesASlowConsumerForNoStall() throws {
        let run = try run()
        run.probe.set { $0.delay = .milliseconds(1200) }
        #expect(run.probe.waitForMore(2))
        run.probe.set { $0.delay = .zero }
        #expect(run.probe.waitForMore(20))
        #expect(run.statistics.restarts == 0 && run.capture.statistics.interruptions == 0)
        #expect(run.leak == nil)
    }

    @Test(arguments: [3, 20])
    func letsFramesBeKept(count: Int) throws {
        let run = try run(keeps: count)
        #expect(run.probe.waitForMore(100))
        #expect(isWaiting(run) && run.statistics.restarts == 0)
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    @Test func goesOnWhenTheCameraIsBack() throws {
        let run = try run()
        run.machine.unplug()
        #expect(eventually { !run.camera.isOpen }, "the node is held")
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        run.machine.plug(as: "video1")
        #expect(run.probe.waitForMore(10))
        #expect(isWaiting(run) && run.statistics.reconnects == 1)
        #expect(run.probe.disorder == nil && run.leak == nil)
    }

    /// A driver that ends its stream first and goes then says only that nothing streams.
    @Test func findsOutThatTheCameraIsGone() throws {
        let run = try run()
        run.camera.set { state in
            state.refusals = [
                .init(request: clibv4l2_DQBUF, number: EINVAL), .init(request: clibv4l2_QUERYCAP, number: ENODEV),
            ]
        }
        #expect(run.waitForEvent(.disconnected))
    }

    /// A driver that answers although it is to wait is waited for by `poll` again; one that is always interrupted is
    /// restarted.
    @Test(arguments: [EAGAIN, EINTR])
    func doesNotSpinOnOneThatDoesNotWait(number: Int32) throws {
        let run = try run()
        run.camera.set { $0.refusals = [.init(request: clibv4l2_DQBUF, times: .max, number: number)] }
        // A request that is interrupted is made a hundred times.
        #expect(run.makesFewerCalls(than: number == EINTR ? 8000 : 400, in: .milliseconds(300)))
        run.camera.set { $0.refusals = [] }
        #expect(run.probe.waitForMore(5))
        #expect(isWaiting(run) == (number == EINTR) && run.leak == nil)
    }

    @Test(arguments: [EINTR, EIO, EBUSY])
    func stopsThoughTheDriverRefusesAtFirst(number: Int32) throws {
        let run = try run()
        run.camera.set {
            $0.isSilent = true
            $0.refusals = [.init(request: clibv4l2_STREAMOFF, times: 2, number: number)]
        }
        #expect(try run.stop() < .milliseconds(500))
        #expect(run.leak == nil)
    }
}
