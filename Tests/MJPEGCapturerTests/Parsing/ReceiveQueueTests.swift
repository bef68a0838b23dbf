import Testing
import VideoCapturing

@testable import MJPEGCapturer

@Suite struct ReceiveQueueTests {
    private let pool = JPEGBlockPool()

    private func time(_ milliseconds: Int) -> MediaTime { MediaTime(nanoseconds: Int64(milliseconds) * 1_000_000) }

    private func picture(_ number: Int, arrival: Int) -> ReceivedPicture {
        let block = JPEGBlock()
        _ = [UInt8](repeating: UInt8(number), count: 1000).withUnsafeBytes { block.append($0) }
        return ReceivedPicture(block: block, arrival: time(arrival))
    }

    /// A steady stream at 25 frames a second, up to now.
    private func steady(until now: Int) -> ReceiveQueue {
        var backlog = ReceiveQueue(maximumBytes: 1 << 20)
        for moment in stride(from: now - 1000, through: now, by: 40) {
            backlog.append(picture(0, arrival: moment), pool: pool)
            backlog.recordRead(count: 1, since: time(moment - 40), now: time(moment), isLate: false)
            _ = backlog.next(now: time(moment), pool: pool)
        }
        return backlog
    }

    @Test func knowsTheInterval() {
        #expect(steady(until: 5000).intervalNanoseconds == 40_000_000)
    }

    /// Late by less than two intervals: nothing is lost, and the times are those when the pictures have come.
    @Test func losesNothingToAHiccup() {
        var backlog = steady(until: 5000)
        for number in 1...3 { backlog.append(picture(number, arrival: 5120), pool: pool) }
        backlog.recordRead(count: 3, since: time(5000), now: time(5120), isLate: true)
        let taken = (1...3).compactMap { _ in backlog.next(now: time(5120), pool: pool) }
        #expect(taken.map { $0.block.bytes[0] } == [1, 2, 3])
        #expect(taken.map(\.arrival) == [time(5040), time(5080), time(5120)])
        #expect(taken.allSatisfy { $0.losses == StreamLosses() })
    }

    @Test func letsTheNewestWinWhenItIsTooLate() {
        var backlog = steady(until: 5000)
        for number in 1...25 {
            var late = picture(number, arrival: 6000)
            if number == 4 { late.losses.damaged = 1 }
            backlog.append(late, pool: pool)
        }
        backlog.recordRead(count: 25, since: time(5000), now: time(6000), isLate: true)
        let first = backlog.next(now: time(6000), pool: pool)
        #expect(first?.block.bytes[0] == 23)
        #expect(first?.losses == StreamLosses(damaged: 1, oversized: 0, skipped: 22))
        #expect(backlog.count == 2)
    }

    /// A burst of the network is no fault of the consumer's.
    @Test func takesABurstInOrder() {
        var backlog = steady(until: 5000)
        for number in 1...10 { backlog.append(picture(number, arrival: 5400), pool: pool) }
        backlog.recordRead(count: 10, since: time(5390), now: time(5400), isLate: false)
        let taken = (1...10).compactMap { _ in backlog.next(now: time(5410), pool: pool) }
        #expect(taken.map { $0.block.bytes[0] } == Array(1...10))
    }

    @Test func isBounded() {
        var backlog = ReceiveQueue(maximumBytes: 10_000)
        for number in 0..<50 { backlog.append(picture(number, arrival: 0), pool: pool) }
        #expect(backlog.count == 10)
        let first = backlog.next(now: time(0), pool: pool)
        #expect(first?.block.bytes[0] == 40 && first?.losses.skipped == 40)
        var few = ReceiveQueue(maximumBytes: 10)
        for number in 0..<5 { few.append(picture(number, arrival: 0), pool: pool) }
        #expect(few.count == 1)
        var many = ReceiveQueue(maximumBytes: .max)
        for number in 0..<100 { many.append(picture(number, arrival: 0), pool: pool) }
        #expect(many.count == ReceiveQueue.maximumPictures)
    }
}
