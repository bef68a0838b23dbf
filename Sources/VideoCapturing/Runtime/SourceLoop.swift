/// What runs on the capture thread: obeys the orders of a ``CaptureRunner`` and calls the source.
///
/// `@unchecked Sendable`: `source` and `timeline` are used on the capture thread only. There is one at a time,
/// and each begins after the one before has said, through the control's lock, that it has ended. So Swift need not
/// check accesses to them at run time, for each frame.
final class SourceLoop: CaptureLoop, @unchecked Sendable {
    let control: VideoControl
    private let context: FrameContext
    @exclusivity(unchecked) private var source: any FrameSource
    @exclusivity(unchecked) private var timeline = FrameTimeline()
    @exclusivity(unchecked) private var wants = CaptureWants()
    /// What frames that were not delivered have changed, and for whom the others were.
    @exclusivity(unchecked) private var accumulator = DamageAccumulator.unseen
    @exclusivity(unchecked) private var lastConsumer: UInt64 = 0

    init(_ source: sending some FrameSource, control: VideoControl) {
        self.source = source
        self.control = control
        context = FrameContext(control: control)
    }

    var sourceName: String? { source.settings.sourceName }
    var adopt: (inout VideoMedia) -> Void { { [settings = source.settings] in $0.settings = settings } }
    func open() throws { try source.open(context) }
    func start() throws { try source.start(context) }
    func stop() { source.stop() }
    func close() { source.close() }

    func deliverUntilStopped() throws -> CaptureState.StopReason {
        var session = Session(pacer: FramePacer(pacing: source.pacing, context: context, after: timeline.lastTimestamp))
        timeline.beginSession()
        while !context.isStopping {
            if session.hasRequests { adoptRequests(pacer: &session.pacer) }
            guard let slot = session.pacer.awaitSlot(context) else {
                session.hasRequests = true
                continue
            }
            guard let frame = try source.nextFrame(context) else {
                // Nil is the end, unless there are requests to adopt first.
                guard context.mustReturn else { return .endOfStream }
                session.hasRequests = true
                continue
            }
            guard pass(frame, slot, &session) else { break }
        }
        return .user
    }

    /// The state from start to stop.
    private struct Session {
        var pacer: FramePacer
        var limiter = FrameRateLimiter()
        /// The frames that there were to deliver, lost ones included.
        var framesDue: UInt64 = 0
        var hasRequests = true
    }

    /// Delivers a frame when it is due, if it is wanted; false when a stop has overtaken it.
    ///
    /// Takes the frame over, and is not inlined: the caller would destroy an optional one, by the detour of its type's
    /// metadata.
    @inline(never) private func pass(_ frame: consuming SourceFrame, _ slot: FramePacer.Slot, _ session: inout Session)
        -> Bool
    {
        // First, since they are lost even if a stop overtakes the frame.
        let lost = context.takeLosses() &+ frame.lostBefore &+ frame.corruptBefore
        timeline.skip(lost: lost &+ slot.missed)
        countLosses(before: frame, missed: slot.missed)
        guard let timestamp = session.pacer.awaitTimestamp(of: frame, slot: slot, context), !context.isStopping else {
            frame.lostBefore = 0
            frame.corruptBefore = 0
            source.pushBack(frame)
            return false
        }
        session.framesDue &+= 1 &+ lost
        let isWanted =
            session.pacer.limitsRate
            || session.limiter.shouldPass(
                timestamp, sequenceNumber: session.framesDue, at: wants.maximumFrameRate)
        if isWanted {
            session.hasRequests = deliver(
                timeline.stamp(frame, timestamp: timestamp, nominal: session.pacer.rate))
        } else {
            accumulator.add(frame)
            session.hasRequests = arePendingRequests()
        }
        return true
    }

    private func countLosses(before frame: SourceFrame, missed: UInt64) {
        guard frame.lostBefore | frame.corruptBefore | missed != 0 else { return }
        control.contents.withLock { contents in
            contents.media.statistics.framesDropped.source &+= frame.lostBefore
            contents.media.statistics.framesDropped.corrupt &+= frame.corruptBefore
            contents.media.statistics.framesDropped.late &+= missed
        }
    }

