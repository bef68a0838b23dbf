import CaptureCore

/// The bitrate that the path to a peer carries: Google congestion control, on the sender.
///
/// draft-ietf-rmcat-gcc-02 with the trendline filter and the constants of libwebrtc. A value without threads and clock: times
/// come in, rates go out, and nothing is allocated after it was made.
///
/// ```swift
/// var estimator = BandwidthEstimator(.init(maximum: 2_500_000))
/// estimator.didSend(sequence, bytes: count, at: now)          // each packet with a transport-wide number, resent ones too
/// estimator.handleFeedback(packet, at: now)                   // RTCP 205/15
/// encoder.setBitrate(estimator.target)
/// ```
/// **Start.** At `start` of the configuration, 1 Mbit/s unless stated, and never above the maximum. Once feedback comes, a
/// probe of three times that is due, and of twice its result as long as these succeed; so 8 Mbit/s are reached with the
/// third. Later a probe of twice the rate is due when the rate was not lowered for five seconds and is below the maximum;
/// after one that has failed twice as long is waited, at most a minute. Without probes the rate grows by a half per second
/// until the link has shown its end, by growing delay or, without transport-wide feedback, by losses or the round trip; then by
/// 8 % or less.
package struct BandwidthEstimator: Sendable {
    /// What is known before a packet was sent.
    package struct Configuration: Hashable, Sendable {
        /// The lowest target, in bits per second.
        package var minimum = 50_000
        /// The highest target: the bitrate that the user wants.
        package var maximum: Int
        /// The first target.
        package var start = 1_000_000
        /// Whether transport-wide feedback was agreed upon. Otherwise the target is the least of REMB and what the losses of
        /// receiver reports allow.
        package var usesTransportFeedback = true

        package init(maximum: Int) { self.maximum = maximum }
    }

    /// The state of the path to the peer.
    package struct Statistics: Hashable, Sendable {
        /// In bits per second.
        package var target = 0
        /// What arrives, in bits per second; nil when that is not known.
        package var received: Int?
        /// The smoothed round-trip time; nil when it is not known.
        package var roundTripTime: Duration?
        /// The part of the packets that is lost, from 0 to 1, smoothed.
        package var loss = 0.0
        /// Feedback packets that were read.
        package var feedbackCount: UInt64 = 0
        /// Feedback packets with a wrong length.
        package var malformedCount: UInt64 = 0
        /// Feedback packets that were left unread, since too many packets were reported on in that second.
        package var excessCount: UInt64 = 0
        /// How often the delay has lowered the rate.
        package var decreases: UInt64 = 0
    }

    /// The configuration.
    package let configuration: Configuration
    /// The bitrate that can be sent, all streams and resends together, in bits per second.
    package private(set) var target: Int
    package private(set) var statistics = Statistics()
    /// The rate at which packets that wait are sent, by a ``Pacer``: 2.5 times the target; while the queue of the link
    /// becomes empty after an overuse only a little more than the target, so that what an encoder makes too much until it
    /// follows waits here, where it can be left out. Where the link has taken the maximum for seconds, it is not what bounds
    /// the rate, and up to 20 times the target lets frames leave at once.
    package func pacingRate(at time: MediaTime) -> Int {
        let now = time.milliseconds / 1000
        let elapsed = now - (delay.lastDecrease ?? -.infinity)
        // Slowly, since a burst where there was none looks like a queue that grows.
        let drained = 1 + max(0, elapsed - BandwidthEstimator.drainTime) * 0.4
        // A queue that is so short that packets are lost takes no bursts.
        guard loss.loss <= 0.05 else { return Int(Double(target) * min(1.2, drained)) }
        let calm = atMaximumSince.map { max(0, min(now - $0, elapsed) - BandwidthEstimator.calmTime) } ?? 0
        return Int(Double(target) * min(2.5 + calm * 5, 20, drained))
    }

    /// Longer than an encoder takes to follow.
    private static let drainTime = 1.2
    private static let calmTime = 2.0

    private var sent: SentPackets
    private var groups = ArrivalGroups()
    private var detector = OveruseDetector()
    private var received = WindowedRate()
    /// Of the packets that have arrived, by the time when they were sent.
    private var departed = WindowedRate()
    private var delay: DelayController
    private var loss: LossController
    private var probing: ProbeController
    private var remb: Double?
    private var roundTrip: Double?
    private var atMaximumSince: Double?
    private var clock = ReferenceClock()
    private var freshness = FeedbackFreshness()
    private var budget = ReportBudget()

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        sent = SentPackets(bitrate: configuration.maximum)
        let start = Double(min(max(configuration.start, configuration.minimum), configuration.maximum))
        target = Int(start)
        delay = DelayController(start: start)
        // Where delay is known, losses lower the rate only once there are some.
        loss = LossController(start: configuration.usesTransportFeedback ? .infinity : start)
        probing = ProbeController(isEnabled: configuration.usesTransportFeedback)
        statistics.target = target
    }

    // MARK: What happens

    /// Records a packet on the wire.
    ///
    /// - Parameters:
    ///   - sequence: its transport-wide number.
    ///   - bytes: its size without IP and UDP.
    ///   - time: when it is handed to the network.
    ///   - probe: the number of the probe that it is part of; 0 for none.
    package mutating func didSend(_ sequence: UInt16, bytes: Int, at time: MediaTime, probe: UInt8 = 0) {
        sent.add(sequence, bytes: bytes, at: time, probe: probe)
        freshness.didSend(at: time)
        if probe != 0 { probing.didSend(bytes, of: probe) }
    }

    /// Takes a packet of transport-wide feedback, RTCP 205/15, from its header on.
    ///
    /// - Returns: false for one that is not, or has a wrong length, which changes nothing.
    @discardableResult
    package mutating func handleFeedback(_ packet: UnsafeRawBufferPointer, at time: MediaTime) -> Bool {
        guard let feedback = TransportFeedback(packet) else {
            statistics.malformedCount += 1
            return false
        }
        guard budget.take(feedback.count, at: time) else {
            statistics.excessCount += 1
            return true
        }
        statistics.feedbackCount += 1
        let counts = take(feedback, at: time)
        guard counts.received + counts.missing > 0 else { return true }
        let now = time.milliseconds / 1000
        freshness.didReceive(at: time)
        loss.add(received: counts.received, missing: counts.missing, late: counts.late)
        loss.update(limit: delay.rate * 2, current: Double(target), now: now)
        let usage = detector.usage
        delay.update(
            usage, received: received.bitrate, recent: received.recentBitrate,
            isBurst: departed.recentBitrate ?? 0 > 1.2 * delay.rate, roundTrip: roundTrip ?? 0.1, now: now)
        if usage == .over {
            statistics.decreases += 1
            detector.reset()
        }
        if let measured = probing.takeResult(rate: delay.rate), usage != .over { delay.adopt(measured) }
        if !isLossBound { probing.update(rate: delay.rate, lastDecrease: delay.lastDecrease, maximum, now: now) }
        updateTarget(at: time)
        return true
    }

    /// Takes the receiver's estimate (REMB), in bits per second: an upper bound.
    package mutating func handleREMB(_ bitrate: Int, at time: MediaTime) {
        remb = Double(max(bitrate, 0))
        if !configuration.usesTransportFeedback { freshness.didReceive(at: time) }
        updateTarget(at: time)
    }

    /// Takes what a receiver report states.
    ///
    /// - Parameters:
    ///   - fractionLost: of 256.
    ///   - roundTripTime: by its times of sender reports; nil when it has none.
    ///   - time: when it arrived.
    package mutating func handleReport(fractionLost: UInt8, roundTripTime: Duration?, at time: MediaTime) {
        if let roundTripTime { addRoundTrip(roundTripTime.seconds) }
        // Transport-wide feedback states the same, earlier and of all streams.
        guard !configuration.usesTransportFeedback else { return }
        freshness.didReceive(at: time)
        loss.report(
            Double(fractionLost) / 256, limit: min(remb ?? .infinity, maximum), current: Double(target),
            isBlind: remb == nil, roundTrip: roundTripTime?.seconds)
        updateTarget(at: time)
    }

    /// Call it at least five times per second: without feedback on sent packets the target is halved each second.
    package mutating func update(at time: MediaTime) {
        guard freshness.isHalvingDue(at: time, within: configuration.usesTransportFeedback ? 2000 : 8000) else {
            return
        }
        let half = max(Double(target) / 2, Double(configuration.minimum))
        delay.limit(to: half)
        loss.limit(to: half)
        updateTarget(at: time)
    }

    /// The probe to send now, once: by ``Pacer/begin(_:)``.
    package mutating func takeProbe() -> BandwidthProbe? { probing.takeProbe() }

    // MARK: Working

    private var maximum: Double { Double(configuration.maximum) }

    /// Whether losses, not delay, determine the target.
    private var isLossBound: Bool { loss.rate < delay.rate * 0.95 }

    private mutating func take(_ feedback: TransportFeedback, at time: MediaTime) -> (
        received: Int, missing: Int, late: Int
    ) {
        let reference = clock.milliseconds(of: feedback.referenceTime)
        let now = time.milliseconds
        var counts = (received: 0, missing: 0, late: 0)
        var newestSent: Double?
        feedback.forEachReport { report in
            switch sent.answer(report.sequence, hasArrived: report.arrival != nil) {
            case .nothing: break
            case .missing: counts.missing += 1
            case .received(let record, let isLate):
                counts.received += 1
                if isLate { counts.late += 1 }
                let arrival = reference + Double(report.arrival ?? 0) * 0.25
                let sendTime = record.time.milliseconds
                newestSent = max(newestSent ?? sendTime, sendTime)
                received.add(Int(record.bytes), at: arrival)
                departed.add(Int(record.bytes), at: sendTime)
                if record.probe != 0 {
                    probing.didReceive(Int(record.bytes), of: record.probe, sent: sendTime, arrival: arrival)
                }
                if let change = groups.add(sent: sendTime, arrival: arrival) { detector.add(change) }
            }
        }
        if let newestSent { addRoundTrip((now - newestSent) / 1000) }
        return counts
    }

    private mutating func addRoundTrip(_ seconds: Double) {
        guard seconds >= 0, seconds < 60 else { return }
        let smoothed = roundTrip.map { $0 + 0.1 * (seconds - $0) } ?? seconds
        roundTrip = smoothed
        statistics.roundTripTime = .microseconds(Int64(smoothed * 1e6))
    }

    private mutating func updateTarget(at time: MediaTime) {
        var rate = min(loss.rate, maximum)
        if configuration.usesTransportFeedback { rate = min(rate, delay.rate) }
        if let remb { rate = min(rate, remb) }
        target = max(configuration.minimum, Int(rate))
        statistics.target = target
        statistics.loss = loss.loss
        statistics.received = received.bitrate.map { Int($0) }
        atMaximumSince = target < configuration.maximum ? nil : atMaximumSince ?? time.milliseconds / 1000
    }
}

