import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct ConstantRateScheduleTests {
    /// How often each frame is written, the last one included.
    private func counts(
        _ milliseconds: [Double], rate: FrameRate = 10, end: Double? = nil, maximumGap: Duration = .seconds(3600),
        maximumDuration: Duration? = nil
    ) -> [Int64] {
        var schedule = ConstantRateSchedule(rate: rate, maximumGap: maximumGap, maximumDuration: maximumDuration)
        let before = milliseconds.map { schedule.add(time($0)) }
        #expect(before.first == 0)
        return before.dropFirst() + [schedule.finish(at: end.map { time($0) })]
    }

    /// Some time after the epoch, so that nothing depends on a start at zero.
    private func time(_ milliseconds: Double) -> MediaTime {
        MediaTime(nanoseconds: 5_123_456_789 + Int64(milliseconds * 1e6))
    }

    @Test func framesAtTheRateAreWrittenOnce() {
        #expect(counts([0, 100, 200, 300]) == [1, 1, 1, 1])
        #expect(counts([0, 130, 170, 340, 360]) == [1, 1, 1, 1, 1])
        #expect(counts([0]) == [1])
    }

    @Test func framesThatAreLateOrMissingAreMadeUpFor() {
        #expect(counts([0, 100, 400, 500]) == [1, 3, 1, 1])
        #expect(counts([0, 80, 6100]) == [1, 60, 1])
    }

    @Test func theNewestOfTheFramesOfOneSlotIsShown() {
        // A screen that changes twice and then rests must show the second change.
        #expect(counts([0, 5, 8], end: 8000) == [0, 0, 80])
        #expect(counts([0, 100, 105, 200], end: 300) == [1, 0, 1, 1])
    }

    @Test func theLastFrameIsShownUpToTheEnd() {
        #expect(counts([0], rate: 30, end: 8000) == [240])
        #expect(counts([0, 100], end: 140) == [1, 1])
        #expect(counts([0, 100], end: 90) == [1, 1], "an end before the last frame")
        var empty = ConstantRateSchedule(rate: 10)
        #expect(empty.finish(at: time(8000)) == 0)
    }

    @Test func anotherRateThanTheFrames() {
        let double = counts((0...600).map { Double($0) * 1000 / 60 }, rate: 30)
        #expect(double.reduce(0, +) == 301)
        #expect(double.allSatisfy { (0...1).contains($0) })
        let film = counts((0..<240).map { Double($0) * 1000 / 24 }, rate: 30, end: 10_000)
        #expect(film.reduce(0, +) == 300)
        #expect(film.allSatisfy { (1...2).contains($0) })
        let slow = counts((0..<100).map { Double($0) * 100 }, rate: 30, end: 10_000)
        #expect(slow.allSatisfy { $0 == 3 })
    }

    /// Containers round to the millisecond: over an hour at 30 fps no frame may be dropped or repeated for it.
    @Test(arguments: ["23.976", "25", "29.97", "30", "50", "59.94", "60", "119.88"], [1, 0.001])
    func roundedTimestampsOfAConstantRatePassAsTheyAre(_ rate: String, _ unit: Double) throws {
        let rate = try #require(FrameRate(rate))
        var schedule = ConstantRateSchedule(rate: rate)
        var wrong: [Int64] = []
        for index in 0..<100_000 as Range<Int64> {
            let exact = Double(index) * 1000 * Double(rate.seconds) / Double(rate.frames)
            // Every other container cuts off.
            let rounded = index % 200_000 < 50_000 ? (exact / unit).rounded() : (exact / unit).rounded(.down)
            let count = schedule.add(time(rounded * unit))
            if count != (index == 0 ? 0 : 1) { wrong.append(index) }
        }
        #expect(wrong == [])
        #expect(schedule.finish() == 1)
    }

    /// A clock that is 0.1 % fast gains a frame in a thousand. Near the boundary of two slots the jitter must not drop
    /// and repeat in turn.
    @Test func aDriftIsCorrectedOnceForEachFrame() {
        var schedule = ConstantRateSchedule(rate: 30)
        var generator = SeededRandom(state: 7)
        var counts: [Int64: Int] = [:]
        let frames = 100_000
        for index in 0..<frames {
            let jitter = Double(generator.next() % 10_000) / 1000 - 5
            counts[schedule.add(time(Double(index) * 1000 / 30.03 + jitter)), default: 0] += 1
        }
        #expect((99...101).contains(counts[0] ?? 0), "the first frame's answer, and the frames dropped")
        #expect(counts[2] == nil)
        #expect(counts.keys.allSatisfy { $0 <= 1 })
    }

    @Test func nothingDriftsInADay() throws {
        let rate = try #require(FrameRate(30000, per: 1001))
        var schedule = ConstantRateSchedule(rate: rate)
        var total: Int64 = 0
        for index in 0..<24 * 60 as Range<Int64> { total += schedule.add(time(Double(index) * 60_000)) }
        total += schedule.finish(at: time(24 * 3600 * 1000))
        #expect(total == 2_589_411, "86400 · 30000 / 1001 = 2589410.6")
    }

    @Test func aGapThatIsTooLongIsLeftOut() {
        var schedule = ConstantRateSchedule(rate: 10, maximumGap: .seconds(60))
        #expect(schedule.add(time(0)) == 0)
        #expect(schedule.add(time(60_000)) == 600)
        #expect(schedule.timeLeftOut == .zero)
        #expect(schedule.add(time(60_000 + 86_400_000)) == 1)
        #expect(schedule.timeLeftOut == .milliseconds(86_399_900))
        #expect(schedule.add(time(60_100 + 86_400_000)) == 1)
        #expect(schedule.finish(at: time(10 * 86_400_000)) == 1)
        #expect(schedule.timeLeftOut > .seconds(8 * 86_400))
    }

    @Test func damagedTimestampsDoNotTrap() {
        var schedule = ConstantRateSchedule(rate: 240)
        let times: [Int64] = [.min, .max, 0, .max, .min, .max]
        let total = times.reduce(0) { $0 + schedule.add(MediaTime(nanoseconds: $1)) }
        #expect(total <= 5)
        #expect(schedule.finish(at: MediaTime(nanoseconds: .max)) == 1)
    }

    @Test func nothingIsWrittenFromTheMaximumDurationOn() {
        #expect(counts([0], end: 8250, maximumDuration: .seconds(8)) == [80])
        #expect(counts([0, 2000, 8100], end: 8250, maximumDuration: .seconds(8)) == [20, 60, 0])
        // As a capture of 1010 ms takes frames: all that begin before.
        #expect(counts((0...10).map { Double($0) * 100 }, maximumDuration: .milliseconds(1010)).reduce(0, +) == 11)
        #expect(counts([0, 100], maximumDuration: .milliseconds(1)).reduce(0, +) == 1)
    }
}
