import Testing
import VideoCapturing

@testable import CameraCapturer

private func time(_ milliseconds: Int64) -> MediaTime { MediaTime(nanoseconds: milliseconds * 1_000_000) }

@Suite struct StallDetectorTests {
    @Test func damageAloneIsAStallInTheEnd() {
        var detector = StallDetector(streamStart: time(0))
        let first = [100, 5099, 5100].map { detector.recordDamaged(at: time($0)) }
        #expect(first == [false, false, true])
        detector.recordComplete()
        // However long a consumer took for the complete one.
        let isStalled = detector.recordDamaged(at: time(60_000))
        #expect(!isStalled)
        // A slow camera has its own limit.
        for second: Int64 in 0..<4 { detector.recordFrame(at: time(60_000 + second * 4000)) }
        let slow = [70_000, 76_000].map { detector.recordDamaged(at: time($0)) }
        #expect(slow == [false, true])
    }

    @Test func waitsFiveSecondsForTheFirstFrame() {
        #expect(StallDetector(streamStart: time(1000)).deadline == time(6000))
    }

    @Test func waitsFiveSecondsForTheSecondFrame() {
        var detector = StallDetector(streamStart: time(1000))
        detector.recordFrame(at: time(1500))
        #expect(detector.deadline == time(6500))
    }

    @Test func waitsHalfASecondOfAFastCamera() {
        var detector = StallDetector(streamStart: time(0))
        for frame in 1...20 { detector.recordFrame(at: time(Int64(frame) * 33)) }
        #expect(detector.deadline == time(20 * 33 + 500))
    }

    @Test func waitsFourFramesOfASlowOne() {
        var detector = StallDetector(streamStart: time(0))
        for frame in 1...20 { detector.recordFrame(at: time(Int64(frame) * 500)) }
        #expect(detector.deadline == time(20 * 500 + 2000))
    }

    @Test func followsACameraThatSlowsDown() {
        var detector = StallDetector(streamStart: time(0))
        for frame in 1...10 { detector.recordFrame(at: time(Int64(frame) * 100)) }
        let quick = detector.deadline - time(1000)
        for frame in 1...10 { detector.recordFrame(at: time(1000 + Int64(frame) * 400)) }
        let slow = detector.deadline - time(5000)
        #expect(quick == .milliseconds(500) && slow > .milliseconds(1400) && slow <= .milliseconds(1600))
    }
}

@Suite struct RateCheckTests {
    private func measure(every interval: Int64, negotiated: FrameRate?, lost: UInt64 = 0) -> FrameRate? {
        var check = RateCheck()
        for frame in 0..<200 {
            if let rate = check.recordFrame(at: time(Int64(frame) * interval), lost: lost, negotiated: negotiated) {
                return rate
            }
        }
        return nil
    }

    @Test func tellsOfACameraThatHalvesItsRate() {
        #expect(measure(every: 66, negotiated: 30).map { $0.frames / $0.seconds } == 15)
    }

    @Test func isSilentAboutOneThatKeepsIt() {
        #expect(measure(every: 33, negotiated: 30) == nil)
        #expect(measure(every: 40, negotiated: 30) == nil)
        #expect(measure(every: 100, negotiated: nil) == nil)
    }

    @Test func doesNotBlameTheCameraForLostFrames() {
        #expect(measure(every: 66, negotiated: 30, lost: 1) == nil)
    }
}

@Suite struct DamageReportTests {
    private func reports(damagedEach: Int, frames: Int) -> Int {
        var report = DamageReport()
        return (0..<frames).reduce(0) { count, frame in
            let told = report.record(isDamaged: frame % damagedEach == damagedEach - 1, at: time(Int64(frame) * 33))
            return count + (told == nil ? 0 : 1)
        }
    }

    @Test func tellsAboveFiveInAHundred() {
        #expect(reports(damagedEach: 10, frames: 100) == 1)
        #expect(reports(damagedEach: 30, frames: 100) == 0)
    }

    @Test func tellsNotAgainForTenSeconds() {
        #expect(reports(damagedEach: 2, frames: 300) == 1)
        #expect(reports(damagedEach: 2, frames: 30 * 25) == 3)
    }
}
