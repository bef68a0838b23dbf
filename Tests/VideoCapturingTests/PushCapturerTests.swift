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
        let report = await ConformanceSuite(name: "push") { try pushedCapture() }
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

    /// All of a frame but what the capture itself gives: its number and the measured rate.
    @Test func keepsAllThatIsKnownOfAFrame() throws {
        let capture = PushCapturer(format: .nv12(width: 8, height: 6), queueCapacity: 8)
        let consumer = CollectingConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        defer { capture.releaseCapture() }
        let jpeg = try [0xFF, 0xD8, 0xFF, 0xD9 as UInt8].withUnsafeBytes { bytes in
            try PixelBuffer.compressed(bytes, as: .mjpeg, width: 8, height: 6)
        }
        let color = ColorDescription.jpeg
        let damage = [PixelRect(x: 2, y: 0, width: 4, height: 2)]
        let whole = VideoFrame(
            buffer: try flatPicture(2), compressed: jpeg, timestamp: MediaTime(nanoseconds: 2000), orientation: .left,
            isMirrored: true, color: color, estimatedCaptureDelay: .milliseconds(3), damage: damage,
            metadata: FrameAttributes.Metadata([7]))
        var again = whole
        again.timestamp = MediaTime(nanoseconds: 3000)
        again.damage = []
        again.isRepeat = true
        // To a consumer that has seen nothing, all of the first picture is new.
        capture.push(try flatPicture(1), timestamp: MediaTime(nanoseconds: 1000))
        capture.push(whole)
        capture.push(again)
        let frames = consumer.wait(for: 3)
        try #require(frames.count == 3)
        for frame in frames.dropFirst() {
            #expect(frame.buffer === whole.buffer)
            #expect(frame.compressed === jpeg)
            #expect(frame.orientation == .left)
            #expect(frame.isMirrored)
            #expect(frame.color == color)
            #expect(frame.estimatedCaptureDelay == .milliseconds(3))
            #expect(frame.metadata == FrameAttributes.Metadata([7]))
        }
        #expect(frames.map(\.timestamp.nanoseconds) == [1000, 2000, 3000])
        #expect(frames.map(\.damage) == [nil, damage, []])
        #expect(frames.map(\.isRepeat) == [false, false, true])
    }

    /// A repeat of a picture that was dropped is the first that the consumer sees of it.
    @Test func aRepeatOfADroppedPictureIsNone() throws {
        let capture = PushCapturer(format: .nv12(width: 8, height: 6), queueCapacity: 1)
        let gate = ManualResetEvent()
        let consumer = CollectingConsumer(gate: gate)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        defer { capture.releaseCapture() }
        capture.push(try flatPicture(0))
        // The consumer is busy with it from now on.
        while capture.statistics.framesDelivered == 0 { usleep(1000) }
        let last = try flatPicture(9)
        capture.push(VideoFrame(buffer: last, timestamp: MonotonicClock().now))
        capture.push(VideoFrame(buffer: last, timestamp: MonotonicClock().now, damage: [], isRepeat: true))
        gate.raise()
        while consumer.collected.last?.buffer !== last { usleep(1000) }
        let shown = try #require(consumer.collected.last)
        #expect(!shown.isRepeat && shown.damage == nil)
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
