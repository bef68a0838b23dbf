import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct FrameIntervalTests {
    @Test(
        arguments: [
            (1, 30, "30"), (1001, 30000, "30000/1001"), (333_333, 10_000_000, "10000000/333333"), (2, 60, "30"),
            (.max, .max, "1"), (1, .max, "2147483647"), (.max, 1, "1/2147483647"), (2, .max, "2147483647"),
        ] as [(UInt32, UInt32, String)])
    func invertsExactly(numerator: UInt32, denominator: UInt32, rate: String) {
        #expect(FrameInterval(numerator: numerator, denominator: denominator).frameRate?.description == rate)
    }

    @Test(arguments: [(0, 0), (0, 1), (1, 0)] as [(UInt32, UInt32)])
    func hasNoRateForNonsense(numerator: UInt32, denominator: UInt32) {
        #expect(FrameInterval(numerator: numerator, denominator: denominator).frameRate == nil)
    }

    /// Steps of 1/100 s from 1/50 s to 1/2 s.
    @Test(
        arguments: [
            (60, ["50"]), (50, ["50"]), (30, ["25", "50"]), (25, ["25", "50"]), (24, ["20", "50"]), (1, ["2", "50"]),
        ] as [(FrameRate, [String])])
    func snapsToTheSlower(desired: FrameRate, rates: [String]) {
        let range: FrameIntervals = .range(
            shortest: FrameInterval(numerator: 1, denominator: 50),
            longest: FrameInterval(numerator: 1, denominator: 2),
            step: FrameInterval(numerator: 1, denominator: 100))
        #expect(range.rates(near: desired).map(\.description) == rates)
    }

    @Test(
        arguments: [
            (30, "30"), (FrameRate(30000, per: 1001)!, "29.97"), (FrameRate(25, per: 2)!, "12.5"),
            (FrameRate(1, per: 7)!, "0.143"), (FrameRate(1, per: 100_000)!, "1/100000"),
            (FrameRate(30005, per: 1000)!, "30.005"),
        ] as [(FrameRate, String)])
    func writesRatesForPeople(rate: FrameRate, text: String) {
        #expect(rate.text == text)
    }

    @Test func snapsSizesUpToTheGrid() {
        let range = FrameSizeRange(
            minWidth: 48, maxWidth: 1000, stepWidth: 16, minHeight: 32, maxHeight: 600, stepHeight: 0)
        #expect(range.snapped(PixelSize("353x287")) == PixelSize("368x287"))
        #expect(range.snapped(PixelSize("2x2")) == PixelSize("48x32"))
        #expect(range.largest == PixelSize("992x600"))
        let empty = FrameSizeRange(minWidth: 10, maxWidth: 5, stepWidth: 1, minHeight: 1, maxHeight: 1, stepHeight: 1)
        #expect(empty.smallest == nil)
    }
}
