import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Settles a mode with a driver: says which to try, hears what came of it, until one is settled or none is left.
///
/// A value without any call to the system. Each attempt either ends the negotiation or takes a mode out of it, so it
/// ends. A mode that the driver has set otherwise than asked is put back into the order as what it has turned out to
/// be, and taken when nothing better is left.
struct ModeNegotiation: Sendable {
    /// The most modes that are tried, and the most in which the bus has too little bandwidth.
    static let attemptLimit = 6
    static let bandwidthLimit = 12

    /// The camera's name, for errors.
    let subject: String?
    private let ranking: ModeRanking
    /// What may still be tried, the best first.
    private var open: [ModeRanking.Entry]
    private var failed: [RejectedMode] = []
    private var settled: ModeRanking.Entry?
    /// The last mode that was tried.
    private var latest: CameraMode
    private var attempts = 0
    private var bandwidthFailures = 0

    init(_ ranking: ModeRanking, subject: String? = nil) {
        precondition(!ranking.entries.isEmpty, "a ranking has at least one mode")
        self.ranking = ranking
        self.subject = subject
        open = ranking.entries
        latest = ranking.entries[0].mode
    }

    /// The mode to set next, or the one that is settled; nil when none is left.
    func current() -> CameraMode? { settled?.mode ?? next?.mode }

    private var next: ModeRanking.Entry? {
        if bandwidthFailures >= ModeNegotiation.bandwidthLimit { return nil }
        let isSpent = attempts >= ModeNegotiation.attemptLimit
        return open.first { ($0.isProven || !isSpent) && (!$0.isReserve || bandwidthFailures > 0) }
    }

    /// Takes the outcome of setting the mode that ``current()`` gave, or of streaming in it.
    ///
    /// Returns whether a mode is settled.
    @discardableResult
    mutating func report(_ outcome: ApplyOutcome) -> Bool {
        guard let entry = settled ?? next else { return false }
        settled = nil
        latest = entry.mode
        open.removeAll { $0.mode == entry.mode }
        switch outcome {
        case .refused(let errno):
            attempts += 1
            failed.append(RejectedMode(entry.mode, .driverRefused(errno: errno)))
        case .noBandwidth:
            bandwidthFailures += 1
            failed.append(RejectedMode(entry.mode, .noBandwidth))
            dropModes(ofAtLeast: entry.mode.bytesPerSecond)
        case .applied(let applied):
            settle(entry, as: applied)
        }
        return settled != nil
    }

    /// `ENOSPC`: what needs as much, or more, is not tried.
    private mutating func dropModes(ofAtLeast bytesPerSecond: Int) {
        failed += open.filter { $0.mode.bytesPerSecond >= bytesPerSecond && !$0.isReserve }
            .map { RejectedMode($0.mode, .noLessBandwidth) }
        open.removeAll { $0.mode.bytesPerSecond >= bytesPerSecond }
    }

    private mutating func settle(_ asked: ModeRanking.Entry, as applied: AppliedMode) {
        let isSubstitute = applied.fourCC != asked.mode.fourCC || applied.size != asked.mode.size
        guard isSubstitute else { return settle(asked, rate: applied.interval?.frameRate) }
        attempts += 1
        failed.append(RejectedMode(asked.mode, .substituted(by: applied.fourCC, size: applied.size)))
        let candidate = open.first { $0.mode.fourCC == applied.fourCC && $0.mode.size == applied.size && !$0.isReserve }
        if let candidate {
            open.removeAll { $0.mode == candidate.mode }
            settle(candidate, rate: applied.interval?.frameRate)
        } else if !asked.isProven {
            keep(applied)
        }
    }

    /// Settles a mode that has the right format and size, if its rate is at least 90 % of what the driver claims.
    private mutating func settle(_ entry: ModeRanking.Entry, rate: FrameRate?) {
        var actual = entry
        actual.mode.setRate(rate ?? entry.mode.rate, for: ranking.request)
        if let claimed = entry.mode.rate, let rate, !rate.isAtLeast(percent: 90, of: claimed) {
            attempts += 1
            failed.append(RejectedMode(entry.mode, .rateNotKept(claimed: claimed, readBack: rate)))
            // A driver that changes its mind twice is not believed a third time.
            if !entry.isProven { keep(actual) }
            return
        }
        latest = actual.mode
        settled = actual
    }

    /// A size or format that the driver does not list, but sets: good where nothing that it lists can be had.
    private mutating func keep(_ applied: AppliedMode) {
        guard applied.size.isValid, ranking.request.allows(applied.fourCC), !isTried(applied.fourCC, applied.size),
            let format = ranking.format(applied.fourCC)
        else { return }
        let mode = CameraMode(
            format, applied.size, rate: applied.interval?.frameRate, isRateVerified: false,
            index: ranking.entries.count + failed.count, for: ranking.request)
        keep(ModeRanking.Entry(mode: mode))
    }

    private mutating func keep(_ entry: ModeRanking.Entry) {
        var entry = entry
        entry.isProven = true
        entry.isReserve = false
        open = ModeRanking.ordered(open + [entry], for: ranking.request)
    }

    private func isTried(_ fourCC: FourCC, _ size: PixelSize) -> Bool {
        failed.contains { $0.fourCC == fourCC && $0.mode?.size == size }
            || open.contains { $0.mode.fourCC == fourCC && $0.mode.size == size }
    }

    /// The mode that is settled, or would be next, or was the last; and what became of all others.
    var decision: CameraModeDecision {
        let mode = settled?.mode ?? next?.mode ?? latest
        let key = ModeKey(mode, for: ranking.request)
        let others = open.filter { $0.mode != mode && !$0.isReserve && !$0.isProven }.map {
            RejectedMode($0.mode, ModeRejection(of: ModeKey($0.mode, for: ranking.request), against: key))
        }
        return CameraModeDecision(
            requested: ranking.request, negotiated: mode, rejected: failed + others + ranking.unusable)
    }

    /// Why no mode is left, and which was the nearest: `formatUnsupported`, or `system` where it is not for the modes.
    var failure: CaptureError {
        let best = ranking.entries[0].mode
        let reason = failed.first { $0.mode == best }?.reason
        let isBandwidth = bandwidthFailures > 0
        if !isBandwidth, let errno = failed.compactMap(\.reason.sickness).first {
            return CaptureError(
                .system, operation: "set the mode", subject: subject, errno: errno,
                message: "The camera's driver fails when a mode is set; unplug the camera and plug it in again, then "
                    + "try again.")
        }
        let errno: Int32? = if case .driverRefused(let errno) = reason { errno } else { nil }
        let step =
            isBandwidth
            ? "connect it to another USB port, or stop other devices on the bus"
            : "ask for another size or rate, or connect the camera again"
        let detail = reason.map { errno == nil ? " (\($0))" : "" } ?? ""
        return CaptureError(
            .formatUnsupported, operation: "set the mode", subject: subject, errno: errno,
            message: "No mode near \(ranking.request) could be set; the nearest that the camera has is "
                + "\(best)\(detail). Please \(step).")
    }
}

extension ModeRejection {
    /// The `errno` of a refusal that says nothing about the mode: the camera does not work, or is just going away.
    fileprivate var sickness: Int32? {
        guard case .driverRefused(let errno) = self, ![EINVAL, ERANGE, ENOTTY, EOPNOTSUPP, EDOM, E2BIG].contains(errno)
        else { return nil }
        return errno
    }
}
