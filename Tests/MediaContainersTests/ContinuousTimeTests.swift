import TestTools
import Testing
import VideoCapturing

@testable import MediaContainers

@Suite struct ContinuousTimeTests {
    private func place(_ milliseconds: [Int], largestStep: Duration? = nil) -> (times: [Int], stretches: Int) {
        var line = ContinuousTime(frameLength: .milliseconds(40), largestStep: largestStep)
        var last: Duration?
        let times = milliseconds.map { stated -> Int in
            let time = line.place(.milliseconds(stated))
            #expect(last.map { time > $0 } ?? true)
            last = time
            return Int((time.seconds * 1000).rounded())
        }
        return (times, line.stretches)
    }

    @Test func timesThatIncreaseStay() {
        #expect(place([0, 40, 90, 5000, 90_000_000]) == ([0, 40, 90, 5000, 90_000_000], 0))
        #expect(place([-80, -40, 0, 40]) == ([-80, -40, 0, 40], 0))
    }

    @Test func aStepBackBeginsANewStretchOneFrameLater() {
        #expect(place([5000, 5100, 5200, 0, 100, 200]) == ([5000, 5100, 5200, 5300, 5400, 5500], 1))
        #expect(
            place([0, 100, 200, 0, 100, 200, 0, 100]) == ([0, 100, 200, 300, 400, 500, 600, 700], 2))
    }

    @Test func aPauseStaysWhereTheTimesCannotJump() {
        #expect(place([0, 40, 80, 25_000_000, 25_000_040]) == ([0, 40, 80, 25_000_000, 25_000_040], 0))
    }

    @Test func aLargeStepIsAJumpWhereTheTimesMay() {
        #expect(
            place([0, 40, 80, 50_000_000, 50_000_040], largestStep: .seconds(10)) == ([0, 40, 80, 120, 160], 1))
        #expect(place([0, 40, 80, 9000], largestStep: .seconds(10)) == ([0, 40, 80, 9000], 0))
    }

    /// A picture every 20 s.
    @Test func aSlowRecordingHasNoJumps() {
        var line = ContinuousTime(frameLength: .seconds(20), largestStep: .seconds(10))
        for number in 0..<5 { #expect(line.place(.seconds(20 * number)) == .seconds(20 * number)) }
    }

    @Test func aSingleWrongTimeMovesNoneAfterIt() {
        #expect(place([0, 40, 80, 20, 160, 200]) == ([0, 40, 80, 120, 160, 200], 0))
        #expect(
            place([0, 40, 80, 50_000_000, 160, 200], largestStep: .seconds(10)) == ([0, 40, 80, 120, 160, 200], 0))
    }

    @Test func equalTimesAreANanosecondApart() {
        var line = ContinuousTime(frameLength: .milliseconds(40))
        let times = [0, 40, 40, 30, 80].map { line.place(.milliseconds($0)) }
        let second = Duration.milliseconds(40)
        #expect(times == [.zero, second, second + .nanoseconds(1), second + .nanoseconds(2), .milliseconds(80)])
        #expect(line.stretches == 0)
    }

    @Test(arguments: 0..<20) func anyTimesIncreaseStrictly(seed: Int) {
        var random = SeededRandom(state: UInt64(seed))
        var line = ContinuousTime(frameLength: .milliseconds(40), largestStep: seed % 2 == 0 ? .seconds(10) : nil)
        var stated: Int64 = 0
        var last: Duration?
        for _ in 0..<500 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: stated = Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<40, using: &random)
            case 1: stated &-= Int64.random(in: 0..<5_000_000_000, using: &random)
            default: stated &+= Int64.random(in: 1..<80_000_000, using: &random)
            }
            let time = line.place(.nanoseconds(stated), length: seed % 3 == 0 ? .milliseconds(20) : nil)
            #expect(last.map { time > $0 } ?? true)
            last = time
        }
    }
}
