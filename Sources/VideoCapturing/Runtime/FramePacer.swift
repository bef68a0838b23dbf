/// Waits for the moments at which frames are due, measured from one epoch so that nothing drifts.
///
/// Used on the capture thread.
struct FramePacer {
    /// A moment for a frame.
    struct Slot {
        /// When the frame is due; the time of the call for sources that are not paced, zero for devices, which have
        /// a time of their own.
        var time: MediaTime
        /// How many earlier moments have passed unused.
        var missed: UInt64 = 0
    }

    /// The rate that is kept, or for other kinds of pacing nil.
    private(set) var rate: FrameRate?

    private let pacing: FramePacing
    private var epoch: MediaTime
    private var nextIndex: Int64 = 0
    /// The last moment that was used.
    private var last: MediaTime?
    /// The first timestamp of a source with its own time scale.
    private var sourceEpoch: MediaTime?

    /// - Parameter after: the last timestamp of the start before; the new ones come after it.
    init(pacing: FramePacing, context: FrameContext, after last: MediaTime?) {
        self.pacing = pacing
        let now = context.now
        epoch = now.increasing(after: last)
        if case .rate(let rate) = pacing { self.rate = rate }
    }

    /// Whether the pacer keeps the rate that consumers want, without the limiter.
    var limitsRate: Bool {
        if case .rate = pacing { return true }
        return false
    }

    /// Lowers the rate to `limit`, or raises it again to the source's own.
    mutating func setRate(limit: FrameRate?, at now: MediaTime) {
        guard case .rate(let own) = pacing, let rate else { return }
        let wanted = limit.map { min($0, own) } ?? own
        guard wanted != rate else { return }
        // The new rate begins where the next frame of the old one was due. A higher one does not wait for that, which may be
        // hours away.
        var begin = epoch.advanced(by: rate.time(ofFrame: nextIndex))
        if let last { begin = min(begin, max(now, last.advanced(by: wanted.frameInterval))) }
        epoch = begin
        nextIndex = 0
        self.rate = wanted
    }

    /// Waits until a frame is due; nil when the capture is being stopped or there are new wants.
    @inline(__always) mutating func awaitSlot(_ context: FrameContext) -> Slot? {
        if case .device = pacing { return Slot(time: .zero) }
        return awaitMoment(context)
    }

    private mutating func awaitMoment(_ context: FrameContext) -> Slot? {
        guard let rate else { return Slot(time: context.now) }
        let due = epoch.advanced(by: rate.time(ofFrame: nextIndex))
        guard context.wait(until: due, endsForWants: true) else { return nil }
        let current = max(nextIndex, rate.frameIndex(at: context.now - epoch))
        let missed = UInt64(current - nextIndex)
        nextIndex = current + 1
        let time = epoch.advanced(by: rate.time(ofFrame: current))
        last = time
        return Slot(time: time, missed: missed)
    }

    /// The timestamp of a frame that the source has given, after waiting for it where the source's own times
    /// are kept; nil when the capture is being stopped.
    @inline(__always) mutating func awaitTimestamp(
        of frame: borrowing SourceFrame, slot: Slot, _ context: FrameContext
    ) -> MediaTime? {
        switch pacing {
        case .rate, .unpaced:
            return slot.time
        case .device:
            return frame.timestamp ?? context.now
        case .sourceTimestamps, .sourceTimestampsWithoutWaiting:
            guard let own = frame.timestamp else { return context.now }
            return awaitPlace(own, context)
        }
    }

    /// Where a source's own timestamp lies by the capture's clock.
    private mutating func awaitPlace(_ own: MediaTime, _ context: FrameContext) -> MediaTime? {
        let first = sourceEpoch ?? own
        sourceEpoch = first
        let due = epoch.advanced(by: own - first)
        if pacing == .sourceTimestamps, !context.wait(until: due) { return nil }
        return due
    }
}
