import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct TimestampValidatorTests {
    private let monotonic = UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)

    private func time(_ milliseconds: Int64) -> MediaTime { MediaTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func trustsTheMonotonicClock() {
        var judge = TimestampValidator()
        let verdict = judge.validate(time(1000), flags: monotonic, now: time(1010))
        #expect(verdict.time == time(1000) && verdict.isTrusted)
        // Also right now, and ten seconds old less a little.
        #expect(judge.validate(time(1020), flags: monotonic, now: time(1020)).isTrusted)
        #expect(judge.validate(time(1021), flags: monotonic, now: time(11020)).isTrusted)
    }

    /// A time in milliseconds, at 1000, after a frame of 900.
    struct Doubtful: CustomTestStringConvertible {
        var timestamp: Int64
        var clock = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC
        var testDescription: String
    }

    @Test(arguments: [
        Doubtful(timestamp: 990, clock: V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN, testDescription: "an unnamed clock"),
        Doubtful(timestamp: 990, clock: V4L2_BUF_FLAG_TIMESTAMP_COPY, testDescription: "somebody else's clock"),
        Doubtful(timestamp: 1001, testDescription: "in the future"),
        Doubtful(timestamp: 0, testDescription: "zero"),
        Doubtful(timestamp: 1_700_000_000_000, testDescription: "a wall clock"),
        Doubtful(timestamp: 899, testDescription: "before the last frame"),
        Doubtful(timestamp: 900, testDescription: "the last frame's again"),
    ]) func takesTheArrivalForWhatCannotBe(doubtful: Doubtful) {
        var judge = TimestampValidator()
        _ = judge.validate(time(900), flags: monotonic, now: time(905))
        let verdict = judge.validate(time(doubtful.timestamp), flags: UInt32(doubtful.clock), now: time(1000))
        #expect(verdict.time == time(1000) && !verdict.isTrusted)
    }

    @Test func trustsAgainOnceItCan() {
        var judge = TimestampValidator()
        #expect(!judge.validate(time(2000), flags: monotonic, now: time(1000)).isTrusted)
        #expect(judge.validate(time(1030), flags: monotonic, now: time(1033)).isTrusted)
    }
}
