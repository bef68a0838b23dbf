/// Decides when to probe, and what that has shown. Times are seconds, rates bits per second.
struct ProbeController {
    private static let firstFactor = 3.0
    private static let factor = 2.0
    /// The part of a probe's rate that counts as success, upon which the next one follows.
    private static let success = 0.7
    private static let firstWait = 5.0
    private static let longestWait = 60.0
    /// A probe that is not answered, since too much of it was lost.
    private static let timeout = 1.0

    private let isEnabled: Bool
    private var number: UInt8 = 0
    private var due: BandwidthProbe?
    private var running: (result: ProbeResult, begin: Double?)?
    private var wait = firstWait
    /// What the next probe is multiplied with, at once; nil when none is due.
    private var next: Double? = firstFactor
    private var lastProbe: Double?

    init(isEnabled: Bool) { self.isEnabled = isEnabled }

    mutating func takeProbe() -> BandwidthProbe? {
        guard let probe = due.take() else { return nil }
        running = (ProbeResult(probe), nil)
        return probe
    }

    mutating func didSend(_ bytes: Int, of number: UInt8) {
        if running?.result.probe.number == number { running?.result.addSent(bytes + SentPackets.overhead) }
    }

    mutating func didReceive(_ bytes: Int, of number: UInt8, sent: Double, arrival: Double) {
        guard running?.result.probe.number == number else { return }
        running?.result.addReceived(bytes, sent: sent, arrival: arrival)
    }

    /// What the running probe has shown, once that is known.
    mutating func takeResult(rate: Double) -> Double? {
        guard let (result, _) = running, let measured = result.bitrate else { return nil }
        running = nil
        if measured > ProbeController.success * Double(result.probe.bitrate) {
            next = ProbeController.factor
            wait = ProbeController.firstWait
        } else if measured < rate * 1.1 {
            fail()
        }
        return measured
    }

    /// Makes a probe due, where it is time.
    ///
    /// - Parameters:
    ///   - rate: the rate that is allowed.
    ///   - lastDecrease: when the delay has lowered it last.
    ///   - maximum: more is not wanted.
    ///   - now: the time.
    mutating func update(rate: Double, lastDecrease: Double?, _ maximum: Double, now: Double) {
        guard isEnabled, due == nil else { return }
        if let (result, begin) = running {
            guard let begin else {
                running = (result, now)
                return
            }
            guard now - begin > ProbeController.timeout else { return }
            running = nil
            fail()
        }
        let factor = next.take()
        guard rate < maximum else { return }
        let calm = max(lastDecrease ?? -.infinity, lastProbe ?? -.infinity)
        guard factor != nil || now - calm >= wait else { return }
        number = number == .max ? 1 : number + 1
        lastProbe = now
        due = BandwidthProbe(
            number: number, bitrate: min(rate * (factor ?? ProbeController.factor), maximum * 1.1))
    }

    private mutating func fail() { wait = min(wait * 2, ProbeController.longestWait) }
}
