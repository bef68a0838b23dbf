import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Negotiates a mode with a driver: proposes the next mode and takes the outcome, until one is settled or none is left.
///
/// A value type that makes no system calls. Each attempt either ends the negotiation or removes a mode from it, so it
/// terminates. A mode that the driver has set differently from the request is put back into the order with its actual
/// properties, and chosen when no better one is left.
struct ModeNegotiation: Sendable {
    /// The maximum number of modes that are tried, and of those for which the bus has too little bandwidth.
    static let attemptLimit = 6
    static let bandwidthLimit = 12

    /// The camera's name, for errors.
    let subject: String?
    private let ranking: ModeRanking
    /// The modes that may still be tried, the best first.
    private var open: [ModeRanking.Entry]
    private var failed: [CameraMode.Decision.RejectedMode] = []
    private var settled: ModeRanking.Entry?
    /// The mode that was tried last.
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

    /// The settled mode, or else the next one to set; nil when none is left.
    func current() -> CameraMode? { settled?.mode ?? next?.mode }

    private var next: ModeRanking.Entry? {
        if bandwidthFailures >= ModeNegotiation.bandwidthLimit { return nil }
        let isSpent = attempts >= ModeNegotiation.attemptLimit
        return open.first { ($0.isProven || !isSpent) && (!$0.isReserve || bandwidthFailures > 0) }
    }

    /// Takes the outcome of setting the mode that ``current()`` has returned, or of streaming in it.
    ///
    /// - Returns: whether a mode is settled.
    @discardableResult
    mutating func report(_ outcome: ApplyOutcome) -> Bool {
        guard let entry = settled ?? next else { return false }
        settled = nil
        latest = entry.mode
        open.removeAll { $0.mode == entry.mode }
        switch outcome {
        case .refused(let errno):
            attempts += 1
            failed.append(CameraMode.Decision.RejectedMode(entry.mode, .driverRefused(errno: errno)))
        case .noBandwidth:
            bandwidthFailures += 1
            failed.append(CameraMode.Decision.RejectedMode(entry.mode, .noBandwidth))
            dropModes(ofAtLeast: entry.mode.bytesPerSecond)
        case .applied(let applied):
            settle(entry, as: applied)
        }
        return settled != nil
    }

    /// `ENOSPC`: modes that need as much bandwidth, or more, are not tried.
    private mutating func dropModes(ofAtLeast bytesPerSecond: Int) {
        failed += open.filter { $0.mode.bytesPerSecond >= bytesPerSecond && !$0.isReserve }
            .map { CameraMode.Decision.RejectedMode($0.mode, .noLessBandwidth) }
        open.removeAll { $0.mode.bytesPerSecond >= bytesPerSecond }
    }

    private mutating func settle(_ asked: ModeRanking.Entry, as applied: AppliedMode) {
        let isSubstitute = applied.fourCC != asked.mode.fourCC || applied.size != asked.mode.size
        guard isSubstitute else { return settle(asked, rate: applied.interval?.frameRate) }
        attempts += 1
        failed.append(
            CameraMode.Decision.RejectedMode(asked.mode, .substituted(by: applied.fourCC, size: applied.size)))
        let candidate = open.first { $0.mode.fourCC == applied.fourCC && $0.mode.size == applied.size && !$0.isReserve }
        if let candidate {
            open.removeAll { $0.mode == candidate.mode }
            settle(candidate, rate: applied.interval?.frameRate)
        } else if !asked.isProven {
            keep(applied)
        }
    }

    /// Settles a mode that has the right format and size, if its rate is at least 90 % of the listed one.
    private mutating func settle(_ entry: ModeRanking.Entry, rate: FrameRate?) {
        var actual = entry
        actual.mode.setRate(rate ?? entry.mode.rate, for: ranking.request)
        if let claimed = entry.mode.rate, let rate, !rate.isAtLeast(percent: 90, of: claimed) {
            attempts += 1
            failed.append(CameraMode.Decision.RejectedMode(entry.mode, .rateNotKept(claimed: claimed, readBack: rate)))
            // A mode whose rate was read back once before is not tried a third time.
            if !entry.isProven { keep(actual) }
            return
        }
        latest = actual.mode
        settled = actual
    }

    /// Keeps a size or format that the driver does not list but has set, as the last resort.
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

    /// The mode that is settled, or else the next or the last one, and the outcome of all others.
    var decision: CameraMode.Decision {
        let mode = settled?.mode ?? next?.mode ?? latest
        let key = ModeKey(mode, for: ranking.request)
        let others = open.filter { $0.mode != mode && !$0.isReserve && !$0.isProven }.map {
            CameraMode.Decision.RejectedMode(
                $0.mode, CameraMode.Decision.RejectionReason(of: ModeKey($0.mode, for: ranking.request), against: key))
        }
        return CameraMode.Decision(
            requested: ranking.request, negotiated: mode, rejected: failed + others + ranking.unusable)
    }

    /// The error when no mode is left: `formatUnsupported`, or `system` where the failure is not due to the modes.
    var failure: CaptureError {
        let best = ranking.entries[0].mode
        let reason = failed.first { $0.mode == best }?.reason
        let isBandwidth = bandwidthFailures > 0
        if !isBandwidth, let errno = failed.compactMap(\.reason.deviceErrno).first {
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

extension CameraMode.Decision.RejectionReason {
    /// The `errno` of a refusal that is not about the mode: the camera does not work, or is being unplugged.
    fileprivate var deviceErrno: Int32? {
        guard case .driverRefused(let errno) = self, ![EINVAL, ERANGE, ENOTTY, EOPNOTSUPP, EDOM, E2BIG].contains(errno)
        else { return nil }
        return errno
    }
}

/// The mode that a driver has set in response to a request: read back after `VIDIOC_S_FMT` and `VIDIOC_S_PARM`.
struct AppliedMode: Sendable, Hashable {
    var fourCC: FourCC
    var size: PixelSize
    /// Nil when the driver does not support setting it.
    var interval: FrameInterval?
}

/// The outcome of setting a mode.
enum ApplyOutcome: Sendable, Hashable {
    /// The driver has set this mode.
    case applied(AppliedMode)
    /// The driver has refused a call with this `errno`.
    case refused(errno: Int32)
    /// `ENOSPC`, also at the start of streaming: the bus is too slow, or shared.
    case noBandwidth
}
