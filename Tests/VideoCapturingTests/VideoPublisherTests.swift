import TestTools
import Testing
import VideoCapturing

@Suite struct VideoPublisherTests {
    @Test func everyConsumerGetsEveryFrame() throws {
        let (capture, publisher) = try startedPublisher()
        let consumers = (0..<8).map { _ in CollectingConsumer() }
        for consumer in consumers { try publisher.add(consumer, queue: .init(capacity: 2, policy: .block)) }
        for value in 0..<50 { #expect(capture.push(try flatPicture(UInt8(value)))) }
        for consumer in consumers { _ = consumer.wait(for: 50) }
        try publisher.stop()
        for consumer in consumers {
            #expect(consumer.collected.map(firstLuma) == (0..<50).map { UInt8($0) })
            #expect(consumer.collected.map(\.sequenceNumber) == Array(0..<50))
        }
        let statistics = publisher.statistics
        #expect(statistics.consumers.count == 8)
        for consumer in statistics.consumers {
            #expect(consumer.received == 50)
            #expect(consumer.delivered == 50)
            #expect(consumer.dropped.total == 0)
            #expect(consumer.p50Age != nil)
        }
    }

    @Test func aSlowConsumerDelaysNobody() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let slow = CollectingConsumer(gate: gate)
        let fast = CollectingConsumer()
        let slowPlace = try publisher.add(slow, name: "slow", queue: .init(capacity: 2, policy: .dropOldest))
        try publisher.add(fast, name: "fast", queue: .init(capacity: 2, policy: .block))
        for value in 0..<20 { capture.push(try flatPicture(UInt8(value))) }
        #expect(fast.wait(for: 20).count == 20)
        gate.raise()
        // One frame was in its hands, two waited; the others were replaced, and each is counted.
        #expect(slow.wait(for: 3).map(firstLuma).suffix(2) == [18, 19])
        #expect(slowPlace.statistics.received == 20)
        #expect(slowPlace.statistics.dropped.replaced == 20 - UInt64(slow.collected.count))
        try publisher.stop()
    }

    @Test func oldestStaysRefusesTheNew() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let slow = CollectingConsumer(gate: gate)
        let place = try publisher.add(slow, queue: .init(capacity: 2, policy: .dropNewest))
        capture.push(try flatPicture(0))
        slow.isInside.wait()
        for value in 1..<10 { capture.push(try flatPicture(UInt8(value))) }
        while place.statistics.received < 10 {}
        gate.raise()
        #expect(slow.wait(for: 3).map(firstLuma) == [0, 1, 2])
        #expect(place.statistics.dropped.refused == 7)
        try publisher.stop()
    }

    @Test func nothingComesAfterRemove() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        let place = try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        capture.push(try flatPicture(1))
        _ = consumer.wait(for: 1)
        publisher.remove(place)
        capture.push(try flatPicture(2))
        let other = CollectingConsumer()
        try publisher.add(other)
        capture.push(try flatPicture(3))
        // The second may still have been on its way when the other consumer came.
        var seen = other.wait(for: 1)
        if firstLuma(seen[0]) == 2 { seen = other.wait(for: 2) }
        #expect(seen.map(firstLuma).last == 3)
        #expect(consumer.collected.map(firstLuma) == [1])
        publisher.close()
    }

    @Test func stopWorksThroughQueuesThatWait() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let file = CollectingConsumer(gate: gate)
        let live = CollectingConsumer(gate: gate)
        let filePlace = try publisher.add(file, queue: .init(capacity: 8, policy: .block))
        let livePlace = try publisher.add(live, queue: .init(capacity: 8, policy: .dropOldest))
        for value in 0..<5 { capture.push(try flatPicture(UInt8(value))) }
        // One is in the consumer's hands, four wait.
        for place in [filePlace, livePlace] {
            while place.statistics.received < 5 || place.statistics.waiting > 4 {}
        }
        let opener = try CaptureThread(name: "opener") {
            #expect(eventually { livePlace.statistics.dropped.abandoned == 4 })
            gate.raise()
        }
        try publisher.stop()
        #expect(file.collected.count == 5)
        #expect(live.collected.count == 1)
        #expect(livePlace.statistics.dropped.abandoned == 4)
        opener.join()
    }

    /// The capture waits for room in the queue of the consumer that stops it.
    @Test func aConsumerMayStopThePublisher() throws {
        final class Stopper: VideoCaptureConsumer {
            let publisher: VideoPublisher
            let frames = Locked<[UInt64]>([])
            let stopped = ManualResetEvent()
            init(_ publisher: VideoPublisher) { self.publisher = publisher }
            func consumeFrame(_ frame: VideoFrame) {
                frames.withLock { $0.append(frame.sequenceNumber) }
                guard frame.sequenceNumber == 5 else { return }
                try? publisher.stop()
                stopped.raise()
            }
        }
        struct Fast: FrameSource {
            let settings = CaptureSettings(format: .nv12(width: 8, height: 6))
            func nextFrame(_ context: FrameContext) throws -> SourceFrame? { SourceFrame(try flatPicture(1)) }
        }
        let publisher = VideoPublisher(SourceCapturer(Fast(), timeout: .milliseconds(500)))
        let stopper = Stopper(publisher)
        try publisher.add(stopper, queue: .init(capacity: 2, policy: .block))
        try publisher.start()
        stopper.stopped.wait(until: MonotonicClock().now.advanced(by: .seconds(60)))
        #expect(stopper.stopped.isRaised)
        #expect(publisher.capture.state == .stopped(.user))
        publisher.close()
        // What waited was worked through: the two in the queue and the one for which there was no room.
        let seen = stopper.frames.withLock { $0 }
        #expect(seen == Array(0..<UInt64(seen.count)))
        #expect(seen.count <= 9)
    }

    @Test func restartsWithTimestampsThatGoOn() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        for round in 1...3 {
            capture.push(try flatPicture(UInt8(round)))
            _ = consumer.wait(for: round)
            try publisher.stop()
            #expect(!capture.push(try flatPicture(99)))
            try publisher.start()
        }
        publisher.close()
        publisher.close()
        #expect(consumer.collected.map(firstLuma) == [1, 2, 3])
        #expect(zip(consumer.collected, consumer.collected.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(capture.state == .idle)
    }

    @Test func aClosedOneRefusesAStartAndConsumers() throws {
        let (capture, publisher) = try startedPublisher()
        publisher.close()
        let start = #expect(throws: CaptureError.self) { try publisher.start() }
        #expect(start?.code == .invalidState)
        let add = #expect(throws: CaptureError.self) { try publisher.add(CollectingConsumer()) }
        #expect(add?.code == .invalidState)
        #expect(capture.state == .idle)
    }
}
