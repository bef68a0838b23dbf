import Testing
import VideoCapturing

@Suite struct FrameRateTests {
    @Test(arguments: [
        ("30", 30, 1), ("12.5", 25, 2), ("29.97", 30000, 1001), ("23.976", 24000, 1001), ("23.98", 24000, 1001),
        ("59.94", 60000, 1001), ("119.88", 120000, 1001), ("30000/1001", 30000, 1001), ("60/2", 30, 1),
        ("0.5", 1, 2), ("29.5", 59, 2), ("30.0", 30, 1),
    ])
    func readsRates(text: String, frames: Int32, seconds: Int32) {
        let rate = FrameRate(text)
        #expect(rate?.frames == frames)
        #expect(rate?.seconds == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "0.0", "1/0", "0/1", "-30/1", "30/-1", "30/", "/30", "abc", "3e1", "30 ", "1.1234567",
        "99999999999", "99999999999.5", "1/99999999999", "-0.5", ".", "5.", "+.5",
    ])
    func refusesNonsense(text: String) {
        #expect(FrameRate(text) == nil)
    }

    @Test func placesFramesWithoutDrift() throws {
        let rate = try #require(FrameRate(30000, per: 1001))
        #expect(rate.time(ofFrame: 1) == .nanoseconds(33_366_667))
        // 30000 frames take exactly 1001 seconds, however many there were before.
        #expect(rate.time(ofFrame: 30_000 * 1_000_000) == .seconds(1001 * 1_000_000))
    }

    @Test(arguments: [
        FrameRate(30, per: 1)!, FrameRate(30000, per: 1001)!, FrameRate(1, per: 7)!, FrameRate(1000, per: 1)!,
    ])
    func findsTheFrameOfATime(rate: FrameRate) {
        for index in [0, 1, 2, 3, 29, 30, 31, 999_983, 1 << 28] as [Int64] {
            let due = rate.time(ofFrame: index)
            #expect(rate.frameIndex(at: due) == index)
            #expect(rate.frameIndex(at: due - .nanoseconds(1)) == index - 1)
        }
    }

    /// In 64 bits or, where those do not hold it, in 128: the same, rounded to the nearest, and clamped in the end.
    @Test(arguments: [
        FrameRate(30, per: 1)!, FrameRate(30000, per: 1001)!, FrameRate(1, per: 7)!, FrameRate(.max, per: .max - 1)!,
        FrameRate(1, per: .max)!, FrameRate(.max, per: 1)!,
    ])
    func placesAnyFrame(rate: FrameRate) {
        var indices: [Int64] = [0, 1, 2, 9_223_372_036, 9_223_372_037, 1 << 40, .max / 1000, .max - 1, .max]
        indices += indices.map { -$0 } + [.min]
        for index in indices {
            let (count, frames) = (Int128(index) * Int128(rate.seconds) * 1_000_000_000, Int128(rate.frames))
            let nearest = (count + (index < 0 ? -frames : frames) / 2) / frames
            #expect(rate.time(ofFrame: index).nanoseconds == Int64(clamping: nearest), "\(index)")
        }
    }

    @Test func comparesExactly() {
        #expect(FrameRate(30000, per: 1001)! < 30)
        #expect(FrameRate(interval: .nanoseconds(33_366_667))?.description == "2997/100")
        #expect(FrameRate(interval: .zero) == nil)
    }
}
