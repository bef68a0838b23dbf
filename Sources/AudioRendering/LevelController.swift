import AudioCapturing

/// Holds the level of live sound by the rate at which it is played: the clocks of its source and of the loudspeaker differ
/// by 20 to 100 millionths, which would empty or fill a buffer of four seconds within a day.
///
/// The correction is in proportion to the smoothed difference from the level to hold, at most ``maximum``, which is
/// inaudible; it changes slowly.
package struct LevelController: Sendable {
    /// The largest correction, in millionths.
    package static let maximum = 2000.0
    /// The largest change of the correction per second.
    package static let maximumChange = 50.0
    /// The time constant of the smoothing.
    private static let smoothing = 10.0
    /// How long the level is watched before it becomes the target.
    private static let settling = 5.0

    /// The levels that may be held, in seconds.
    private let targets: ClosedRange<Double>
    /// The correction for a second of difference.
    private let gain: Double
    /// The level to hold, in seconds; nil before it is known.
    package private(set) var target: Double?
    /// The correction in millionths: how much longer the sound is made.
    package private(set) var correction = 0.0
    /// The smoothed level.
    package private(set) var smoothed: Double?
    private var began: MediaTime?
    private var last: MediaTime?

    /// For a stream of which a burst was received: the level that there is soon after the start is held, a second or more.
    package init() {
        targets = 1.0...6.0
        gain = LevelController.maximum / 0.5
    }

    /// For sound of which little is held.
    ///
    /// - Parameter level: how much, in seconds; the correction is at its largest when half of it is missing.
    package init(holding level: Double) {
        targets = level...level
        gain = LevelController.maximum / (level / 2)
    }

    /// Takes a look at the level.
    ///
    /// - Parameters:
    ///   - level: the sound received and not yet heard, in seconds.
    ///   - now: the time; later than that of the last look.
    /// - Returns: the correction in millionths.
    package mutating func update(level: Double, now: MediaTime) -> Double {
        guard let last, let smoothed else {
            (began, last, smoothed) = (now, now, level)
            return correction
        }
        let elapsed = Double(max(0, now.nanoseconds(since: last))) / 1e9
        self.last = now
        let weight = elapsed / (LevelController.smoothing + elapsed)
        let value = smoothed + (level - smoothed) * weight
        self.smoothed = value
        guard let target else {
            if let began, Double(now.nanoseconds(since: began)) / 1e9 >= LevelController.settling {
                self.target = min(max(value, targets.lowerBound), targets.upperBound)
            }
            return correction
        }
        let wanted = min(
            max((target - value) * gain, -LevelController.maximum), LevelController.maximum)
        let step = LevelController.maximumChange * elapsed
        correction = min(max(wanted, correction - step), correction + step)
        return correction
    }

    /// After an underrun or a new connection the level is another; the target stays, and the smoothing begins again.
    package mutating func restart() {
        smoothed = nil
        last = nil
        began = nil
    }
}
