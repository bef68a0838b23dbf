import CLibV4L2
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraSource {
    /// The next frame that is whole and due; nil when nothing more is ready for now, or the capture is being stopped.
    ///
    /// Two system calls a frame: give back, and take, which waits; with drivers of which it is not known that such a wait
    /// can be ended it is three, `poll` being between them. A camera that keeps up has never a second frame ready, so
    /// asking without waiting would be refused after each.
    func awaitFrame(_ running: RunningStream, _ context: FrameContext) throws(CameraTrouble) -> SourceFrame? {
        // Without a buffer it is not the camera that was silent.
        if running.stream.queuedCount == 0 { running.waitInPoll() }
        try faults(running.node) { () throws(IoctlFailure) in try running.stream.reclaim() }
        if let watchdog = running.watchdog {
            guard let captured = try awaitDequeue(running, watchdog, context) else { return nil }
            return try take(captured, running, context)
        }
        if running.mayWaitInDequeue, running.hasDelivered, running.stall.isMeasured {
            running.waitInDequeue(context)
            return nil
        }
        guard try awaitDevice(running, context) else { return nil }
        guard let captured = try dequeue(running) else {
            // Promised, and not there: timeout goes on from the last frame.
            running.isStillWaiting = true
            if context.now >= running.stall.deadline { throw .stalled }
            return nil
        }
        running.falsePromises = 0
        return try take(captured, running, context)
    }

    /// Lets the driver wait for the frame; nil when the capture is being stopped, or `poll` is to wait from now on.
    private func awaitDequeue(
        _ running: RunningStream, _ watchdog: DequeueWatchdog, _ context: FrameContext
    ) throws(CameraTrouble) -> CapturedBuffer? {
        watchdog.beginWait()
        defer { watchdog.endWait() }
        do throws(CameraTrouble) {
            if let captured = try dequeue(running) { return captured }
        } catch {
            if context.isStopping { return nil }
            if watchdog.hasFoundStall { throw .stalled }
            // A driver whose device goes ends its stream first, and may have no more to say than that it has none.
            try faults(running.node) { () throws(IoctlFailure) in try running.node.checkPresence() }
            throw error
        }
        running.waitInPoll()
        return nil
    }

    private func dequeue(_ running: RunningStream) throws(CameraTrouble) -> CapturedBuffer? {
        do throws(IoctlFailure) {
            guard let captured = try running.stream.dequeue() else { return nil }
            if captured.flags & UInt32(V4L2_BUF_FLAG_LAST) != 0 {
                throw IoctlFailure(request: "VIDIOC_DQBUF", number: EPIPE)
            }
            return captured
        } catch {
            if error.number == EPIPE { throw .ended }
            throw .fault(CameraFault(error, path: running.node.path))
        }
    }

    /// Makes a frame of a filled buffer, unless it is damaged, late or not due.
    private func take(
        _ captured: CapturedBuffer, _ running: RunningStream, _ context: FrameContext
    ) throws(CameraTrouble) -> SourceFrame? {
        let stream = running.stream
        let now = context.now
        if let due = running.nextLook, now >= due { try look(running, now) }
        if captured.isUnfilled {
            try giveBack(captured, stream)
            // Asked before the next, in case the driver does nothing else any more.
            guard now < running.stall.deadline else { throw .stalled }
            return nil
        }
        losses.taken &+= 1
        let lost = running.sequence.lost(before: captured.sequence)
        losses.lost &+= lost
        running.stall.noteFrame(at: now)
        running.watchdog?.noteFrame(at: now, limitNanoseconds: running.stall.limitNanoseconds)
        if running.check.damage(of: captured, in: stream) != nil {
            noteDamage(true, running, now)
            try giveBack(captured, stream)
            return nil
        }
        ladder.noteFrame(at: now)
        if !running.hasDelivered {
            running.hasDelivered = true
            controls?.settle()
            noteReturn()
        }
        if !running.rateCheck.isDone { noteRate(lost: lost, running, now) }
        let (timestamp, isTrusted) = timestamps.judge(captured.timestamp, flags: captured.flags, now: now)
        if !isTrusted { status.count { $0.timestampsReplaced += 1 } }
        if isTrusted, isStale(timestamp, running, now), stream.hasFilledBuffer {
            losses.lost &+= 1
            noteDamage(false, running, now)
            status.count { $0.framesSkipped += 1 }
            try giveBack(captured, stream)
            return nil
        }
        losses.taken &+= lost
        guard limiter.shouldPass(timestamp, sequenceNumber: losses.taken, at: frameRateLimit(running)) else {
            noteDamage(false, running, now)
            status.count { $0.framesDecimated += 1 }
            try giveBack(captured, stream)
            return nil
        }
        let frame = try makeFrame(captured, running, timestamp: timestamp, delay: isTrusted ? now - timestamp : nil)
        noteDamage(frame == nil, running, now)
        return frame
    }

    /// Nil for a picture that cannot be decoded.
    private func makeFrame(
        _ captured: CapturedBuffer, _ running: RunningStream, timestamp: MediaTime, delay: Duration?
    ) throws(CameraTrouble) -> SourceFrame? {
        let made: FrameMaker.Made
        do throws(CaptureError) {
            made = try running.maker.make(captured)
        } catch {
            guard error.code == .corruptData else { throw .failed(error) }
            return nil
        }
        status.count { statistics in
            if made.isLent {
                statistics.framesLent += 1
            } else if running.maker.pixelFormat == made.buffer.pixelFormat, running.plan.isWhole {
                statistics.framesCopied += 1
            } else {
                statistics.framesConverted += 1
            }
        }
        var frame = SourceFrame(made.buffer, timestamp: timestamp)
        frame.lostBefore = losses.lost
        frame.corruptBefore = losses.corrupt
        losses.lost = 0
        losses.corrupt = 0
        if let color = made.color { frame.color = color }
        frame.captureDelay = delay
        frame.orientation = orientation.orientation
        frame.isMirrored = orientation.isMirrored
        return frame
    }

    /// Frames are kept as long as they are fresh, so that a hiccup of the consumer loses none. When it is too slow for
    /// the camera for good, the newest wins.
    private func isStale(_ timestamp: MediaTime, _ running: RunningStream, _ now: MediaTime) -> Bool {
        now.nanoseconds(since: timestamp) > running.freshness
    }

    /// No more than was asked for, and no more than consumers want; nil when the camera gives no more by itself.
    @inline(__always) private func frameRateLimit(_ running: RunningStream) -> FrameRate? {
        guard let wanted = wants.maximumFrameRate else { return running.plan.decimatedRate }
        return running.plan.decimatedRate.map { min($0, wanted) } ?? wanted
    }

    private func giveBack(_ captured: CapturedBuffer, _ stream: CaptureStream) throws(CameraTrouble) {
        try faults(stream.node) { () throws(IoctlFailure) in
            do throws(IoctlFailure) {
                try stream.queue(captured.index)
            } catch {
                // Tried again by `reclaim`.
                guard !error.isDeviceGone else { throw error }
            }
        }
    }

    /// Now and then, where `poll` does not tell all that is to be known.
    private func look(_ running: RunningStream, _ now: MediaTime) throws(CameraTrouble) {
        guard running.watchdog != nil else {
            running.nextLook = now.advanced(by: .seconds(1))
            return try checkSignal(running)
        }
        running.nextLook = now.advanced(by: .milliseconds(500))
        let ready = calls.waitForInput(running.node.descriptor, events: Int16(POLLPRI), stop: -1, milliseconds: 0)
        if ready & Int16(POLLPRI) != 0 { try handleEvents(running) }
    }

    /// Many drivers make frames without a signal, and tell nobody that it is gone, or has become another.
    private func checkSignal(_ running: RunningStream) throws(CameraTrouble) {
        if let problem = VideoInput.problem(running.node) { throw .noSignal(problem) }
        if let before = running.timings, let timings = SignalTimings(running.node), !timings.matches(before) {
            throw .sourceChanged
        }
    }

    /// Once for each frame.
    @inline(__always) private func noteDamage(_ isDamaged: Bool, _ running: RunningStream, _ now: MediaTime) {
        if isDamaged || running.damage.isCounting { countDamage(isDamaged, running, now) }
    }

    private func countDamage(_ isDamaged: Bool, _ running: RunningStream, _ now: MediaTime) {
        if isDamaged {
            losses.corrupt &+= 1
            status.count { $0.framesDamaged += 1 }
        }
        if let report = running.damage.note(isDamaged: isDamaged, at: now) {
            status.tell(.damagedFrames(count: report.damaged, of: report.total, bus: device?.bus ?? ""))
        }
    }

    private func noteRate(lost: UInt64, _ running: RunningStream, _ now: MediaTime) {
        guard let promised = running.rate,
            let measured = running.rateCheck.noteFrame(at: now, lost: lost, promised: promised)
        else { return }
        let exposesLonger = controls?.mayLowerRate ?? false
        status.tell(
            exposesLonger
                ? .slowInLowLight(measured: measured, negotiated: promised)
                : .slow(measured: measured, negotiated: promised))
    }

    /// Waits for a frame, an event, the stop, or the end of timeout; true when there is a frame to take.
    private func awaitDevice(_ running: RunningStream, _ context: FrameContext) throws(CameraTrouble) -> Bool {
        // The time that the consumer took since the last frame is none of the camera's; so the first wait for the
        // next one need not ask for the time. Only what ended too early is taken up again to the exact moment.
        let stall = running.stall
        let left = max(
            0, running.isStillWaiting ? stall.deadline.nanoseconds(since: context.now) : stall.limitNanoseconds)
        // Rounded up, so as not to spin through the last millisecond.
        let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
        let ready = calls.waitForInput(
            running.node.descriptor, events: Int16(POLLIN | POLLPRI), stop: running.stopDescriptor(context),
            milliseconds: milliseconds)
        if ready == 0, left == 0 { throw .stalled }
        running.falsePromises = ready == 0 ? 0 : running.falsePromises + 1
        if running.falsePromises > 3 {
            // So as not to spin until the camera is taken for stalled.
            _ = calls.waitForInput(-1, events: 0, stop: context.stopDescriptor, milliseconds: 5)
        }
        if ready & Int16(POLLPRI) != 0 { try handleEvents(running) }
        if ready & Int16(POLLERR | POLLHUP | POLLNVAL) != 0, ready & Int16(POLLIN) == 0 || running.errorPolls > 0 {
            try explainError(running)
        }
        running.errorPolls = ready & Int16(POLLERR | POLLHUP) != 0 ? running.errorPolls + 1 : 0
        running.isStillWaiting = ready & Int16(POLLIN) == 0
        return !running.isStillWaiting
    }

    /// All that the driver has to tell; changes of controls are noted.
    func takeEvents(_ node: DeviceNode) throws(IoctlFailure) -> NodeEvents {
        // Before the driver's, among which are these and what came after them.
        controls?.note(status.takeControls())
        let events = try NodeEvents.take(node)
        for control in events.controls { controls?.note(id: control.id, value: control.value) }
        return events
    }

    private func handleEvents(_ running: RunningStream) throws(CameraTrouble) {
        var changed = false
        try faults(running.node) { () throws(IoctlFailure) in
            changed = try takeEvents(running.node).sourceChanged
        }
        if changed {
            orientation = CameraOrientation(running.node)
            throw .sourceChanged
        }
    }

    /// `poll` says that something is wrong; the driver knows what.
    private func explainError(_ running: RunningStream) throws(CameraTrouble) {
        try faults(running.node) { () throws(IoctlFailure) in
            try running.node.checkPresence()
            guard let captured = try running.stream.dequeue() else {
                // Nothing is queued, or the queue is in error.
                throw IoctlFailure(request: "poll", number: EIO)
            }
            try running.stream.queue(captured.index)
            losses.lost &+= 1
        }
    }

    private func faults(_ node: DeviceNode, _ body: () throws(IoctlFailure) -> Void) throws(CameraTrouble) {
        do throws(IoctlFailure) { try body() } catch { throw .fault(CameraFault(error, path: node.path)) }
    }
}
