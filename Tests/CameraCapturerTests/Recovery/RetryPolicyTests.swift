import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct RetryPolicyTests {
    private func time(_ milliseconds: Int64) -> MediaTime { MediaTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func climbsStepByStep() {
        var ladder = RetryPolicy()
        let steps = (0..<12).map { _ in ladder.next() }
        #expect(
            steps == [
                .restartStream, .reopen(attempt: 1, of: 3), .reopen(attempt: 2, of: 3), .reopen(attempt: 3, of: 3),
                .waitAndReopen(.seconds(1)), .waitAndReopen(.seconds(2)), .waitAndReopen(.seconds(4)),
                .waitAndReopen(.seconds(8)), .waitAndReopen(.seconds(16)), .waitAndReopen(.seconds(30)),
                .waitAndReopen(.seconds(30)), .waitAndReopen(.seconds(30)),
            ])
    }

    @Test func beginsAnewAfterFramesHaveComeForAWhile() {
        var ladder = RetryPolicy()
        _ = (ladder.next(), ladder.next())
        for frame in 0..<61 { ladder.recordFrame(at: time(Int64(frame) * 33)) }
        #expect(ladder.next() == .reopen(attempt: 2, of: 3))
        for frame in 0..<62 { ladder.recordFrame(at: time(Int64(frame) * 33)) }
        #expect(ladder.next() == .restartStream)
    }

    @Test func climbsOnWhenEachFrameIsFollowedByAFault() {
        var ladder = RetryPolicy()
        for step in 0..<4 {
            _ = ladder.next()
            ladder.recordFrame(at: time(Int64(step) * 5000))
        }
        #expect(ladder.next() == .waitAndReopen(.seconds(1)))
    }
}
