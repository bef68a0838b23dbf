import TestTools
import Testing
import VideoCapturing

/// Frames that are handed over past the queue, on the thread that delivers.
@Suite struct InlineConsumerTests {
    /// Takes even pictures at once and leaves odd ones to the queue.
    private final class Picky: InlineConsumer {
        struct Call: Equatable {
            var luma: UInt8
            var acceptsInlineDelivery: Bool
        }

        let calls = Locked<[Call]>([])
        let threads = Locked<Set<UInt>>([])
        let frames = Locked<[VideoFrame]>([])
        let queueGate = ManualResetEvent()
        let immediateGate: ManualResetEvent?
        let isInside = ManualResetEvent()

        init(immediateGate: ManualResetEvent? = nil) {
            self.immediateGate = immediateGate
        }

        func consumeInline(_ frame: VideoFrame) -> Bool {
            isInside.raise()
            immediateGate?.wait()
            guard firstLuma(frame).isMultiple(of: 2) else { return false }
            note(frame, acceptsInlineDelivery: true)
            return true
        }

        func consumeFrame(_ frame: VideoFrame) {
            queueGate.wait()
            note(frame, acceptsInlineDelivery: false)
        }

        private func note(_ frame: VideoFrame, acceptsInlineDelivery: Bool) {
            frames.withLock { $0.append(frame) }
            threads.withLock { _ = $0.insert(CaptureThread.currentIdentifier) }
            calls.withLock { $0.append(Call(luma: firstLuma(frame), acceptsInlineDelivery: acceptsInlineDelivery)) }
            calls.wakeAll()
        }

