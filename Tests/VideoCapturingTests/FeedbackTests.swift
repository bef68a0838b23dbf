import Testing
import VideoCapturing

/// What goes back from consumers to captures.
@Suite struct FeedbackTests {
    /// Waits for input that never comes, and records what it is asked for.
    private struct WaitingSource: FrameSource {
        enum Request: Equatable {
            case wants(CaptureWants)
            case refresh
        }

        let settings = CaptureSettings(format: .nv12(width: 8, height: 6))
        var pacing: FramePacing { .device }
        let requests: Locked<[Request]>
        var isRefreshDue = false

        mutating func adapt(to wants: CaptureWants) { record(.wants(wants)) }
        mutating func refresh() {
            isRefreshDue = true
            record(.refresh)
        }
        private func record(_ request: Request) {
            requests.withLock { $0.append(request) }
            requests.wakeAll()
        }

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            if isRefreshDue {
                isRefreshDue = false
                return SourceFrame(try flatPicture(7))
            }
            _ = context.waitForInput(-1)
            return nil
        }
    }

    /// Wants that a test sets.
    private final class Wanting: FeedbackConsumer {
        let feedback = Locked<CaptureFeedback?>(nil)
        let frames = Locked(0)
        func connectFeedback(_ feedback: CaptureFeedback?) { self.feedback.withLock { $0 = feedback } }
        func consumeFrame(_ frame: VideoFrame) {
            frames.withLock { $0 += 1 }
            frames.wakeAll()
        }
        func want(_ wants: CaptureWants) { feedback.withLock { $0 }?.updateWants(wants) }
        func refresh() { feedback.withLock { $0 }?.requestRefreshFrame() }
    }

    private let deadline = MonotonicClock().now.advanced(by: .seconds(60))

    @Test func newWantsWakeASourceThatWaits() throws {
        let requests = Locked<[WaitingSource.Request]>([])
        let publisher = VideoPublisher(SourceCapturer(WaitingSource(requests: requests)))
        let consumer = Wanting()
        try publisher.add(consumer)
        try publisher.start()
        defer { publisher.close() }
        for pixels in [1000, 2000, 3000] {
            let wants = CaptureWants(maximumPixelCount: pixels)
            consumer.want(wants)
            #expect(requests.wait(until: deadline) { $0.last == .wants(wants) ? () : nil } != nil)
        }
        // It is still running, and a refresh gives a frame though nothing has changed.
        #expect(publisher.capture.state == .running)
        consumer.refresh()
        #expect(consumer.frames.wait(until: deadline) { $0 == 1 ? () : nil } != nil)
    }

    /// A counter in the merged wants once lost the request when another consumer had left.
    @Test func aRefreshIsNotLostWhenAnotherConsumerLeaves() throws {
        let requests = Locked<[WaitingSource.Request]>([])
        let publisher = VideoPublisher(SourceCapturer(WaitingSource(requests: requests)))
        let first = Wanting()
        let second = Wanting()
        let place = try publisher.add(first)
        try publisher.add(second)
        try publisher.start()
        defer { publisher.close() }
        for _ in 0..<3 { first.refresh() }
        #expect(requests.wait(until: deadline) { $0.contains(.refresh) ? () : nil } != nil)
        publisher.remove(place)
        #expect(first.feedback.withLock { $0 == nil })
        let before = requests.withLock { $0.count { $0 == .refresh } }
        second.refresh()
        #expect(requests.wait(until: deadline) { $0.count { $0 == .refresh } > before ? () : nil } != nil)
    }

    @Test func wantsBeforeTheStartAreHeard() throws {
        let requests = Locked<[WaitingSource.Request]>([])
        let publisher = VideoPublisher(SourceCapturer(WaitingSource(requests: requests)))
        let consumer = Wanting()
        try publisher.add(consumer)
        consumer.want(CaptureWants(maximumPixelCount: 5))
        consumer.refresh()
        try publisher.start()
        defer { publisher.close() }
        #expect(consumer.frames.wait(until: deadline) { $0 == 1 ? () : nil } != nil)
        #expect(requests.withLock { $0 } == [.wants(CaptureWants(maximumPixelCount: 5)), .refresh])
    }

    /// An idle server, which asks for one frame per second, once turned a recording into one frame per second.
    @Test func eachConsumerGetsItsOwnRate() throws {
        let (capture, publisher) = try startedPublisher()
        let recording = CollectingConsumer()
        let idle = CollectingConsumer()
        try publisher.add(recording, queue: .init(capacity: 4, policy: .block))
        let place = try publisher.add(idle, queue: .init(capacity: 4, policy: .block))
        place.updateWants(CaptureWants(maximumFrameRate: 10))
        for index in 0..<100 {
            var frame = VideoFrame(
                buffer: try flatPicture(UInt8(index)), timestamp: MediaTime(nanoseconds: Int64(index + 1) * 10_000_000))
            frame.damage = [PixelRect(x: index % 8, y: 0, width: 1, height: 1)]
            #expect(capture.push(frame))
        }
        #expect(recording.wait(for: 100).count == 100)
        try publisher.stop()
        #expect(idle.collected.map(firstLuma) == Array(stride(from: UInt8(0), to: 100, by: 10)))
        // What the frames in between have changed is not forgotten.
        for frame in idle.collected.dropFirst() { #expect(frame.damage == nil || frame.damage!.count == 10) }
        #expect(idle.collected.last?.damage?.count == 10)
        publisher.close()
    }

    @Test func aNewConsumerRaisesWhatTheCaptureGives() throws {
        let requests = Locked<[WaitingSource.Request]>([])
        let publisher = VideoPublisher(SourceCapturer(WaitingSource(requests: requests)))
        let consumer = Wanting()
        try publisher.add(consumer)
        try publisher.start()
        defer { publisher.close() }
        consumer.want(CaptureWants(maximumFrameRate: 1))
        #expect(
            requests.wait(until: deadline) { $0.last == .wants(CaptureWants(maximumFrameRate: 1)) ? () : nil } != nil)
        try publisher.add(CollectingConsumer())
        #expect(requests.wait(until: deadline) { $0.last == .wants(CaptureWants()) ? () : nil } != nil)
    }

    @Test func pushedFramesKeepWhatIsKnownOfThem() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer)
        var frame = VideoFrame(buffer: try flatPicture(1), timestamp: MediaTime(nanoseconds: 1))
        let jpeg = try flatPicture(2)
        frame.compressed = jpeg
        frame.orientation = .left
        frame.isMirrored = true
        frame.color = .bt709
        frame.estimatedCaptureDelay = .milliseconds(3)
        frame.metadata = FrameAttributes.Metadata([1, 2, 3])
        #expect(capture.push(frame))
        let seen = try #require(consumer.wait(for: 1).first)
        #expect(seen.compressed === jpeg)
        var attributes = seen.attributes
        attributes.estimatedFrameRate = nil
        #expect(attributes == frame.attributes)
        publisher.close()
    }

    /// Takes its time over the first of two wants.
    private final class SlowCapture: ForwardingVideoCapture {
        let forwardedCapture = SourceCapturer(WaitingSource(requests: Locked([])))
        let adapted = Locked<[Int?]>([])
        let (hasBegun, mayEnd) = (ManualResetEvent(), ManualResetEvent())

        func adapt(to wants: CaptureWants) {
            if wants.maximumPixelCount == 1000 {
                hasBegun.raise()
                mayEnd.wait()
            }
            adapted.withLock { $0.append(wants.maximumPixelCount) }
            adapted.wakeAll()
        }
    }

    @Test func olderWantsNeverReplaceNewerOnes() throws {
        let capture = SlowCapture()
        let publisher = VideoPublisher(capture)
        defer { publisher.close() }
        let consumer = Wanting()
        try publisher.add(consumer)
        try CaptureThread(name: "older") { consumer.want(CaptureWants(maximumPixelCount: 1000)) }
        capture.hasBegun.wait()
        consumer.want(CaptureWants(maximumPixelCount: 2000))
        capture.mayEnd.raise()
        #expect(capture.adapted.wait(until: deadline) { Set($0).isSuperset(of: [1000, 2000]) ? () : nil } != nil)
        #expect(capture.adapted.withLock { $0.last } == 2000)
    }
}
