import CapturerTestKit
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct PushCapturerTests {
    /// An application that pushes 200 frames a second for as long as the capture lives.
    private func pushedCapture() throws -> PushCapturer {
        let capture = PushCapturer(format: .nv12(width: 8, height: 6))
        let picture = try flatPicture(7)
        try CaptureThread(name: "application") { [weak capture] in
            while capture?.push(picture) != nil { usleep(5000) }
        }
        return capture
    }

    @Test func keepsTheContract() async {
        let report = await ConformanceSuite(name: "push", frameDeadline: .seconds(2)) { try pushedCapture() }
            .runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func takesFramesOnlyWhileStarted() throws {
        let capture = PushCapturer(format: .nv12(width: 8, height: 6))
        #expect(!capture.push(try flatPicture(1)))
        try capture.initCapture()
        #expect(!capture.push(try flatPicture(1)))
        try capture.startCapture()
        #expect(capture.push(try flatPicture(1)))
        try capture.stopCapture()
        #expect(!capture.push(try flatPicture(1)))
    }

    @Test func finishEndsTheStreamAfterWhatWaits() throws {
        let capture = PushCapturer(format: .nv12(width: 8, height: 6), queueCapacity: 8)
        let consumer = CollectingConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        for round in 1...2 {
            try capture.startCapture()
            for value in 0..<3 { capture.push(try flatPicture(UInt8(value))) }
            capture.finish()
            _ = consumer.wait(for: 3 * round)
            while capture.isCaptureStarted { usleep(1000) }
            #expect(capture.state == .stopped(.endOfStream))
        }
        #expect(consumer.collected.map(firstLuma) == [0, 1, 2, 0, 1, 2])
    }

    @Test func droppedFramesLeaveAGap() throws {
        let capture = PushCapturer(format: .nv12(width: 8, height: 6), queueCapacity: 2)
        let gate = ManualResetEvent()
        let consumer = CollectingConsumer(gate: gate)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        for value in 0..<20 { capture.push(try flatPicture(UInt8(value))) }
        gate.raise()
        while consumer.collected.map(firstLuma).last != 19 { usleep(1000) }
        try capture.stopCapture()
        // Numbers are of what was pushed: each frame has the number of its value.
        #expect(consumer.collected.map(\.sequenceNumber) == consumer.collected.map { UInt64(firstLuma($0)) })
        #expect(capture.statistics.framesDropped.source == 20 - UInt64(consumer.collected.count))
    }
}
