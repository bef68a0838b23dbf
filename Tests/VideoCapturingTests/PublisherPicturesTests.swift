import Testing
import VideoCapturing

/// What a publisher does to the pictures: mute, repeat, exchange of the capture, wants.
@Suite struct PublisherPicturesTests {
    @Test func muteIsReallyBlack() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        capture.push(try flatPicture(200))
        _ = consumer.wait(for: 1)
        publisher.mute()
        capture.push(try flatPicture(201), metadata: FrameAttributes.Metadata([1]))
        _ = consumer.wait(for: 2)
        publisher.unmute()
        capture.push(try flatPicture(202))
        let frames = consumer.wait(for: 3)
        #expect(frames.map(firstLuma) == [200, 16, 202])
        frames[1].buffer.withRow(0, ofPlane: 1) { #expect($0.allSatisfy { $0 == 128 }) }
        #expect(frames[1].metadata == nil)
        #expect(frames.map(\.sequenceNumber) == [0, 1, 2])
        publisher.close()
    }

    @Test func muteHoldsTheLastPicture() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        publisher.mute(.holdLast)
        capture.push(try flatPicture(99))
        _ = consumer.wait(for: 1)
        publisher.unmute()
        capture.push(try flatPicture(100))
        _ = consumer.wait(for: 2)
        publisher.mute(.holdLast)
        for value in 101...103 { capture.push(try flatPicture(UInt8(value))) }
        let frames = consumer.wait(for: 5)
        // There was nothing to hold at first.
        #expect(frames.map(firstLuma) == [16, 100, 100, 100, 100])
        #expect(frames.map(\.isRepeat) == [false, false, true, true, true])
        publisher.close()
    }

    @Test func aStaticPictureIsRepeated() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        publisher.minimumFrameRate = 100
        capture.push(try flatPicture(7))
        let frames = consumer.wait(for: 6)
        try publisher.stop()
        let count = consumer.collected.count
        #expect(frames.count >= 6)
        #expect(frames.allSatisfy { firstLuma($0) == 7 })
        #expect(frames.map(\.isRepeat) == [false] + Array(repeating: true, count: frames.count - 1))
        #expect(frames.dropFirst().allSatisfy { $0.damage == [] })
        #expect(publisher.statistics.repeats == UInt64(count - 1))
        for (first, second) in zip(frames, frames.dropFirst()) {
            #expect(second.timestamp - first.timestamp >= .milliseconds(10))
            #expect(second.sequenceNumber == first.sequenceNumber + 1)
        }
    }

    @Test func replacesTheCaptureWithoutAGap() throws {
        let (old, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 8, policy: .block))
        for value in 1...3 { old.push(try flatPicture(UInt8(value))) }
        _ = consumer.wait(for: 3)
        let new = PushCapturer(format: .nv12(width: 8, height: 6), policy: .block)
        let pusher = try CaptureThread(name: "pusher") {
            while !new.isCaptureStarted {}
            if let picture = try? flatPicture(50) { new.push(picture) }
        }
        try publisher.replaceCapture(with: new)
        pusher.join()
        #expect(!old.push(try flatPicture(4)))
        new.push(try flatPicture(51))
        let frames = consumer.wait(for: 5)
        #expect(frames.map(firstLuma) == [1, 2, 3, 50, 51])
        #expect(frames.map(\.sequenceNumber) == [0, 1, 2, 3, 4])
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(old.state == .idle)
        #expect(publisher.capture === new)
        publisher.close()
    }

    /// The repeats wait for a consumer, which ends them.
    @Test func aConsumerChangesTheMinimumRate() throws {
        final class Changing: VideoCaptureConsumer {
            let publisher: VideoPublisher
            let hasReturned = ManualResetEvent()
            init(_ publisher: VideoPublisher) { self.publisher = publisher }
            func consumeFrame(_ frame: VideoFrame) {
                guard !hasReturned.isRaised else { return }
                // One waits in the queue, the next one for room in it.
                while publisher.statistics.repeats < 2 {
                    ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)))
                }
                publisher.minimumFrameRate = nil
                hasReturned.raise()
            }
        }
        let (capture, publisher) = try startedPublisher()
        publisher.minimumFrameRate = 100
        let consumer = Changing(publisher)
        try publisher.add(consumer, queue: .init(capacity: 1, policy: .block, timeout: nil))
        capture.push(try flatPicture(1))
        consumer.hasReturned.wait(until: MonotonicClock().now.advanced(by: .seconds(60)))
        try #require(consumer.hasReturned.isRaised)
        publisher.close()
    }

    /// One that waits for the new capture's first frame.
    @Test(arguments: [false, true]) func aStopEndsAReplacement(isClosed: Bool) async throws {
        let (old, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 8, policy: .block))
        let new = PushCapturer(format: .nv12(width: 8, height: 6), policy: .block)
        let replacement = Task.detached { try publisher.replaceCapture(with: new, timeout: .seconds(60)) }
        while !new.isCaptureStarted { await Task.yield() }
        if isClosed { publisher.close() } else { try publisher.stop() }
        _ = new.push(try flatPicture(50))
        await #expect { try await replacement.value } throws: { ($0 as? CaptureError)?.code == .invalidState }
        #expect(new.state == .idle)
        #expect(publisher.capture === old)
        #expect(consumer.wait(for: 0).isEmpty)
        guard !isClosed else { return }
        // It can be started again, with the old one.
        try publisher.start()
        _ = old.push(try flatPicture(7))
        #expect(consumer.wait(for: 1).map(firstLuma) == [7])
        publisher.close()
    }

    @Test func aReplacementThatFailsChangesNothing() throws {
        let (old, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 8, policy: .block))
        let silent = PushCapturer(format: .nv12(width: 8, height: 6))
        #expect { try publisher.replaceCapture(with: silent, timeout: .milliseconds(20)) } throws: {
            ($0 as? CaptureError)?.code == .stalled
        }
        #expect(silent.state == .idle)
        old.push(try flatPicture(5))
        #expect(consumer.wait(for: 1).map(firstLuma) == [5])
        publisher.close()
    }

    @Test func theMostDemandingConsumerDecides() throws {
        struct Recorder: FrameSource {
            let settings = CaptureSettings(format: .nv12(width: 64, height: 64))
            let seen: Locked<[CaptureWants]>
            mutating func adapt(to wants: CaptureWants) { seen.withLock { $0.append(wants) } }
            func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
                context.wait(until: context.now.advanced(by: .milliseconds(1)))
                return SourceFrame(try flatPicture(1))
            }
        }
        let seen = Locked<[CaptureWants]>([])
        let publisher = VideoPublisher(SourceCapturer(Recorder(seen: seen)))
        let first = CollectingConsumer()
        let second = CollectingConsumer()
        let firstPlace = try publisher.add(first)
        let secondPlace = try publisher.add(second)
        try publisher.start()
        func settled(_ expected: CaptureWants) -> Bool {
            for _ in 0..<5000 {
                if seen.withLock({ $0.last }) == expected { return true }
                MonotonicClock().wait(
                    until: MonotonicClock().now.advanced(by: .milliseconds(1)), or: ManualResetEvent())
            }
            return false
        }
        firstPlace.updateWants(CaptureWants(maximumPixelCount: 1000, maximumFrameRate: 30, sizeAlignment: 4))
        // The other still wants everything.
        #expect(settled(CaptureWants(sizeAlignment: 4)))
        secondPlace.updateWants(CaptureWants(maximumPixelCount: 2000, maximumFrameRate: 15, sizeAlignment: 6))
        #expect(settled(CaptureWants(maximumPixelCount: 2000, maximumFrameRate: 30, sizeAlignment: 12)))
        publisher.remove(firstPlace)
        #expect(settled(CaptureWants(maximumPixelCount: 2000, maximumFrameRate: 15, sizeAlignment: 6)))
        publisher.close()
    }
}
