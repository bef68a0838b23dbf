import Testing
import VideoCapturing

/// The delays between attempts to reach a peer again.
@Suite struct BackoffPolicyTests {
    /// The same bits each time: all of them for the longest delay, none for the shortest.
    private struct Bits: RandomNumberGenerator {
        var bits: UInt64
        mutating func next() -> UInt64 { bits }
    }

    private func at(_ seconds: Double) -> MediaTime { .zero.advanced(by: .seconds(seconds)) }

    @Test func `Delays double up to the longest, and their upper half is chance`() {
        for bits in [UInt64.min, .max] {
            var policy = BackoffPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(10))
            var generator = Bits(bits: bits)
            let delays = (0..<100).map { _ in policy.nextDelay(at: at(0), using: &generator) }
            let whole: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(10), .seconds(10)]
            #expect(Array(delays.prefix(6)) == whole.map { bits == .max ? $0 : $0 / 2 })
            #expect(delays.allSatisfy { $0! <= .seconds(10) })
            #expect(policy.attempts == 100)
        }
    }

    @Test func `A delay that the peer asks for is kept`() {
        var policy = BackoffPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(2))
        #expect(policy.nextDelay(at: at(0), retryAfter: .seconds(60)) == .seconds(60))
        #expect(policy.nextDelay(at: at(60), retryAfter: .zero)! >= .seconds(1))
    }

    @Test func `The budget ends the attempts`() {
        var generator = Bits(bits: .max)
        var limited = BackoffPolicy(maximumAttempts: 2)
        #expect((0..<3).map { _ in limited.nextDelay(at: at(0), using: &generator) != nil } == [true, true, false])

        var timed = BackoffPolicy(initialDelay: .seconds(4), budget: .seconds(10))
        #expect(timed.nextDelay(at: at(0), using: &generator) == .seconds(4))
        #expect(timed.nextDelay(at: at(5), retryAfter: .seconds(6), using: &generator) == nil)
        #expect(timed.nextDelay(at: at(2), using: &generator) == .seconds(8))
        #expect(timed.nextDelay(at: at(10), using: &generator) == nil)
    }

    @Test func `A connection that lasts begins again, one that breaks at once does not`() {
        var generator = Bits(bits: .max)
        var policy = BackoffPolicy(initialDelay: .seconds(1), budget: .seconds(100))
        #expect(policy.nextDelay(at: at(0), using: &generator) == .seconds(1))
        policy.didConnect(at: at(1))
        #expect(policy.nextDelay(at: at(2), using: &generator) == .seconds(2))
        policy.didConnect(at: at(4))
        #expect(policy.nextDelay(at: at(200), using: &generator) == .seconds(1))
        // The budget counts from the new loss.
        #expect(policy.nextDelay(at: at(290), using: &generator) == .seconds(2))
        #expect(policy.nextDelay(at: at(299), using: &generator) == nil)
    }
}
