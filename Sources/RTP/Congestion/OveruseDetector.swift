/// Finds whether the queue of the bottleneck grows: the slope of the delay over the last groups, against a threshold that
/// adapts, so that a competitor with a queue of its own making does not starve this one.
///
/// libwebrtc's trendline filter in place of the Kalman filter of draft-ietf-rmcat-gcc-02; its detector is 5.4 there.
/// Times are milliseconds.
struct OveruseDetector {
    enum Usage: Hashable {
        case normal, over, under
    }

    private(set) var usage = Usage.normal
    /// The slope of the delay, times the number of groups and the gain, in milliseconds.
    private(set) var trend = 0.0
    /// What a trend must exceed.
    private(set) var threshold = 12.5

    private static let windowLength = 20
    private static let smoothing = 0.9
    private static let gain = 4.0
    private static let overuseTime = 10.0
    private static let rise = 0.0087
    private static let fall = 0.0006
    private static let thresholds = 6.0...600.0
    /// A trend that exceeds the threshold by more does not adapt it: it is one of a sudden change.
    private static let outlier = 15.0

    private struct Point {
        /// When it arrived.
        var x = 0.0
        /// The smoothed delay.
        var y = 0.0
    }

    /// The points of the line. A ring.
    private var window = [Point](repeating: Point(), count: windowLength)
    private var changeCount = 0
    private var delay = 0.0
    private var smoothed = 0.0
    private var slope = 0.0
    private var overTime: Double?
    private var overCount = 0
    private var lastUpdate: Double?

    mutating func add(_ change: ArrivalGroups.Change) {
        delay += change.delay
        smoothed = OveruseDetector.smoothing * smoothed + (1 - OveruseDetector.smoothing) * delay
        window[changeCount % OveruseDetector.windowLength] = Point(x: change.arrival, y: smoothed)
        changeCount += 1
        let last = slope
        if changeCount >= OveruseDetector.windowLength { slope = fittedSlope() ?? slope }
        detect(change, since: last)
    }

    /// What was found is acted upon: an overuse must be found again.
    mutating func reset() {
        usage = .normal
        overTime = nil
        overCount = 0
    }

    private func fittedSlope() -> Double? {
        let count = Double(OveruseDetector.windowLength)
        var meanX = 0.0
        var meanY = 0.0
        for point in window {
            meanX += point.x / count
            meanY += point.y / count
        }
        var covariance = 0.0
        var variance = 0.0
        for point in window {
            covariance += (point.x - meanX) * (point.y - meanY)
            variance += (point.x - meanX) * (point.x - meanX)
        }
        return variance > 0 ? covariance / variance : nil
    }

    private mutating func detect(_ change: ArrivalGroups.Change, since last: Double) {
        guard changeCount >= 2 else { return }
        trend = min(Double(changeCount), 60) * slope * OveruseDetector.gain
        if trend > threshold {
            overTime = overTime.map { $0 + change.sendInterval } ?? change.sendInterval / 2
            overCount += 1
            if overTime ?? 0 > OveruseDetector.overuseTime, overCount > 1, slope >= last {
                overTime = 0
                overCount = 0
                usage = .over
            }
        } else {
            overTime = nil
            overCount = 0
            usage = trend < -threshold ? .under : .normal
        }
        let excess = abs(trend) - threshold
        let elapsed = min(max(change.arrival - (lastUpdate ?? change.arrival), 0), 100)
        lastUpdate = change.arrival
        guard excess <= OveruseDetector.outlier else { return }
        let factor = excess < 0 ? OveruseDetector.fall : OveruseDetector.rise
        threshold = min(
            max(threshold + factor * excess * elapsed, OveruseDetector.thresholds.lowerBound),
            OveruseDetector.thresholds.upperBound)
    }
}
