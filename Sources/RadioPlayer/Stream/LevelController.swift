import AudioCapturing

/// Holds the level of a live stream by the rate at which it is played: the server's clock and the loudspeaker's differ by
/// 20 to 100 millionths, which would empty or fill a buffer of four seconds within a day.
///
/// The level that there is soon after the start is the one to hold. The correction is in proportion to the smoothed
/// difference, at most ``maximum`` (at half a second), which is inaudible; it changes slowly.
struct LevelController {
    /// The largest correction, in millionths.
    static let maximum = 2000.0
    /// The largest change of the correction per second.
    static let maximumChange = 50.0
    /// The correction for a second of difference.
    private static let gain = maximum / 0.5
    /// The time constant of the smoothing.
    private static let smoothing = 10.0
    /// How long the level is watched before it becomes the target.
    private static let settling = 5.0
    private static let targets = 1.0...6.0

    /// The level to hold, in seconds; nil before it is known.
    private(set) var target: Double?
    /// The correction in millionths: how much longer the sound is made.
    private(set) var correction = 0.0
    /// The smoothed level.
    private(set) var smoothed: Double?
    private var began: MediaTime?
    private var last: MediaTime?

    /// Takes a look at the level.
    ///
    /// - Parameters:
    ///   - level: the sound received and not yet heard, in seconds.
    ///   - now: the time; later than that of the last look.
    /// - Returns: the correction in millionths.
    mutating func update(level: Double, now: MediaTime) -> Double {
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
                self.target = min(max(value, LevelController.targets.lowerBound), LevelController.targets.upperBound)
            }
            return correction
        }
        let wanted = min(
            max((target - value) * LevelController.gain, -LevelController.maximum), LevelController.maximum)
        let step = LevelController.maximumChange * elapsed
        correction = min(max(wanted, correction - step), correction + step)
        return correction
    }

    /// After an underrun or a new connection the level is another; the target stays, and the smoothing begins again.
    mutating func restart() {
        smoothed = nil
        last = nil
        began = nil
    }
}
