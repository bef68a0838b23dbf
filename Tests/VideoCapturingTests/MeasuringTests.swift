import Testing
import VideoCapturing

@Suite struct MeasuringTests {
    @Test func estimatesTheNominalRateExactly() {
        let rate = FrameRate(30000, per: 1001)!
        var estimator = FrameRateEstimator()
        for index in 0..<100 {
            let jitter: Int64 = index % 2 == 0 ? 0 : 100_000
            let time = MediaTime(nanoseconds: rate.time(ofFrame: Int64(index)).nanoseconds + jitter)
            let estimate = estimator.add(time, nominal: rate)
            #expect(estimate == (index == 0 ? nil : rate))
        }
    }

    @Test func followsAChangedRate() {
        var estimator = FrameRateEstimator()
        var time = MediaTime.zero
        var estimate: FrameRate?
        for (count, interval) in [(40, 10), (40, 40)] {
            for _ in 0..<count {
                estimate = estimator.add(time, nominal: nil)
                time = time.advanced(by: .milliseconds(interval))
            }
            #expect(estimate == FrameRate(Int32(1000 / interval), per: 1))
        }
    }

    @Test func equalTimesAreNoRate() {
        var estimator = FrameRateEstimator()
        for index in 0..<40 {
            let estimate = estimator.add(.zero, nominal: nil)
            // A nanosecond is the least interval, and a rate of a thousand million is out of range.
            #expect(estimate == nil, "frame \(index)")
        }
    }

    /// As a damaged file states them.
    @Test(arguments: [nil, 25] as [FrameRate?]) func leapsInTimeAreNoRate(nominal: FrameRate?) {
        var estimator = FrameRateEstimator()
        for nanoseconds in [0, 40_000_000, .max - 1, .max] as [Int64] {
            _ = estimator.add(MediaTime(nanoseconds: nanoseconds), nominal: nominal)
        }
        let rate = estimator.add(MediaTime(nanoseconds: .min), nominal: nominal)
        #expect(rate != nominal || nominal == nil)
    }

    @Test(arguments: [(100, 25, 100), (30, 20, 200), (60, 60, 300), (30, 60, 150), (100, 1, 5)])
    func decimatesEvenly(source: Int32, limit: Int32, expected: Int) {
        let (own, wanted) = (FrameRate(source, per: 1)!, FrameRate(limit, per: 1)!)
        var limiter = FrameRateLimiter()
        var kept = 0
        for index in 0..<(Int64(source) * (source == 100 && limit == 25 ? 4 : source == 30 && limit == 20 ? 10 : 5)) {
            if limiter.shouldPass(
                MediaTime(nanoseconds: own.time(ofFrame: index).nanoseconds), sequenceNumber: UInt64(index), at: wanted)
            {
                kept += 1
            }
        }
        // Half a frame early counts as due already, so one more may fit in at the end.
        #expect(kept == expected || kept == expected + 1)
    }

    @Test func jitterAtTheLimitDropsNothing() {
        var limiter = FrameRateLimiter()
        let rate: FrameRate = 30
        for index in 0..<300 as Range<Int64> {
            let jitter = Int64([0, -6, 5, -3][Int(index % 4)]) * 1_000_000
            let time = MediaTime(nanoseconds: rate.time(ofFrame: index).nanoseconds + 1_000_000_000 + jitter)
            let isKept = limiter.shouldPass(time, sequenceNumber: UInt64(index), at: rate)
            #expect(isKept)
        }
        let isKeptWithoutLimit = limiter.shouldPass(.zero, sequenceNumber: 0, at: nil)
        #expect(isKeptWithoutLimit)
    }

    @Test func quantilesAreNearTheTruth() throws {
        var histogram = LatencyHistogram()
        #expect(histogram.quantile(0.5) == nil)
        for value in 1...100_000 as ClosedRange<Int64> { histogram.record(nanoseconds: value * 1000) }
        for (part, truth) in [(0.5, 50_000_000.0), (0.99, 99_000_000), (0.001, 100_000)] {
            let found = Double(try #require(histogram.quantile(part)).nanoseconds)
            #expect(found >= truth * 0.999 && found <= truth * 1.033, "\(part): \(found)")
        }
        #expect(histogram.quantile(1) == .nanoseconds(100_000_000))
        #expect(histogram.count == 100_000)
    }

    @Test func extremesDoNotTrap() {
        var histogram = LatencyHistogram()
        for value in [-5, 0, 31, 32, Int64.max] { histogram.record(nanoseconds: value) }
        #expect(histogram.quantile(0) == .zero)
        #expect(histogram.quantile(2) == .nanoseconds(Int64.max))
        var other = LatencyHistogram()
        other.record(nanoseconds: 7)
        histogram.merge(other)
        #expect(histogram.count == 6)
    }
}
