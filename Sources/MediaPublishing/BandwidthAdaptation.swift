import VideoCapturing

/// Decides which rate and size of frames a bitrate is enough for: first the rate is lowered, then the size, then both in
/// turn, as libwebrtc's balanced degradation does. Of screens only the rate is lowered, so that text stays legible.
///
/// Down when the bitrate has been too low for two seconds, and all of it is used, at once as far as need be; up when it has been
/// enough for five seconds, with a quarter to spare. Pictures that need less than others of their size count as that much
/// smaller: without that, receivers that estimate not much more than they get would never see the full size again. A step up
/// that did not hold doubles that wait, up to a minute, so nothing swings. A bitrate that is all that was configured is never
/// too low.
///
/// A value without clock: times come in, with the frames.
struct BandwidthAdaptation {
    /// One step of relief; each needs less than the one before.
    struct Rung: Hashable {
        /// The part of the frames that is kept.
        var ratePart: Double
        /// The part of the pixels that is kept.
        var pixelPart: Double
    }

    private static let balanced = [
        (1, 1), (2.0 / 3, 1), (0.5, 1), (0.5, 0.5625), (0.5, 0.25), (1.0 / 3, 0.25), (1.0 / 3, 0.140625),
        (1.0 / 3, 0.0625),
    ].map { Rung(ratePart: $0.0, pixelPart: $0.1) }
    private static let detailed = [1, 2.0 / 3, 0.5, 1.0 / 3].map { Rung(ratePart: $0, pixelPart: 1) }

    /// What a picture of 640x360 at 30 frames per second needs, from libwebrtc's limits of its encoders for VP8 and H.264.
    private static let neededBitrate = 256_000.0
    private static let neededPixels = 640.0 * 360
    private static let neededRate = 30.0
    /// Below these nothing is gained any more.
    private static let minimumPixels = 160.0 * 90
    private static let minimumRate = 8.0

    private static let timeout = Duration.seconds(2)
    private static let margin = 1.25
    /// The part of the bitrate from which on it is all used.
    private static let used = 0.8
    private static let firstRecovery = Duration.seconds(5)
    private static let longestRecovery = Duration.seconds(60)

    private let rungs: [Rung]
    private let maximumBitrate: Int
    private let frameRate: Double
    private(set) var index = 0
    /// What was made of the bitrate, smoothed over a second.
    private var produced = 0.0
    private var lastTime: MediaTime?
    private var starvedSince: MediaTime?
    /// Since when a higher rung is possible, and the lowest one that was all that time.
    private var relaxed: (since: MediaTime, index: Int)?
    private var lastRecovery: MediaTime?
    private var recoveryWait = BandwidthAdaptation.firstRecovery

    /// - Parameters:
    ///   - maximumBitrate: what the encoder was configured for, in bits per second.
    ///   - frameRate: the rate without any relief.
    ///   - contentHint: what the frames show.
    init(maximumBitrate: Int, frameRate: FrameRate, contentHint: VideoContentHint) {
        self.maximumBitrate = maximumBitrate
        self.frameRate = frameRate.framesPerSecond
        rungs =
            contentHint == .detail || contentHint == .text
            ? BandwidthAdaptation.detailed : BandwidthAdaptation.balanced
    }

    /// What is to be done now.
    var rung: Rung { rungs[index] }

    /// Takes the bitrate at which a frame is encoded, in bits per second.
    ///
    /// - Parameters:
    ///   - bitrate: what the encoder aims at.
    ///   - bytes: what it has made of the frame.
    ///   - pixelCount: the pixels of a frame without any relief.
    ///   - time: of the frame.
    mutating func update(bitrate: Int, bytes: Int, pixelCount: Int, at time: MediaTime) {
        measure(bytes, at: time)
        let isEnough = bitrate >= needed(rung, pixelCount) || produced < BandwidthAdaptation.used * Double(bitrate)
        guard isEnough else {
            relaxed = nil
            let since = starvedSince ?? time
            starvedSince = since
            guard time - since >= BandwidthAdaptation.timeout else { return }
            let lower = highest(for: Double(bitrate), pixelCount)
            guard lower > index else { return }
            if let lastRecovery {
                let hasHeld = time - lastRecovery >= recoveryWait + recoveryWait
                recoveryWait =
                    hasHeld
                    ? BandwidthAdaptation.firstRecovery
                    : min(BandwidthAdaptation.longestRecovery, recoveryWait + recoveryWait)
            }
            move(to: lower)
            return
        }
        starvedSince = nil
        let spare = bitrate >= maximumBitrate ? .infinity : Double(bitrate) / BandwidthAdaptation.margin
        let share = min(1, produced / Double(needed(rung, pixelCount)))
        let possible = highest(for: spare / max(share, 0.01), pixelCount)
        guard possible < index else {
            relaxed = nil
            return
        }
        let since = relaxed?.since ?? time
        let lowest = max(relaxed?.index ?? possible, possible)
        relaxed = (since, lowest)
        guard time - since >= recoveryWait else { return }
        lastRecovery = time
        move(to: lowest)
    }

    /// What a capture is asked for.
    ///
    /// - Parameter pixelCount: the pixels of a frame without any relief.
    func wants(pixelCount: Int) -> CaptureWants {
        var wants = CaptureWants()
        if rung.ratePart < 1 {
            let thousandths = (frameRate * rung.ratePart * 1000).rounded()
            wants.maximumFrameRate = FrameRate(Int32(clamping: Int(thousandths)), per: 1000)
        }
        if rung.pixelPart < 1 {
            wants.maximumPixelCount = Int(Double(pixelCount) * rung.pixelPart)
            wants.sizeAlignment = 2
        }
        return wants
    }

    private mutating func measure(_ bytes: Int, at time: MediaTime) {
        let elapsed = max(0.001, min(1, lastTime.map { (time - $0).seconds } ?? 1))
        lastTime = time
        produced += (Double(bytes * 8) / elapsed - produced) * elapsed
    }

    private mutating func move(to index: Int) {
        self.index = index
        starvedSince = nil
        relaxed = nil
    }

    /// The first rung for which a bitrate is enough, or the last one that is of use.
    private func highest(for bitrate: Double, _ pixelCount: Int) -> Int {
        var found = 0
        for index in rungs.indices {
            let rung = rungs[index]
            guard index == 0 || isOfUse(rung, pixelCount) else { continue }
            found = index
            if Double(needed(rung, pixelCount)) <= bitrate { break }
        }
        return found
    }

    private func isOfUse(_ rung: Rung, _ pixelCount: Int) -> Bool {
        (rung.ratePart == 1 || frameRate * rung.ratePart >= BandwidthAdaptation.minimumRate)
            && (rung.pixelPart == 1 || Double(pixelCount) * rung.pixelPart >= BandwidthAdaptation.minimumPixels)
    }

    /// In bits per second. Half of the frames need more than half of the bits, since they differ more; small pictures more
    /// for each pixel.
    private func needed(_ rung: Rung, _ pixelCount: Int) -> Int {
        let pixels = (Double(pixelCount) * rung.pixelPart / BandwidthAdaptation.neededPixels).squareRoot()
        let rate = (frameRate * rung.ratePart / BandwidthAdaptation.neededRate).squareRoot()
        return min(
            maximumBitrate, Int(BandwidthAdaptation.neededBitrate * pixels * pixels.squareRoot() * rate))
    }
}