extension MediaTime {
    fileprivate var milliseconds: Double { Double(nanoseconds) / 1e6 }
}

/// The receiver's clock: 24 bits of 64 ms, which wrap around, as milliseconds.
private struct ReferenceClock {
    private var last: (value: Int32, unwrapped: Int64)?

    mutating func milliseconds(of value: Int32) -> Double {
        let unwrapped =
            last.map { last in last.unwrapped &+ Int64(((value &- last.value) << 8) >> 8) } ?? Int64(value)
        last = (value, unwrapped)
        return Double(unwrapped) * 64
    }
}

/// Whether what is sent is answered.
private struct FeedbackFreshness {
    /// The last answer, the first packet after it, or the last halving.
    private var since: MediaTime?

    mutating func didSend(at time: MediaTime) { since = since ?? time }
    mutating func didReceive(at time: MediaTime) { since = nil }

    mutating func isHalvingDue(at time: MediaTime, within limit: Int64) -> Bool {
        guard let since, time.nanoseconds(since: since) >= limit * 1_000_000 else { return false }
        // The next one a second later.
        self.since = time.advanced(by: .milliseconds(1000 - limit))
        return true
    }
}

/// Limits how many packets a peer may report on: 24 bytes can state 8191 of them.
private struct ReportBudget {
    /// Of each second; ten times what the fastest stream has.
    private static let limit = 20_000
    private var window = (begin: MediaTime(nanoseconds: .min), count: 0)

    mutating func take(_ count: Int, at time: MediaTime) -> Bool {
        if time.nanoseconds(since: window.begin) >= 1_000_000_000 { window = (time, 0) }
        guard window.count + count <= ReportBudget.limit else { return false }
        window.count += count
        return true
    }
}
