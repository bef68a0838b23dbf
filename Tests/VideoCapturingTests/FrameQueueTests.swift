import CapturerTestKit
import Testing
import VideoCapturing

@Suite struct FrameQueueTests {
    private let buffer: PixelBuffer

    init() throws {
        buffer = try PixelBuffer.black(.i420, width: 2, height: 2, color: .bt601)
    }

    private func frame(_ number: Int) -> VideoFrame {
        VideoFrame(buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(number)), sequenceNumber: UInt64(number))
    }

    private func drain(_ queue: FrameQueue) -> [UInt64] {
        queue.close()
        var numbers: [UInt64] = []
        while let frame = queue.pop() { numbers.append(frame.sequenceNumber) }
        return numbers
    }

    @Test func dropOldest() {
        let queue = FrameQueue(capacity: 3, policy: .dropOldest)
        let results = (0..<5).map { queue.push(frame($0)) }
        #expect(results == [.accepted, .accepted, .accepted, .replacedOldest, .replacedOldest])
        #expect(queue.dropped.replaced == 2)
        #expect(drain(queue) == [2, 3, 4])
    }

    @Test func dropNewest() {
        let queue = FrameQueue(capacity: 3, policy: .dropNewest)
        let results = (0..<5).map { queue.push(frame($0)) }
        #expect(results == [.accepted, .accepted, .accepted, .refused, .refused])
        #expect(queue.dropped.refused == 2)
        #expect(drain(queue) == [0, 1, 2])
    }

    @Test func waitLosesNothing() throws {
        let queue = FrameQueue(capacity: 2, policy: .block)
        let frames = (0..<500).map { frame($0) }
        let producer = try CaptureThread(name: "producer") {
            for frame in frames { queue.push(frame) }
            queue.close()
        }
        var numbers: [UInt64] = []
        while let frame = queue.pop() { numbers.append(frame.sequenceNumber) }
        producer.join()
        #expect(numbers == Array(0..<500))
        #expect(queue.dropped.total == 0)
        #expect(queue.received == 500)
    }

    @Test func closeFreesBothSides() throws {
        let full = FrameQueue(capacity: 1, policy: .block)
        full.push(frame(0))
        let result = Locked<FrameQueue.PushResult?>(nil)
        let late = frame(1)
        let producer = try CaptureThread(name: "producer") {
            let pushed = full.push(late)
            result.withLock { $0 = pushed }
        }
        full.close()
        producer.join()
        #expect(result.withLock { $0 } == .closed)
        #expect(full.dropped.abandoned == 1)
        #expect(full.pop()?.sequenceNumber == 0)
        #expect(full.pop() == nil)
        let empty = FrameQueue(capacity: 1, policy: .dropOldest)
        let consumer = try CaptureThread(name: "consumer") { #expect(empty.pop() == nil) }
        empty.close()
        consumer.join()
    }

    @Test func discards() {
        let queue = FrameQueue(capacity: 0, policy: .dropOldest)
        #expect(queue.capacity == 1)
        queue.push(frame(0))
        queue.close(discardingWaitingFrames: true)
        #expect(queue.pop() == nil)
        #expect(queue.push(frame(1)) == .closed)
        #expect(queue.dropped.abandoned == 2)
        #expect(queue.count == 0)
    }

    @Test(arguments: QueuePolicy.allCases)
    func countsEveryFrame(policy: QueuePolicy) throws {
        let queue = FrameQueue(capacity: 3, policy: policy)
        let frames = (0..<400).map { frame($0) }
        let producers = try (0..<2).map { half in
            try CaptureThread(name: "producer") {
                for frame in frames[(half * 200)..<(half * 200 + 200)] { queue.push(frame) }
            }
        }
        let taken = Locked(UInt64(0))
        let consumer = try CaptureThread(name: "consumer") {
            while queue.pop() != nil { taken.withLock { $0 += 1 } }
        }
        for producer in producers { producer.join() }
        queue.close()
        consumer.join()
        #expect(taken.withLock { $0 } + queue.dropped.total == 400)
    }

    @Test func aConsumerWithoutProgressIsPassedBy() {
        var settings = QueueSettings(capacity: 1, policy: .block, timeout: .seconds(600))
        settings.blockTimeout = .milliseconds(1)
        let queue = FrameQueue(settings)
        let results = (0..<4).map { queue.push(frame($0)) }
        #expect(results == [.accepted, .refused, .refused, .refused])
        #expect(queue.dropped.refused == 3 && !queue.isStalled)
        #expect(queue.pop()?.sequenceNumber == 0)
        #expect(queue.push(frame(4)) == .accepted)
        #expect(drain(queue) == [4])
    }
}
