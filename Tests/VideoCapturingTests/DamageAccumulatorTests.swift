import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a queue drops is owed to the frame that comes out next.
@Suite struct DamageAccumulatorTests {
    private let buffer: PixelBuffer
    private let spots = (0..<10).map { PixelRect(x: $0, y: 0, width: 1, height: 1) }

    init() throws {
        buffer = try PixelBuffer.black(.i420, width: 2, height: 2, color: .bt601)
    }

    private func frame(_ number: Int, _ damage: [PixelRect]?, isRepeat: Bool = false) -> VideoFrame {
        VideoFrame(
            buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(number)), sequenceNumber: UInt64(number),
            damage: damage, isRepeat: isRepeat)
    }

    /// A queue that has handed out a frame.
    private func used(_ policy: QueuePolicy, capacity: Int = 2) -> FrameQueue {
        let queue = FrameQueue(capacity: capacity, policy: policy)
        queue.push(frame(100, []))
        _ = queue.pop()
        return queue
    }

    private func drain(_ queue: FrameQueue) -> [VideoFrame] {
        queue.close()
        var frames: [VideoFrame] = []
        while let frame = queue.pop() { frames.append(frame) }
        return frames
    }

    @Test(arguments: QueuePolicy.allCases)
    func theFirstFrameIsNewAllOver(policy: QueuePolicy) {
        let queue = FrameQueue(capacity: 4, policy: policy)
        queue.push(frame(0, [], isRepeat: true))
        queue.push(frame(1, [spots[1]]))
        queue.push(frame(2, [], isRepeat: true))
        let frames = drain(queue)
        #expect(frames.map(\.damage) == [nil, [spots[1]], []])
        #expect(frames.map(\.isRepeat) == [false, false, true])
    }

    @Test func theFirstFrameMayBeDropped() {
        let queue = FrameQueue(capacity: 1, policy: .dropOldest)
        queue.push(frame(0, nil))
        queue.push(frame(1, [spots[1]]))
        #expect(drain(queue).map(\.damage) == [nil])
    }

    @Test func replacedFramesAreOwedToTheOneAfterThem() {
        let queue = used(.dropOldest)
        for number in 0..<5 { queue.push(frame(number, [spots[number]])) }
        let frames = drain(queue)
        #expect(frames.map(\.sequenceNumber) == [3, 4])
        #expect(frames.map(\.damage) == [Array(spots[0...3]), [spots[4]]])
    }

    @Test func refusedFramesAreOwedToTheNextThatIsTaken() {
        let queue = used(.dropNewest)
        for number in 0..<5 { queue.push(frame(number, [spots[number]])) }
        #expect(queue.pop()?.damage == [spots[0]])
        queue.push(frame(5, [spots[5]]))
        queue.push(frame(6, [spots[6]]))
        let frames = drain(queue)
        #expect(frames.map(\.sequenceNumber) == [1, 5])
        #expect(frames.map(\.damage) == [[spots[1]], [spots[2], spots[3], spots[4], spots[5]]])
    }

    @Test(arguments: QueuePolicy.allCases)
    func discardedFramesAreOwed(policy: QueuePolicy) {
        let queue = used(policy)
        queue.push(frame(0, [spots[0]]))
        queue.push(frame(1, [spots[1]]))
        queue.discardWaitingFrames()
        queue.push(frame(2, [], isRepeat: true))
        let frames = drain(queue)
        #expect(frames.map(\.damage) == [[spots[0], spots[1]]])
        #expect(frames.map(\.isRepeat) == [false])
    }

    @Test func unknownDamageMakesUnknown() {
        let queue = used(.dropOldest, capacity: 1)
        queue.push(frame(0, nil))
        queue.push(frame(1, [spots[1]]))
        #expect(queue.pop()?.damage == .some(nil))
        queue.push(frame(2, [spots[2]]))
        #expect(queue.pop()?.damage == [spots[2]])
    }

    @Test func aRepeatAfterADroppedPictureIsNone() {
        let queue = used(.dropOldest, capacity: 1)
        queue.push(frame(0, []))
        queue.push(frame(1, [], isRepeat: true))
        let late = queue.pop()
        #expect(late?.isRepeat == false && late?.damage == [])
        queue.push(frame(2, [], isRepeat: true))
        queue.push(frame(3, [], isRepeat: true))
        #expect(queue.pop()?.isRepeat == true)
    }

    @Test func tooManyRectanglesAreAll() {
        let queue = used(.dropOldest, capacity: 1)
        let most = Array(repeating: spots[0], count: DamageAccumulator.maximumRectangles)
        queue.push(frame(0, most))
        queue.push(frame(1, []))
        #expect(queue.pop()?.damage == most)
        queue.push(frame(2, most))
        queue.push(frame(3, [spots[1]]))
        #expect(queue.pop()?.damage == .some(nil))
    }
}

/// What the runtime makes of a source's damage.
@Suite struct DeliveredDamageTests {
    /// Frames whose one damaged rectangle lies at their number.
    private struct Marks: FrameSource {
        let settings = CaptureSettings(
            format: VideoFormat(.nv12, width: 4, height: 4, estimatedFramesPerSecond: 1000))
        var pacing: FramePacing { .device }
        var count = 0

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            count += 1
            guard count <= 40 else { return nil }
            var frame = try context.makeFrame(settings.format) { $0.fill(plane: 0, with: 0) }
            frame.timestamp = MediaTime(nanoseconds: Int64(count) * 10_000_000)
            frame.damage = [PixelRect(x: count, y: 0, width: 1, height: 1)]
            return frame
        }
    }

    private final class Collector: VideoCaptureConsumer {
        let damage = Locked<[[PixelRect]?]>([])
        func consumeFrame(_ frame: VideoFrame) { damage.withLock { $0.append(frame.damage) } }
    }

    @Test func holdsWhatFramesLeftOutHaveChanged() throws {
        let collector = Collector()
        let capture = SourceCapturer(Marks())
        capture.videoCaptureConsumer = collector
        try capture.initCapture()
        // A quarter of the frames.
        capture.adapt(to: CaptureWants(maximumFrameRate: 25))
        try capture.startCapture()
        while capture.isCaptureStarted { usleep(1000) }
        capture.releaseCapture()
        let damage = collector.damage.withLock { $0 }
        #expect(damage.count >= 9)
        #expect(damage.first == .some(nil), "all of its first picture is new to a consumer")
        var next: Int?
        for rects in damage.dropFirst() {
            let places = try #require(rects).map(\.x)
            if let next { #expect(places.first == next) }
            #expect(places == Array(places[0]...places[places.count - 1]))
            next = places[places.count - 1] + 1
        }
    }
}
