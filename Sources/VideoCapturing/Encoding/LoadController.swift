/// Decides how far encoding must be made cheaper to keep up with a live source, and when it may become dearer
/// again: first faster settings, then fewer frames, then fewer pixels.
///
/// Down a rung when the encoder has been busy for more than 85 % of the time for a second; up one when it has been
/// busy for less than 60 %, counted at the dearer rung, for five seconds. A rung that was left upwards too early
/// doubles that wait, up to a minute, so nothing swings.
package struct LoadController {
    /// One step of relief; each is cheaper than the one before.
    package struct Rung: Hashable {
        /// The encoder's own setting.
        package var speed: Int
        /// The part of the frames that is kept.
        package var ratePart: Double
        /// The part of the pixels that is kept.
        package var pixelPart: Double
        /// About what a second of video costs relative to the first step.
        package var cost: Double
    }

    private static let busy = 0.85
    private static let relaxed = 0.6
    private static let timeout = Duration.seconds(1)
    private static let firstRecovery = Duration.seconds(5)
    private static let longestRecovery = Duration.seconds(60)

    private let rungs: [Rung]
    private var index = 0
    /// Smoothed over about half a second.
    private var load = 0.0
    private var lastTime: MediaTime?
    private var overloadedSince: MediaTime?
    private var relaxedSince: MediaTime?
    private var lastRecovery: MediaTime?
    private var recoveryWait = LoadController.firstRecovery

    /// - Parameter speeds: the encoder's own settings from the first rung on, each with what it costs relative to the
    ///   first, whose cost is 1; at least one.
    package init(speeds: [(speed: Int, cost: Double)]) {
        var rungs = speeds.map { Rung(speed: $0.speed, ratePart: 1, pixelPart: 1, cost: $0.cost) }
        let fastest = rungs[rungs.count - 1]
        for (rate, pixels) in [(2.0 / 3, 1.0), (0.5, 1), (0.5, 0.5625), (0.5, 0.25)] {
            rungs.append(
                Rung(speed: fastest.speed, ratePart: rate, pixelPart: pixels, cost: fastest.cost * rate * pixels))
        }
        self.rungs = rungs
    }

    /// The current step.
    package var rung: Rung { rungs[index] }

    /// What the capture is asked for at this rung.
    ///
    /// - Parameters:
    ///   - frameRate: the rate without any relief.
    ///   - pixelCount: the pixels of a frame without any relief.
    package func wants(frameRate: FrameRate, pixelCount: Int) -> CaptureWants {
        var wants = CaptureWants(sizeAlignment: rung.pixelPart < 1 ? 2 : 1)
        if rung.ratePart < 1 {
            let thousandths = Int32(clamping: Int64(frameRate.framesPerSecond * rung.ratePart * 1000))
            wants.maximumFrameRate = FrameRate(thousandths, per: 1000)
        }
        if rung.pixelPart < 1 { wants.maximumPixelCount = max(16 * 16, Int(Double(pixelCount) * rung.pixelPart)) }
        return wants
    }

    /// Takes how long a frame took to encode, and the interval to the next one; true when the rung has changed.
    package mutating func add(encodeTime: Duration, interval: Duration, at time: MediaTime) -> Bool {
        let elapsed = lastTime.map { (time - $0).seconds } ?? interval.seconds
        lastTime = time
        let current = encodeTime.seconds / max(interval.seconds, 1e-6)
        let weight = min(1, max(elapsed, interval.seconds) / 0.5)
        load += (current - load) * weight
        if load > LoadController.busy {
            relaxedSince = nil
            let since = overloadedSince ?? time
            overloadedSince = since
            guard time - since >= LoadController.timeout, index < rungs.count - 1 else { return false }
            if let lastRecovery, time - lastRecovery < recoveryWait {
                recoveryWait = min(LoadController.longestRecovery, recoveryWait + recoveryWait)
            }
            move(to: index + 1)
            return true
        }
        overloadedSince = nil
        guard index > 0, load * rungs[index - 1].cost / rung.cost < LoadController.relaxed else {
            relaxedSince = nil
            return false
        }
        let since = relaxedSince ?? time
        relaxedSince = since
        guard time - since >= recoveryWait else { return false }
        lastRecovery = time
        move(to: index - 1)
        return true
    }

    private mutating func move(to index: Int) {
        // What the load will be at the new rung, so that the next decision does not rest on the old one.
        load *= rungs[index].cost / rung.cost
        self.index = index
        overloadedSince = nil
        relaxedSince = nil
    }
}
