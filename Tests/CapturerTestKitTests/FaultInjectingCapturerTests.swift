import CapturerTestKit
import Testing
import VideoCapturing

@Suite struct FaultInjectingCapturerTests {
    private let interval = Int64(5_000_000)

    /// The frames of one start until it ends by itself, on a virtual clock.
    private func frames(
        _ script: [Int: [FaultInjectingCapturer.Fault]], count: Int = 8
    ) throws -> (frames: [VideoFrame], capture: FaultInjectingCapturer) {
        let consumer = RecordingConsumer()
        let capture = FaultInjectingCapturer(
            script: script, frameCount: count, clock: VirtualClock(start: MediaTime(nanoseconds: 1_000_000_000)))
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        while capture.isCaptureStarted, MonotonicClock().now < limit {}
        return (consumer.frames, capture)
    }

    private func times(_ frames: [VideoFrame]) -> [Int64] {
        frames.map { ($0.timestamp.nanoseconds - 1_000_000_000) * 10 / interval }
    }

    @Test func withoutFaultsAllIsRight() throws {
        let (frames, capture) = try frames([:])
        #expect(capture.state == .stopped(.endOfStream))
        #expect(times(frames) == [0, 10, 20, 30, 40, 50, 60, 70])
        #expect(frames.map(\.sequenceNumber) == Array(0..<8))
        for (index, frame) in frames.enumerated() { #expect(TestPicture.matches(frame.buffer, index: index)) }
        #expect(!TestPicture.matches(frames[0].buffer, index: 1))
    }

    @Test func shiftsFrames() throws {
        let (frames, _) = try frames([2: [.late(.milliseconds(2))], 5: [.early(.milliseconds(2))]])
        #expect(times(frames) == [0, 10, 24, 30, 40, 46, 60, 70])
    }

    @Test func burstsAndGaps() throws {
        let (frames, capture) = try frames([2: [.burst(3)], 6: [.gap(4), .corrupt(2)]])
        // Three at once, each a nanosecond after the last; then in time again.
        #expect(times(frames) == [0, 10, 10, 10, 40, 50, 60, 70])
        #expect(frames.map(\.sequenceNumber) == [0, 1, 2, 3, 4, 5, 12, 13])
        #expect(capture.statistics.framesDropped.source == 4)
        #expect(capture.statistics.framesDropped.corrupt == 2)
    }

    @Test func changesShapes() throws {
        let (frames, _) = try frames([
            1: [.size(width: 6, height: 2)], 2: [.pixelFormat(.i420)], 3: [.padding(5)],
        ])
        #expect(frames[1].width == 6 && frames[1].height == 2)
        #expect(frames[2].pixelFormat == .i420)
        #expect(frames[3].buffer.planes.map(\.bytesPerRow) == [21, 16])
        #expect(frames[4].format == frames[0].format || frames[0].estimatedFrameRate == nil)
        for (index, frame) in frames.enumerated() { #expect(TestPicture.matches(frame.buffer, index: index)) }
    }

    @Test func failsAndGoesOn() throws {
        let error = CaptureError(.deviceLost, operation: "read", message: "Plug it in again.")
        let (frames, capture) = try frames([3: [.failure(error)]])
        #expect(frames.count == 3)
        #expect(capture.state == .stopped(.deviceLost(error)))
        let consumer = RecordingConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.startCapture()
        #expect(consumer.waitForFrames(4))
        #expect(TestPicture.matches(consumer.frames[0].buffer, index: 4))
    }

    @Test func interrupts() throws {
        let (frames, capture) = try frames([3: [.interruption(.noSignal, .milliseconds(50))]])
        #expect(times(frames) == [0, 10, 20, 120, 130, 140, 150, 160])
        #expect(capture.statistics.interruptions == 1)
    }

    @Test func refusesToOpenAndStart() throws {
        let busy = CaptureError(.deviceBusy, operation: "open", message: "Close the other program.")
        let capture = FaultInjectingCapturer(openFailures: [busy], startFailures: [busy])
        #expect(throws: busy) { try capture.initCapture() }
        try capture.initCapture()
        #expect(throws: busy) { try capture.startCapture() }
        try capture.startCapture()
        capture.releaseCapture()
    }
}
