/// The rate that the delay allows: raised while the queue of the bottleneck is short, lowered below what arrives when it
/// grows (AIMD).
///
/// draft-ietf-rmcat-gcc-02, 5.5, with the constants of libwebrtc's `aimd_rate_control`. Rates are bits per second, times
/// seconds.
struct DelayController {
    /// The rate allowed.
    private(set) var rate: Double
    /// When it was lowered last; nil when it was not.
    private(set) var lastDecrease: Double?

    private enum State {
        case hold, increase
    }

    private static let decrease = 0.85
    /// The logarithms of the growth per second: of 8 %, and of a half at the start.
    private static let growth = 0.0769610411
    private static let firstGrowth = 0.405465
    /// More than what is sent is never allowed by much, so that a source that idles proves nothing.
    private static let allowance = 1.5

    private var state = State.increase
    /// Until the link has shown what it takes: by a queue that grows, or by a probe.
    private var isStarting = true
    private var lastUpdate: Double?
    private var link = LinkCapacity()

    init(start: Double) { rate = start }

    /// Follows what feedback has shown.
    ///
    /// - Parameters:
    ///   - usage: what the detector found.
    ///   - received: what arrives, over the last half second; nil when that is not known yet.
    ///   - recent: the same, of the newest fifth of a second.
    ///   - isBurst: whether more than the rate was sent just now.
    ///   - roundTrip: the round-trip time, in seconds.
    ///   - now: the time.
    mutating func update(
        _ usage: OveruseDetector.Usage, received: Double?, recent: Double?, isBurst: Bool, roundTrip: Double,
        now: Double
    ) {
        let elapsed = min(max(now - (lastUpdate ?? now), 0), 1)
        lastUpdate = now
        switch usage {
        case .over: lower(received, recent, isBurst, now)
        case .under: state = .hold
        case .normal:
            // Once the queue is empty again.
            if state == .hold { state = .increase }
            raise(received, roundTrip: roundTrip, elapsed)
        }
    }

    private mutating func lower(_ received: Double?, _ recent: Double?, _ isBurst: Bool, _ now: Double) {
        state = .hold
        isStarting = false
        // What is sent after a decrease, until the encoder has followed, is not one.
        let isBurst = isBurst && now - (lastDecrease ?? -.infinity) > 1
        lastDecrease = now
        guard let received, let recent else {
            rate /= 2
            return
        }
        // The queue of a key frame becomes shorter anyway; it shows what the link can take.
        rate = min(rate, isBurst ? recent : DelayController.decrease * min(received, recent))
        link.add(received)
    }

    private mutating func raise(_ received: Double?, roundTrip: Double, _ elapsed: Double) {
        if let received, received > link.upperBound { link.reset() }
        let limit = received.map { DelayController.allowance * $0 + 10_000 } ?? .infinity
        guard rate < limit else { return }
        let raised: Double
        if link.isKnown {
            // About a packet in the time after which its effect shows, and half of what is raised elsewhere at high rates.
            let frame = rate / 30
            let packet = frame / (frame / 9600).rounded(.up)
            raised = rate + max(4000, packet / (roundTrip + 0.1), 0.04 * rate) * elapsed
        } else {
            raised =
                rate
                * DelayController.growth(
                    elapsed, isStarting ? DelayController.firstGrowth : DelayController.growth)
        }
        rate = min(raised, limit)
    }

    /// Adopts what a probe has shown, when that is more.
    mutating func adopt(_ measured: Double) {
        rate = max(rate, measured)
        isStarting = false
    }

    /// Lowers the rate for another reason.
    mutating func limit(to other: Double) { rate = min(rate, other) }

    /// The factor after `elapsed`, of at most a second, to the hundredth.
    private static func growth(_ elapsed: Double, _ logarithm: Double) -> Double {
        let exponent = elapsed * logarithm
        return 1 + exponent + exponent * exponent / 2
    }
}

/// Where the delay has grown before: mean and variance of what arrived then, in bits per second.
private struct LinkCapacity {
    private var mean: Double?
    /// Relative to the mean.
    private var variance = 0.4
    private static let weight = 0.05

    var isKnown: Bool { mean != nil }
    private var deviation: Double { 3 * (variance * (mean ?? 0) / 1000).squareRoot() * 1000 }
    var upperBound: Double { mean.map { $0 + deviation } ?? .infinity }

    mutating func add(_ received: Double) {
        if let mean, abs(received - mean) > deviation { reset() }
        guard let old = mean else {
            mean = received
            return
        }
        let error = (old - received) / 1000
        let updated = (1 - LinkCapacity.weight) * old + LinkCapacity.weight * received
        mean = updated
        let relative = error * error / max(updated / 1000, 1)
        variance = min(max((1 - LinkCapacity.weight) * variance + LinkCapacity.weight * relative, 0.4), 2.5)
    }

    mutating func reset() { mean = nil }
}
