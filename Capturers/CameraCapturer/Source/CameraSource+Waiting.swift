import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraSource {
    /// The next frame or packet that is complete and due; nil without one yet, or if the capture is being stopped.
    ///
    /// Two system calls per frame: requeue, and dequeue, which waits; with drivers for which it is not known that such
    /// a wait can be ended it is three, with `poll` between them. Normally there is no second frame ready, so a dequeue
    /// without waiting would fail after each.
    func awaitSample(
        _ running: RunningStream, _ context: any CameraContext
    ) throws(CameraStreamError) -> CameraSample? {
        // A driver without a buffer cannot deliver; that is not a stall of the camera.
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
            // `poll` has reported a frame that does not exist: the stall limit still counts from the last frame.
            running.isStillWaiting = true
            if context.now >= running.stall.deadline { throw .stalled }
            return nil
        }
        running.falseReadiness = 0
        return try take(captured, running, context)
    }

    /// Waits for the frame in `VIDIOC_DQBUF`; nil when the capture is being stopped, or `poll` waits from now on.
    private func awaitDequeue(
        _ running: RunningStream, _ watchdog: DequeueWatchdog, _ context: any CameraContext
    ) throws(CameraStreamError) -> CapturedBuffer? {
        watchdog.beginWait()
        defer { watchdog.endWait() }
        do throws(CameraStreamError) {
            if let captured = try dequeue(running) { return captured }
        } catch {
            if context.isStopping { return nil }
            if watchdog.hasFoundStall { throw .stalled }
            // A driver whose device disappears ends its stream first, and may report only that nothing streams.
            try faults(running.node) { () throws(IoctlFailure) in try running.node.checkPresence() }
            throw error
        }
        running.waitInPoll()
        return nil
    }

    private func dequeue(_ running: RunningStream) throws(CameraStreamError) -> CapturedBuffer? {
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

    /// Makes a frame or a packet from a filled buffer, unless it is damaged, stale or not due.
    private func take(
        _ captured: CapturedBuffer, _ running: RunningStream, _ context: any CameraContext
    ) throws(CameraStreamError) -> CameraSample? {
        let stream = running.stream
        let now = context.now
        if let due = running.nextCheck, now >= due { try checkConditions(running, now) }
        if captured.isUnfilled || holdsOnlySets(captured, running) {
            try requeue(captured, stream)
            // Checked here, since the driver may return nothing but such buffers.
            guard now < running.stall.deadline else { throw .stalled }
            return nil
        }
        losses.taken &+= 1
        let lost = running.sequence.lost(before: captured.sequence)
        losses.lost &+= lost
        running.stall.recordFrame(at: now)
        running.watchdog?.recordFrame(at: now, limitNanoseconds: running.stall.limitNanoseconds)
        if running.check.damage(of: captured, in: stream) != nil {
            recordDamage(true, running, now)
            try requeue(captured, stream)
            if running.stall.recordDamaged(at: now) { throw .stalled }
            return nil
        }
        if !running.isUndecodable {
            running.stall.recordComplete()
            retryPolicy.recordFrame(at: now)
        }
        if !running.hasDelivered {
            running.hasDelivered = true
            controls?.finishRestoring()
            recordReturn()
        }
        if !running.rateCheck.isDone { recordRate(lost: lost, running, now) }
        let (timestamp, isTrusted) = timestamps.validate(captured.timestamp, flags: captured.flags, now: now)
        if !isTrusted { status.count { $0.timestampsReplaced += 1 } }
        if isTrusted, isStale(timestamp, running, now), stream.hasFilledBuffer {
            losses.lost &+= 1
            recordDamage(false, running, now)
            status.count { $0.framesSkipped += 1 }
            try requeue(captured, stream)
            return nil
        }
        losses.taken &+= lost
        guard limiter.shouldPass(timestamp, sequenceNumber: losses.taken, at: frameRateLimit(running)) else {
            recordDamage(false, running, now)
            status.count { $0.framesDecimated += 1 }
            try requeue(captured, stream)
            return nil
        }
        let delay = isTrusted ? now - timestamp : nil
        let sample: CameraSample? =
            switch running.output {
            case .frames(let maker): try makeFrame(captured, running, maker, timestamp: timestamp, delay: delay)
            case .packets(let maker): try makePacket(captured, running, maker, timestamp: timestamp, delay: delay)
            }
        recordDamage(sample == nil, running, now)
        running.isUndecodable = sample == nil
        if sample == nil, running.stall.recordDamaged(at: now) { throw .stalled }
        return sample
    }

    /// Makes the frame; nil when decoding fails.
    private func makeFrame(
        _ captured: CapturedBuffer, _ running: RunningStream, _ maker: FrameMaker, timestamp: MediaTime,
        delay: Duration?
    ) throws(CameraStreamError) -> CameraSample? {
        let made: FrameMaker.Made
        do throws(CaptureError) {
            made = try maker.make(captured)
        } catch {
            guard error.code == .corruptData else { throw .failed(error) }
            return nil
        }
        status.count { statistics in
            if made.isLent {
                statistics.framesLent += 1
            } else if maker.pixelFormat == made.buffer.pixelFormat, running.plan.isWhole {
                statistics.framesCopied += 1
            } else {
                statistics.framesConverted += 1
            }
        }
        var frame = SourceFrame(made.buffer, timestamp: timestamp)
        frame.compressed = made.compressed
        if let color = made.color { frame.color = color }
        frame.attributes.describe(self, delay)
        return .frame(frame)
    }

    /// Makes the packet, and requeues the buffer; nil when it holds no packet.
    private func makePacket(
        _ captured: CapturedBuffer, _ running: RunningStream, _ maker: PacketMaker, timestamp: MediaTime,
        delay: Duration?
    ) throws(CameraStreamError) -> CameraSample? {
        let made = maker.make(captured, timestamp: timestamp)
        parameterSets = maker.sets
        try requeue(captured, running.stream)
        guard var packet = made else { return nil }
        status.count { $0.framesCopied += 1 }
        packet.attributes.describe(self, delay)
        return .packet(packet)
    }

    /// Whether a buffer has parameter sets without a picture, as some encoders send them first. The sets are kept.
    private func holdsOnlySets(_ captured: CapturedBuffer, _ running: RunningStream) -> Bool {
        guard case .packets(let maker) = running.output, maker.keepSets(of: captured) else { return false }
        parameterSets = maker.sets
        losses.lost &+= running.sequence.lost(before: captured.sequence)
        return true
    }

    /// Whether a frame is stale. Fresh frames are all delivered, so that a short delay of the consumer loses none. When
    /// it is permanently too slow for the camera, stale frames are dropped in favor of newer ones.
    private func isStale(_ timestamp: MediaTime, _ running: RunningStream, _ now: MediaTime) -> Bool {
        now.nanoseconds(since: timestamp) > running.freshness
    }

    /// The lower of the requested rate and the rate that consumers want; nil when the camera does not exceed it.
    @inline(__always) private func frameRateLimit(_ running: RunningStream) -> FrameRate? {
        guard let wanted = wants.maximumFrameRate else { return running.plan.decimatedRate }
        return running.plan.decimatedRate.map { min($0, wanted) } ?? wanted
    }

    private func requeue(_ captured: CapturedBuffer, _ stream: CaptureStream) throws(CameraStreamError) {
        try faults(stream.node) { () throws(IoctlFailure) in
            do throws(IoctlFailure) {
                try stream.queue(captured.index)
            } catch {
                // `reclaim` tries again.
                guard !error.isDeviceGone else { throw error }
            }
        }
    }

    /// Checks from time to time the conditions that the wait for frames does not report.
    private func checkConditions(_ running: RunningStream, _ now: MediaTime) throws(CameraStreamError) {
        guard running.watchdog != nil else {
            running.nextCheck = now.advanced(by: .seconds(1))
            return try checkSignal(running)
        }
        running.nextCheck = now.advanced(by: .milliseconds(500))
        let ready = calls.waitForInput(running.node.descriptor, events: Int16(POLLPRI), stop: -1, milliseconds: 0)
        if ready & Int16(POLLPRI) != 0 { try handleEvents(running) }
    }

    /// Checks the signal: many drivers deliver frames without one, and send no event when it is lost or has changed.
    private func checkSignal(_ running: RunningStream) throws(CameraStreamError) {
        if let problem = VideoInput.problem(running.node) { throw .noSignal(problem) }
        if let before = running.timings, let timings = SignalTimings(running.node), !timings.matches(before) {
            throw .sourceChanged
        }
    }

    /// Called once per frame.
    @inline(__always) private func recordDamage(_ isDamaged: Bool, _ running: RunningStream, _ now: MediaTime) {
        if isDamaged || running.damage.isCounting { countDamage(isDamaged, running, now) }
    }

    private func countDamage(_ isDamaged: Bool, _ running: RunningStream, _ now: MediaTime) {
        if isDamaged {
            losses.corrupt &+= 1
            status.count { $0.framesDamaged += 1 }
        }
        if let report = running.damage.record(isDamaged: isDamaged, at: now) {
            status.report(.damagedFrames(count: report.damaged, of: report.total, bus: device?.bus ?? ""))
        }
    }

    private func recordRate(lost: UInt64, _ running: RunningStream, _ now: MediaTime) {
        guard let negotiated = running.rate,
            let measured = running.rateCheck.recordFrame(at: now, lost: lost, negotiated: negotiated)
        else { return }
        let exposesLonger = controls?.mayLowerRate ?? false
        status.report(
            exposesLonger
                ? .slowInLowLight(measured: measured, negotiated: negotiated)
                : .slow(measured: measured, negotiated: negotiated))
    }

    /// Waits for a frame, an event, the stop, or the stall limit; true when there is a frame to dequeue.
    private func awaitDevice(_ running: RunningStream, _ context: any CameraContext) throws(CameraStreamError) -> Bool {
        // The time that the consumer took since the last frame does not count, so the first wait for the next one does
        // not need the present time. Only a wait that ended early is continued to the exact deadline.
        let stall = running.stall
        let left = max(
            0, running.isStillWaiting ? stall.deadline.nanoseconds(since: context.now) : stall.limitNanoseconds)
        // Rounded up, so as not to spin through the last millisecond.
        let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
        let ready = calls.waitForInput(
            running.node.descriptor, events: Int16(POLLIN | POLLPRI), stop: running.stopDescriptor(context),
            milliseconds: milliseconds)
        if ready == 0, left == 0 { throw .stalled }
        running.falseReadiness = ready == 0 ? 0 : running.falseReadiness + 1
        if running.falseReadiness > 3 {
            // So as not to spin until the camera counts as stalled.
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

    /// Reads the driver's events, and records changes of controls.
    func takeEvents(_ node: DeviceNode) throws(IoctlFailure) -> NodeEvents {
        // Before the driver's events, which contain these values and later ones.
        controls?.record(status.takeControls())
        let events = try NodeEvents.take(node)
        for control in events.controls { controls?.record(id: control.id, value: control.value) }
        return events
    }

    private func handleEvents(_ running: RunningStream) throws(CameraStreamError) {
        var changed = false
        try faults(running.node) { () throws(IoctlFailure) in
            changed = try takeEvents(running.node).sourceChanged
        }
        if changed {
            orientation = CameraOrientation(running.node)
            throw .sourceChanged
        }
    }

    /// Finds the reason of an error that `poll` has reported.
    private func explainError(_ running: RunningStream) throws(CameraStreamError) {
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

    private func faults(_ node: DeviceNode, _ body: () throws(IoctlFailure) -> Void) throws(CameraStreamError) {
        do throws(IoctlFailure) { try body() } catch { throw .fault(CameraFault(error, path: node.path)) }
    }
}

extension FrameAttributes {
    /// Takes what a camera reports of its frames, and the measured delay.
    fileprivate mutating func describe(_ camera: CameraSource, _ delay: Duration?) {
        estimatedCaptureDelay = delay
        pixelAspect = camera.session?.pixelAspect ?? .square
        orientation = camera.orientation.orientation
        isMirrored = camera.orientation.isMirrored
    }
}
