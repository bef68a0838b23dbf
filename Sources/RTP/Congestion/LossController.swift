/// The rate that losses allow: raised by 5 % a second below 2 % of loss, before the first such loss by a half; lowered by half
/// of the loss above 10 % (draft-ietf-rmcat-gcc-02, 6), as long as a lower rate makes the loss less.
///
/// A radio link loses packets at any rate. To lower the rate there would end at the minimum; so a loss that did not become
/// less while the rate was lowered by a sixth counts as one that the link has anyway, of 15 % at most, and only what
/// exceeds it is acted upon. Rates are bits per second, times seconds.
///
/// Where nothing but reports comes, the first growth is slower, by 15 %, since its effect shows a second later. It is
/// slow while the round trip is 30 ms longer than the shortest, and ends at 100 ms, with a third less: by then a queue has begun to
/// fill. Later the queue is full at times, as with TCP: a competitor that keeps it full would otherwise end our sending.
struct LossController {
    /// The rate allowed.
    private(set) var rate: Double
    /// The part of the packets that is lost, from 0 to 1, smoothed.
    private(set) var loss = 0.0
    /// The part that is lost whatever the rate is.
    private(set) var inherentLoss = 0.0

    private static let period = 1.0
    private static let low = 0.02
    private static let high = 0.1
    private static let growth = 1.05
    private static let firstGrowth = 1.5
    private static let blindGrowth = 1.15
    private static let queueDecrease = 2.0 / 3
    /// Of the round trip, in seconds: where the first growth becomes slow, and where it ends.
    private static let queueDelays = (slow: 0.03, end: 0.1)
    private static let weight = 0.3
    private static let maximumInherentLoss = 0.15

    private var lost = 0
    private var total = 0
    private var periodBegin: Double?
    /// Whether the link has shown its end.
    private var hasFoundEnd = false
    private var shortestRoundTrip: Double?
    /// The loss and the rate when it began to be lowered.
    private var trial: (loss: Double, rate: Double)?

    init(start: Double) { rate = start }

    /// Counts packets of which feedback is known.
    mutating func add(received: Int, missing: Int, late: Int) {
        // One that arrives late was counted when it was missing.
        total += received + missing - late
        lost += missing - late
    }

    /// Acts upon what was counted, once a second.
    ///
    /// - Parameters:
    ///   - limit: more than this is not allowed by a raise.
    ///   - current: the rate that is in use.
    ///   - now: the time.
    mutating func update(limit: Double, current: Double, now: Double) {
        guard let begin = periodBegin else {
            periodBegin = now
            return
        }
        guard now - begin >= LossController.period, total > 0 else { return }
        report(Double(max(lost, 0)) / Double(total), limit: limit, current: current)
        periodBegin = now
        (lost, total) = (0, 0)
    }

    /// Acts upon a loss that the receiver states, from 0 to 1, of about a second.
    ///
    /// - Parameters:
    ///   - value: the loss.
    ///   - limit: more than this is not allowed by a raise.
    ///   - current: the rate that is in use.
    ///   - isBlind: whether nothing but reports tells of the link.
    ///   - roundTrip: the round trip then, in seconds; nil where it is not known.
    mutating func report(
        _ value: Double, limit: Double, current: Double, isBlind: Bool = false, roundTrip: Double? = nil
    ) {
        loss += LossController.weight * (value - loss)
        inherentLoss = min(inherentLoss, loss)
        let excess = loss - inherentLoss
        if excess < LossController.low {
            trial = nil
            let first = isBlind ? growth(roundTrip: roundTrip, current: current) : LossController.firstGrowth
            let growth = hasFoundEnd ? LossController.growth : first
            rate = min(max(rate, min(rate, limit) * growth), max(limit, rate))
        } else {
            hasFoundEnd = true
            if excess > LossController.high { lower(from: current) }
        }
    }

    /// Looks at the round trip until the link has shown its end.
    private mutating func growth(roundTrip: Double?, current: Double) -> Double {
        guard !hasFoundEnd, let roundTrip else { return LossController.blindGrowth }
        let shortest = min(shortestRoundTrip ?? roundTrip, roundTrip)
        shortestRoundTrip = shortest
        if roundTrip > shortest + LossController.queueDelays.end {
            hasFoundEnd = true
            rate = min(rate, current) * LossController.queueDecrease
        }
        return roundTrip > shortest + LossController.queueDelays.slow
            ? LossController.growth : LossController.blindGrowth
    }

    private mutating func lower(from current: Double) {
        let before = trial ?? (loss, min(rate, current))
        trial = before
        rate = min(rate, current) * (1 - 0.5 * (loss - inherentLoss))
        guard rate < before.rate * 5 / 6 else { return }
        trial = nil
        // What it would be if the rest took its share of a full link. Half of the way there counts.
        let expected = max(0, 1 - (1 - before.loss) * before.rate / rate)
        guard loss > (before.loss + expected) / 2, loss <= LossController.maximumInherentLoss else { return }
        inherentLoss = loss
        rate = before.rate
    }

    /// Lowers the rate for another reason.
    mutating func limit(to other: Double) { rate = min(rate, other) }
}
