import Testing
import VideoCapturing

@Suite struct MediaTimeTests {
    /// Toward zero, on either side of what 64 bits of attoseconds hold, and of what they hold without nine bits.
    @Test func countsWholeNanoseconds() {
        let attoseconds: [Int128] = [
            0, 1, 999_999_999, 1_000_000_000, 1_999_999_999, 1 << 63, (1 << 63) - 1, (1 << 72) - 1, 1 << 72,
            9_223_372_036_854_775_807_999_999_999,
        ]
        for value in attoseconds {
            #expect(Duration(attoseconds: value).nanoseconds == Int64(value / 1_000_000_000))
            #expect(Duration(attoseconds: -value).nanoseconds == -Int64(value / 1_000_000_000))
        }
    }

    @Test func clampsWhatAFloatingPointNumberIsTooLargeFor() {
        for (number, expected) in [
            (0.4, 0), (0.5, 1), (-1.5, -2), (1e18, 1_000_000_000_000_000_000), (0x1p63, .max), (1e300, .max),
            (.infinity, .max), (-0x1p63, .min), (-1e300, .min), (-.infinity, .min), (.nan, 0),
        ] as [(Double, Int64)] {
            #expect(Duration(clampingNanoseconds: number) == .nanoseconds(expected), "\(number)")
        }
    }

    @Test func clampsWhatIsTooLong() {
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
        #expect(Duration.seconds(Int64.min).nanoseconds == .min)
        let (first, last) = (MediaTime(nanoseconds: .min), MediaTime(nanoseconds: .max))
        #expect((last - first).nanoseconds == .max && (first - last).nanoseconds == .min)
        #expect(last.advanced(by: .seconds(1)) == last && first.advanced(by: .seconds(-1)) == first)
    }

    @Test func durationsAreAddedAndTakenAway() {
        var time = MediaTime(nanoseconds: 5) + .nanoseconds(10)
        #expect(time == MediaTime(nanoseconds: 15))
        #expect(time - .nanoseconds(20) == MediaTime(nanoseconds: -5))
        time += .seconds(1)
        time -= .nanoseconds(15)
        #expect(time == MediaTime(nanoseconds: 1_000_000_000))
        #expect(MediaTime(nanoseconds: .max) + .seconds(1) == MediaTime(nanoseconds: .max))
        #expect(MediaTime(nanoseconds: .min) - .seconds(1) == MediaTime(nanoseconds: .min))
    }
}