    private func arePendingRequests() -> Bool { control.contents.withLock { $0.media.hasRequests } }

    /// Hands one frame to the consumer, unless a stop has been ordered meanwhile. Returns whether there are new
    /// requests by then.
    private func deliver(_ frame: consuming VideoFrame) -> Bool {
        let consumer = control.contents.withLock { contents -> (any VideoCaptureConsumer)? in
            guard !contents.isStopOrdered else {
                // It has its number, so it counts.
                contents.media.statistics.framesDropped.abandoned += 1
                return nil
            }
            if contents.isInterrupted {
                contents.isInterrupted = false
                control.states.transition(to: .running, reason: .source)
            }
            contents.media.statistics.measuredFrameRate = frame.estimatedFrameRate
            follow(frame, &contents.media.settings.format)
            guard let consumer = contents.media.consumer else {
                contents.media.statistics.framesDropped.noConsumer += 1
                return nil
            }
            contents.media.statistics.framesDelivered += 1
            contents.isDelivering = true
            if lastConsumer != contents.media.consumersSet { accumulator.invalidate() }
            lastConsumer = contents.media.consumersSet
            return consumer
        }
        guard let consumer else {
            accumulator.add(frame)
            return arePendingRequests()
        }
        accumulator.flush(into: &frame)
        consumer.consumeFrame(frame)
        let (isAwaited, hasRequests) = control.contents.withLock { contents in
            contents.isDelivering = false
            return (contents.isStopOrdered, contents.media.hasRequests)
        }
        if isAwaited { control.contents.wakeAll() }
        return hasRequests
    }

    /// A source may change its pictures in mid-stream without being asked to.
    private func follow(_ frame: VideoFrame, _ format: inout VideoFormat) {
        let isSame =
            format.imageWidth == frame.width && format.imageHeight == frame.height
            && format.pixelFormat == frame.pixelFormat
        guard !isSame else { return }
        let rate = format.estimatedFramesPerSecond
        format = frame.format
        format.estimatedFramesPerSecond = rate
    }

    private func adoptRequests(pacer: inout FramePacer) {
        context.waiter.clearWakeUp()
        let (pending, isRefreshPending) = control.contents.withLock { contents in
            defer { contents.media.isRefreshPending = false }
            return (contents.media.pendingWants.take(), contents.media.isRefreshPending)
        }
        if let pending {
            wants = pending
            source.adapt(to: pending)
        }
        if isRefreshPending { source.refresh() }
        pacer.setRate(limit: wants.maximumFrameRate, at: context.now)
        let settings = source.settings
        let rate = pacer.rate
        control.contents.withLock { contents in
            contents.media.settings = settings
            contents.media.statistics.requestedFrameRate = rate
        }
    }
}

/// What a video capture's thread and its callers share.
typealias VideoControl = CaptureControl<VideoMedia>

/// What of that is video.
struct VideoMedia: CaptureMedia {
    weak var consumer: (any VideoCaptureConsumer)? {
        didSet { consumersSet &+= 1 }
    }
    /// How often a consumer has been set: distinguishes a new one from the last, which may have had the same address.
    var consumersSet: UInt64 = 0
    var contentHint: VideoContentHint
    var settings: CaptureSettings
    /// Wants that the source has not been handed yet.
    var pendingWants: CaptureWants?
    /// Whether a fresh frame has been asked for since the source was last told.
    var isRefreshPending = false
    var statistics = CaptureStatistics()

    init(settings: CaptureSettings, contentHint: VideoContentHint) {
        self.settings = settings
        self.contentHint = contentHint
    }

    /// Whether there is something new to tell the source.
    var hasRequests: Bool { pendingWants != nil || isRefreshPending }

    var sourceName: String? { settings.sourceName }
    mutating func willOpen() { statistics = CaptureStatistics() }
    mutating func didStart() { statistics.starts += 1 }
    mutating func didInterrupt() { statistics.interruptions += 1 }
}
