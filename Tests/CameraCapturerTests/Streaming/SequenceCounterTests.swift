import Testing

@testable import CameraCapturer

@Suite struct SequenceCounterTests {
    private func lost(_ numbers: [UInt32]) -> [UInt64] {
        var counter = SequenceCounter()
        return numbers.map { counter.lost(before: $0) }
    }

    @Test func countsGaps() {
        #expect(lost([7, 8, 9, 12, 13]) == [0, 0, 0, 2, 0])
    }

    @Test func wraps() {
        #expect(lost([.max - 1, .max, 0, 1]) == [0, 0, 0, 0])
        #expect(lost([.max - 1, 2]) == [0, 3])
    }

    @Test func believesNoDriverThatBeginsAnewOrDoesNotCount() {
        #expect(lost([500, 0, 1]) == [0, 0, 0])
        #expect(lost([0, 0, 0]) == [0, 0, 0])
        #expect(lost([0, 1_000_000, 1_000_001]) == [0, 0, 0])
    }
}
