import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

import struct TestTools.Stopwatch

@Suite struct SourceCapturerTests {
    /// Hangs before one frame until `gate` is raised, whatever is ordered.
    private func stuckSource(at frame: Int, isStuck: ManualResetEvent, gate: ManualResetEvent) -> ScriptedSource {
        var source = ScriptedSource()
        source.onFrame = { _, index, _ in
            if index == frame {
                isStuck.raise()
                gate.wait()
            }
            return true
        }
        return source
    }

    @Test func sourceThatIgnoresStop() throws {
        let consumer = NullConsumer()
        let (isStuck, gate) = (ManualResetEvent(), ManualResetEvent())
        let capture = SourceCapturer(stuckSource(at: 2, isStuck: isStuck, gate: gate), timeout: .milliseconds(60))
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        isStuck.wait()
        for _ in 1...2 {
            #expect { try capture.stopCapture() } throws: { ($0 as? CaptureError)?.code == .stalled }
            #expect(!capture.isCaptureStarted)
            guard case .stopped(.error(let error)) = capture.state else {
                Issue.record("\(capture.state)")
                return
            }
            #expect(error.code == .stalled)
        }
        #expect { try capture.startCapture() } throws: { ($0 as? CaptureError)?.code == .stalled }
        #expect(consumer.count == 2)
        // It comes back, and all is well again; the frame that it held is not delivered.
        gate.raise()
        #expect(
            eventually {
                do { try capture.startCapture() } catch { return false }
                return true
            })
        #expect(consumer.waitForFrames(4))
        try capture.stopCapture()
        #expect(capture.state == .stopped(.user))
        capture.releaseCapture()
        #expect(capture.state == .idle)
    }

    @Test func releaseDoesNotHang() throws {
        let (isStuck, gate) = (ManualResetEvent(), ManualResetEvent())
        let capture = SourceCapturer(stuckSource(at: 0, isStuck: isStuck, gate: gate), timeout: .milliseconds(60))
        try capture.initCapture()
        try capture.startCapture()
        isStuck.wait()
        #expect(Stopwatch.time { capture.releaseCapture() } < .seconds(2))
        gate.raise()
        #expect(eventually { capture.state == .idle })
        try capture.initCapture()
        capture.releaseCapture()
    }

    @Test func openThatHangs() throws {
        let gate = ManualResetEvent()
        var source = ScriptedSource()
        source.onOpen = { gate.wait() }
        let capture = SourceCapturer(source, timeout: .milliseconds(40))
        #expect { try capture.initCapture() } throws: { ($0 as? CaptureError)?.code == .stalled }
        gate.raise()
        #expect(
            eventually {
                do { try capture.initCapture() } catch { return false }
                return true
            })
        try capture.startCapture()
        capture.releaseCapture()
        #expect(capture.state == .idle)
    }

    @Test func endsWhenDestroyed() throws {
        let closes = Locked(0)
        var source = ScriptedSource()
        source.onClose = { closes.withLock { $0 += 1 } }
        let consumer = NullConsumer()
        var capture: SourceCapturer? = SourceCapturer(source)
        capture?.videoCaptureConsumer = consumer
        try capture?.initCapture()
        try capture?.startCapture()
        #expect(consumer.waitForFrames(2))
        capture = nil
        #expect(closes.withLock { $0 } == 1)
        let count = consumer.count
        #expect(!consumer.waitForFrames(count + 1, timeout: .milliseconds(20)))
    }

    @Test func releaseInsideConsumer() throws {
        final class Releaser: VideoCaptureConsumer {
            let capture = Locked<SourceCapturer?>(nil)
            func consumeFrame(_ frame: VideoFrame) { capture.withLock { $0 }?.releaseCapture() }
        }
        let consumer = Releaser()
        let capture = SourceCapturer(ScriptedSource())
        consumer.capture.withLock { $0 = capture }
        defer { consumer.capture.withLock { $0 = nil } }
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .idle })
        #expect(capture.statistics.framesDelivered == 1)
    }

    @Test func framesLeftOutForTheRateKeepTheirLosses() throws {
        var source = ScriptedSource(pacing: .device)
        source.onFrame = { context, index, frame in
            frame.timestamp = MediaTime(nanoseconds: 1_000_000_000 + Int64(index) * 10_000_000)
            if index == 3 { frame.lostBefore = 5 }
            return index < 40
        }
        let consumer = RecordingConsumer()
        let capture = SourceCapturer(source)
        capture.videoCaptureConsumer = consumer
        capture.adapt(to: CaptureWants(maximumFrameRate: 25))
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        // 100 frames a second down to 25; what is not wanted is not lost, but what the driver lost is.
        #expect(consumer.count == 10)
        let numbers = consumer.frames.map(\.sequenceNumber)
        #expect(numbers == [0] + (6..<15).map { UInt64($0) })
        #expect(capture.statistics.framesDropped.total == 5)
    }

    /// Losses count once, and take their numbers, whether a frame carries them, a stop overtakes it, or none follows.
    @Test func lossesBeforeAStopCount() throws {
        var source = ScriptedSource(pacing: .device)
        let isWaiting = Locked(false)
        source.onFrame = { context, index, frame in
            guard index == 2 else { return index < 4 }
            context.countLosses(lost: 1, corrupt: 4)
            frame.lostBefore = 2
            frame.corruptBefore = 3
            isWaiting.withLock { $0 = true }
            context.wait(until: MediaTime(nanoseconds: .max))
            return true
        }
        let consumer = RecordingConsumer()
        let capture = SourceCapturer(source)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { isWaiting.withLock { $0 } })
        // At once, though no frame comes.
        #expect(capture.statistics.framesDropped.source == 1 && capture.statistics.framesDropped.corrupt == 4)
        try capture.stopCapture()
        #expect(capture.statistics.framesDropped.source == 3 && capture.statistics.framesDropped.corrupt == 7)
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        #expect(consumer.frames.map(\.sequenceNumber) == [0, 1, 12])
        #expect(capture.statistics.framesDropped.total == 10)
        capture.releaseCapture()
    }

    @Test func measuresEachStartByItself() throws {
        let clock = VirtualClock()
        let consumer = RecordingConsumer()
        let capture = FaultInjectingCapturer(script: [10: [.endOfStream], 20: [.endOfStream]], clock: clock)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        for _ in 1...2 {
            try capture.startCapture()
            #expect(eventually { capture.state == .stopped(.endOfStream) })
            clock.advance(by: .seconds(100))
        }
        #expect(consumer.count == 19)
        #expect(consumer.frames.allSatisfy { $0.estimatedFrameRate == nil || $0.estimatedFrameRate == 200 })
    }

    /// Eight threads call what they like, whenever they like; in the end all is in order.
    @Test func survivesConcurrentCalls() throws {
        let consumer = SlowConsumer(delay: .microseconds(200))
        let capture = SourceCapturer(ScriptedSource(), timeout: .seconds(20))
        capture.videoCaptureConsumer = consumer
        let limit = MonotonicClock().now.advanced(by: .seconds(1))
        let threads = try (0..<8).map { number in
            try CaptureThread(name: "stress") {
                var random = SystemRandomNumberGenerator()
                while MonotonicClock().now < limit {
                    do throws(CaptureError) {
                        switch Int.random(in: 0..<8, using: &random) {
                        case 0, 1: try capture.initCapture()
                        case 2, 3, 4: try capture.startCapture()
                        case 5, 6: try capture.stopCapture()
                        default: capture.releaseCapture()
                        }
                    } catch {
                        if error.code != .invalidState { Issue.record("thread \(number): \(error)") }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        try capture.initCapture()
        try capture.startCapture()
        #expect(consumer.waitForFrames(consumer.count + 3))
        try capture.stopCapture()
        let count = consumer.count
        #expect(!consumer.isRunning && !consumer.haveCallsOverlapped)
        #expect(!consumer.waitForFrames(count + 1, timeout: .milliseconds(20)))
        capture.releaseCapture()
        #expect(capture.state == .idle)
    }
}