        func wait(for count: Int) -> [Call] {
            _ = calls.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0.count >= count ? () : nil }
            return calls.withLock { $0 }
        }
    }

    @Test func framesThatAreTakenPassTheQueue() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = Picky()
        let place = try publisher.add(consumer, queue: .init(capacity: 2, policy: .dropOldest))
        for value in 0..<20 { capture.push(try flatPicture(UInt8(2 * value))) }
        let calls = consumer.wait(for: 20)
        #expect(calls == (0..<20).map { .init(luma: UInt8(2 * $0), acceptsInlineDelivery: true) })
        #expect(consumer.threads.withLock { $0.count } == 1)
        try publisher.stop()
        let statistics = place.statistics
        #expect(statistics.received == 20 && statistics.delivered == 20)
        #expect(statistics.dropped.total == 0 && statistics.waiting == 0)
        #expect(statistics.p50Age != nil)
    }

    /// What is refused waits for the consumer's own thread, and what comes meanwhile waits behind it.
    @Test func theOrderIsKept() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = Picky()
        let place = try publisher.add(consumer, queue: .init(capacity: 8, policy: .block))
        for value: UInt8 in [0, 1, 2, 4] { capture.push(try flatPicture(value)) }
        while place.statistics.received < 4 {}
        consumer.queueGate.raise()
        #expect(
            consumer.wait(for: 4) == [
                .init(luma: 0, acceptsInlineDelivery: true), .init(luma: 1, acceptsInlineDelivery: false),
                .init(luma: 2, acceptsInlineDelivery: false), .init(luma: 4, acceptsInlineDelivery: false),
            ])
        while place.statistics.delivered < 4 {}
        capture.push(try flatPicture(6))
        #expect(consumer.wait(for: 5).last?.luma == 6)
        try publisher.stop()
        #expect(place.statistics.delivered == 5)
    }

    @Test func damageIsTrueOnBothWays() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = Picky()
        let place = try publisher.add(consumer, queue: .init(capacity: 1, policy: .dropOldest))
        func push(_ value: UInt8, _ x: Int) throws {
            let damage = [PixelRect(x: x, y: 0, width: 1, height: 1)]
            capture.push(VideoFrame(buffer: try flatPicture(value), timestamp: MonotonicClock().now, damage: damage))
        }
        try push(0, 0)
        try push(2, 1)
        _ = consumer.wait(for: 2)
        // One is in the consumer's hands, and of the two that wait behind it the newer wins.
        try push(1, 2)
        while place.statistics.received < 3 || place.statistics.waiting > 0 {}
        try push(3, 3)
        try push(5, 4)
        while place.statistics.received < 5 {}
        consumer.queueGate.raise()
        _ = consumer.wait(for: 4)
        let damage = consumer.frames.withLock { $0.map { frame in frame.damage.map { Set($0.map(\.x)) } } }
        #expect(damage == [nil, [1], [2], [3, 4]])
        publisher.close()
    }

    /// The call runs on the capture's thread; to remove the consumer is to wait for it.
    @Test func removeWaitsForTheCall() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let consumer = Picky(immediateGate: gate)
        let place = try publisher.add(consumer)
        capture.push(try flatPicture(2))
        consumer.isInside.wait()
        let opener = try CaptureThread(name: "opener") {
            MonotonicClock().wait(until: MonotonicClock().now.advanced(by: .milliseconds(50)), or: ManualResetEvent())
            gate.raise()
        }
        publisher.remove(place)
        #expect(consumer.calls.withLock { $0 } == [.init(luma: 2, acceptsInlineDelivery: true)])
        capture.push(try flatPicture(4))
        try publisher.stop()
        #expect(consumer.calls.withLock { $0.count } == 1)
        opener.join()
    }

    @Test func stopWaitsForTheCallAndTheQueue() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let consumer = Picky(immediateGate: gate)
        consumer.queueGate.raise()
        try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        for value: UInt8 in [1, 2, 3] { capture.push(try flatPicture(value)) }
        consumer.isInside.wait()
        let opener = try CaptureThread(name: "opener") {
            MonotonicClock().wait(until: MonotonicClock().now.advanced(by: .milliseconds(50)), or: ManualResetEvent())
            gate.raise()
        }
        try publisher.stop()
        #expect(consumer.calls.withLock { $0.map(\.luma) }.first == 1)
        let place = publisher.statistics.consumers[0]
        #expect(place.delivered + place.dropped.total == place.received && place.waiting == 0)
        opener.join()
    }

    /// Repeats are timed on the consumer's thread, so it must see every frame.
    @Test func aMinimumRateNeedsTheThread() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = Picky()
        consumer.queueGate.raise()
        let place = try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        place.updateWants(CaptureWants(minimumFrameRate: 100))
        capture.push(try flatPicture(2))
        #expect(consumer.wait(for: 3).allSatisfy { $0 == .init(luma: 2, acceptsInlineDelivery: false) })
        try publisher.stop()
    }

    /// The publisher's own repeats come from another thread, one call at a time with the capture's.
    @Test func oneCallAtATime() throws {
        final class Serial: InlineConsumer {
            let isBusy = Locked(false)
            let overlaps = Locked(0)
            let count = Locked(0)
            func consumeFrame(_ frame: VideoFrame) {
                let wasBusy = isBusy.withLock { isBusy in
                    defer { isBusy = true }
                    return isBusy
                }
                if wasBusy { overlaps.withLock { $0 += 1 } }
                for _ in 0..<200 { _ = MonotonicClock().now }
                isBusy.withLock { $0 = false }
                count.withLock { $0 += 1 }
            }
            func consumeInline(_ frame: VideoFrame) -> Bool {
                guard frame.sequenceNumber % 3 != 0 else { return false }
                consumeFrame(frame)
                return true
            }
        }
        let (capture, publisher) = try startedPublisher()
        let consumer = Serial()
        let place = try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        publisher.minimumFrameRate = 1000
        for value in 0..<400 { capture.push(try flatPicture(UInt8(value % 256))) }
        _ = eventually { place.statistics.delivered >= 400 }
        publisher.close()
        #expect(consumer.overlaps.withLock { $0 } == 0)
        #expect(place.statistics.delivered == UInt64(consumer.count.withLock { $0 }))
        #expect(place.statistics.delivered + place.statistics.dropped.total == place.statistics.received)
    }
}
