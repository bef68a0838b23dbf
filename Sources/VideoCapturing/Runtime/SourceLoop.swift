/// What runs on the capture thread: obeys the orders of a ``SourceRunner`` and calls the source.
///
/// `@unchecked Sendable`: `source` and `timeline` are used on the capture thread only. There is one at a time,
/// and each begins after the one before has said, through the control's lock, that it has ended. So Swift need not
/// check accesses to them at run time, for each frame.
final class SourceLoop: @unchecked Sendable {
    private let control: SourceControl
    private let context: FrameContext
    @exclusivity(unchecked) private var source: any FrameSource
    @exclusivity(unchecked) private var timeline = FrameTimeline()
    @exclusivity(unchecked) private var wants = CaptureWants()
    /// What frames that were not delivered have changed, and for whom the others were.
    @exclusivity(unchecked) private var ledger = DamageLedger.unseen
    @exclusivity(unchecked) private var lastConsumer: UInt64 = 0

    init(_ source: sending some FrameSource, control: SourceControl, context: FrameContext) {
        self.source = source
        self.control = control
        self.context = context
    }

    /// The thread's whole life, from open to close.
    func run() {
        control.contents.withLock { $0.thread = CaptureThread.currentIdentifier }
        do {
            try source.open(context)
        } catch {
            let failure = captureError(error, operation: "open")
            control.update { contents, _ in
                contents.failure = failure
                end(&contents)
            }
            return
        }
        control.update { [settings = source.settings] contents, states in
            contents.settings = settings
            contents.phase = .ready
            states.transition(to: .initialized, reason: .requested)
        }
        while awaitStart() { runSession() }
        source.close()
        control.update { contents, states in
            end(&contents)
            states.transition(to: .idle, reason: .requested)
        }
    }

    private func end(_ contents: inout SourceControl.Contents) {
        contents.phase = .idle
        contents.livesEnded += 1
        contents.isStartOrdered = false
        contents.isCloseOrdered = false
        contents.thread = nil
        // A release while the source was being opened has raised it.
        context.resetStop()
    }

    /// Blocks until there is an order; false when it is to close. A start that came first is obeyed first: its
    /// stop has been ordered too by then.
    private func awaitStart() -> Bool {
        control.contents.wait { contents -> Bool? in
            if contents.isStartOrdered {
                contents.isStartOrdered = false
                return true
            }
            guard contents.isCloseOrdered else { return nil }
            contents.phase = .closing
            return false
        }!
    }

    /// From start to stop.
    private func runSession() {
        var ending: StopReason
        do {
            try source.start(context)
            let settings = source.settings
            control.update { contents, states in
                contents.phase = .running
                contents.settings = settings
                contents.statistics.starts += 1
                if !contents.isStopOrdered { states.transition(to: .running, reason: .source) }
            }
            ending = try deliverFrames()
        } catch {
            let failure = captureError(error, operation: "capture")
            control.contents.withLock { contents in
                if contents.phase == .starting, !contents.isStopOrdered { contents.failure = failure }
            }
            switch failure.code {
            case .deviceLost: ending = .deviceLost(failure)
            case .endOfStream: ending = .endOfStream
            default: ending = .error(failure)
            }
        }
        // A source that runs out or fails by itself is stopped before anyone is told.
        source.stop()
        control.update { contents, states in
            let wasOrdered = contents.isStopOrdered
            contents.phase = .ready
            contents.sessionsEnded += 1
            contents.isStopOrdered = false
            contents.isInterrupted = false
            context.resetStop()
            if wasOrdered {
                // Unless the stop has been given up and reported as an error already.
                if case .stopped = states.state { return }
                states.transition(to: .stopped(.user), reason: .requested)
            } else {
                let reason = ending.error.map { CaptureStateChange.Reason.failure($0) } ?? .source
                states.transition(to: .stopped(ending), reason: reason)
            }
        }
    }

    private func deliverFrames() throws -> StopReason {
        var session = Session(pacer: FramePacer(pacing: source.pacing, context: context, after: timeline.lastTimestamp))
        timeline.beginSession()
        while !context.isStopping {
            if session.haveWantsChanged { adoptWants(pacer: &session.pacer) }
            guard let slot = session.pacer.awaitSlot(context) else { break }
            guard let frame = try source.nextFrame(context) else {
                return context.isStopping ? .user : .endOfStream
            }
            guard pass(frame, slot, &session) else { break }
        }
        return .user
    }

    /// What is kept from start to stop.
    private struct Session {
        var pacer: FramePacer
        var limiter = FrameRateLimiter()
        /// The frames that there were to deliver, lost ones included.
        var framesDue: UInt64 = 0
        var haveWantsChanged = true
    }

    /// Delivers a frame when it is due, if it is wanted; false when a stop has overtaken it.
    ///
    /// Takes the frame over, and is not inlined: the caller would destroy an optional one, by the detour of its type's
    /// metadata.
    @inline(never) private func pass(_ frame: consuming SourceFrame, _ slot: FramePacer.Slot, _ session: inout Session)
        -> Bool
    {
        guard let timestamp = session.pacer.awaitTimestamp(of: frame, slot: slot, context), !context.isStopping else {
            source.takeBack(frame)
            return false
        }
        timeline.skip(lost: frame.lostBefore &+ frame.corruptBefore &+ slot.missed)
        countLosses(before: frame, missed: slot.missed)
        session.framesDue &+= 1 &+ frame.lostBefore &+ frame.corruptBefore
        let isWanted =
            session.pacer.seesToRate
            || session.limiter.shouldPass(
                timestamp, sequenceNumber: session.framesDue, at: wants.maximumFrameRate)
        if isWanted {
            session.haveWantsChanged = deliver(
                timeline.stamp(frame, timestamp: timestamp, nominal: session.pacer.rate))
        } else {
            ledger.skip(frame)
            session.haveWantsChanged = arePendingWants()
        }
        return true
    }

    private func countLosses(before frame: SourceFrame, missed: UInt64) {
        guard frame.lostBefore | frame.corruptBefore | missed != 0 else { return }
        control.contents.withLock { contents in
            contents.statistics.framesDropped.source &+= frame.lostBefore
            contents.statistics.framesDropped.corrupt &+= frame.corruptBefore
            contents.statistics.framesDropped.late &+= missed
        }
    }

    private func arePendingWants() -> Bool { control.contents.withLock { $0.pendingWants != nil } }

    /// Hands one frame to the consumer, unless a stop has been ordered meanwhile. Tells whether there are new wants by
    /// then.
    private func deliver(_ frame: consuming VideoFrame) -> Bool {
        let consumer = control.contents.withLock { contents -> (any VideoCaptureConsumer)? in
            guard !contents.isStopOrdered else {
                // It has its number, so it counts.
                contents.statistics.framesDropped.abandoned += 1
                return nil
            }
            if contents.isInterrupted {
                contents.isInterrupted = false
                control.states.transition(to: .running, reason: .source)
            }
            contents.statistics.measuredFrameRate = frame.estimatedFrameRate
            follow(frame, &contents.settings.format)
            guard let consumer = contents.consumer else {
                contents.statistics.framesDropped.noConsumer += 1
                return nil
            }
            contents.statistics.framesDelivered += 1
            contents.isDelivering = true
            if lastConsumer != contents.consumersSet { ledger.forget() }
            lastConsumer = contents.consumersSet
            return consumer
        }
        guard let consumer else {
            ledger.skip(frame)
            return arePendingWants()
        }
        ledger.settle(&frame)
        consumer.consumeFrame(frame)
        let (isAwaited, haveWantsChanged) = control.contents.withLock { contents in
            contents.isDelivering = false
            return (contents.isStopOrdered, contents.pendingWants != nil)
        }
        if isAwaited { control.contents.wakeAll() }
        return haveWantsChanged
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

    private func adoptWants(pacer: inout FramePacer) {
        let pending = control.contents.withLock { $0.pendingWants.take() }
        if let pending {
            wants = pending
            source.adapt(to: pending)
        }
        pacer.setRate(limit: wants.maximumFrameRate)
        let settings = source.settings
        let rate = pacer.rate
        control.contents.withLock { contents in
            contents.settings = settings
            contents.statistics.requestedFrameRate = rate
        }
    }

    private func captureError(_ error: any Error, operation: String) -> CaptureError {
        if let error = error as? CaptureError { return error }
        return CaptureError(
            .system, operation: operation, subject: source.settings.sourceName, message: "\(error)")
    }
}
