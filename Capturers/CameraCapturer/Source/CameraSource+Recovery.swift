import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraSource {
    /// A stream has failed: lets go of it, and says so. ``recover(_:)`` does the rest.
    ///
    /// Throws what ends the capture, when it is not to wait for the camera.
    func note(_ trouble: CameraTrouble, _ context: FrameContext) throws(CaptureError) {
        switch trouble {
        case .failed(let error):
            throw error
        case .ended:
            // Some drivers end a stream now and then. One that ends before its first frame does not respond.
            guard let ended = running, ended.hasDelivered else { return begin(.failing, context) }
            endStream()
            outage = .resuming
        case .sourceChanged:
            // The format follows from the timings, so all is settled anew.
            closeSession()
            outage = .resuming
        case .noSignal(let problem):
            endStream()
            outage = .noSignal(problem)
        case .stalled:
            try failUnlessReconnecting(
                CaptureError(
                    .stalled, operation: "wait for a frame", subject: device?.name,
                    message: "The camera is there but gives no frames; unplug it and plug it in again."))
            begin(.failing, context)
        case .fault(let fault):
            try failUnlessReconnecting(fault.captureError)
            begin(fault.kind == .disconnected ? .disconnected : .failing, context)
        }
    }

    /// Does what may bring the frames back, and waits where waiting is all that can be done; returns once something
    /// has changed, or the capture is being stopped.
    func recover(_ context: FrameContext) throws(CaptureError) {
        switch outage ?? .resuming {
        case .resuming: try resume(context)
        case .failing: try climb(context)
        case .disconnected: try awaitReturn(context)
        case .noPermission, .busy: try awaitAccess(context)
        case .noSignal(let problem): try awaitSignal(problem, context)
        }
    }

    /// Takes the next step of the ladder.
    private func climb(_ context: FrameContext) throws(CaptureError) {
        let count = FaultLadder.quickReopens + 1
        switch ladder.next() {
        case .restartStream:
            status.tell(.restarting(attempt: 1, of: count))
        case .reopen(let attempt, _):
            status.tell(.restarting(attempt: attempt + 1, of: count))
            closeSession()
        case .waitAndReopen(let time):
            status.tell(.waiting(time))
            closeSession()
            awaitHotplug(context, atMost: time)
        }
        guard !context.isStopping else { return }
        status.count { $0.restarts += 1 }
        try resume(context)
    }

    private func awaitReturn(_ context: FrameContext) throws(CaptureError) {
        guard let device else { return }
        if !wasTriedInVain, (try? directory.camera(like: device)) != nil {
            // Until a frame comes.
            wasTriedInVain = true
            try resume(context)
            guard outage == .disconnected else { return }
        }
        // A node that is there but cannot be used may become usable without a change in its folder.
        let isThere = wasTriedInVain || access(device.path, F_OK) == 0
        awaitHotplug(context, atMost: isThere ? .seconds(1) : nil)
        wasTriedInVain = false
    }

    /// A whole frame has come, the first of its stream: whatever was wrong is over.
    func noteReturn() {
        wasTriedInVain = false
        guard isReturning else { return }
        isReturning = false
        status.count { $0.reconnects += 1 }
        status.tell(.reconnected(path: device?.path ?? ""))
    }

    private func awaitAccess(_ context: FrameContext) throws(CaptureError) {
        // No event tells that another program has closed the camera.
        awaitHotplug(context, atMost: outage == .busy ? .seconds(1) : nil)
        if !context.isStopping { try resume(context) }
    }

    private func awaitSignal(_ problem: SignalProblem, _ context: FrameContext) throws(CaptureError) {
        guard let session else { return try resume(context) }
        context.reportInterruption(problem == .none ? .noSignal : .other("\(CameraEvent.signal(problem))"))
        if reported != .signal(problem) {
            reported = .signal(problem)
            status.tell(.signal(problem))
        }
        // Not every driver tells of a change, so the input is asked each second as well.
        let ready = calls.waitForInput(
            session.node.descriptor, events: Int16(POLLPRI), stop: context.stopDescriptor, milliseconds: 1000)
        if ready != 0, ready & Int16(POLLPRI) == 0 {
            // Some drivers report an error for as long as nothing streams.
            _ = calls.waitForInput(-1, events: 0, stop: context.stopDescriptor, milliseconds: 250)
        }
        guard !context.isStopping else { return }
        do throws(IoctlFailure) {
            _ = try takeEvents(session.node)
            try session.node.checkPresence()
        } catch {
            begin(.disconnected, context)
            return
        }
        if let now = VideoInput.problem(session.node) {
            outage = .noSignal(now)
        } else {
            reported = nil
            closeSession()
            outage = .resuming
        }
    }

    /// Opens the camera if need be, and streams; on failure there is another outage.
    private func resume(_ context: FrameContext) throws(CaptureError) {
        endStream()
        do throws(CaptureError) {
            try startStream(context)
        } catch {
            try failUnlessReconnecting(error)
            switch error.code {
            case .deviceLost, .deviceNotFound: begin(.disconnected, context)
            case .deviceBusy: begin(.busy, context)
            case .permissionDenied: begin(.noPermission, context)
            default: begin(.failing, context)
            }
        }
    }

    /// Lets go of the stream, and of the camera where it is gone: a node that is held blocks its number. The state
    /// comes first, so that nobody sees the camera gone and the capture as if it went on.
    private func begin(_ outage: Outage, _ context: FrameContext) {
        let isNew = self.outage != outage
        self.outage = outage
        switch outage {
        case .disconnected:
            context.reportInterruption(.deviceDisconnected)
            closeSession()
            if isNew {
                ladder = FaultLadder()
                isReturning = true
                status.tell(.disconnected)
            }
        case .busy:
            context.reportInterruption(.deviceBusy)
            closeSession()
            if isNew { status.tell(.busy(holder: device.flatMap { DeviceHolder.find($0.path)?.description })) }
        case .noPermission:
            context.reportInterruption(.other("\(CameraEvent.noPermission)"))
            closeSession()
            if isNew { status.tell(.noPermission) }
        case .failing:
            context.reportInterruption(.stalled)
            endStream()
        case .resuming, .noSignal:
            endStream()
        }
    }

    /// At once, and not only when nobody refers to the stream any more.
    func endStream() {
        running?.end()
        running = nil
    }

    func closeSession() {
        endStream()
        session?.close()
        session = nil
    }

    private func failUnlessReconnecting(_ error: CaptureError) throws(CaptureError) {
        if !configuration.reconnects { throw error }
    }

    /// Waits until a camera may have come or become usable, or the capture is being stopped.
    private func awaitHotplug(_ context: FrameContext, atMost limit: Duration?) {
        // Without the watch only looking again helps.
        let limit = limit ?? (hotplug == nil ? .seconds(1) : nil)
        let end = limit.map { MonotonicClock().now.advanced(by: $0) }
        while !context.isStopping {
            let left = end.map { $0 - MonotonicClock().now }
            if let left, left <= .zero { return }
            let ready = calls.waitForInput(
                hotplug?.descriptor ?? -1, events: Int16(POLLIN), stop: context.stopDescriptor,
                milliseconds: left.map { Int32(clamping: ($0.nanoseconds + 999_999) / 1_000_000) } ?? -1)
            // Before the next look, so that what comes while looking wakes the next wait. Devices of other kinds come
            // and go as well.
            if ready != 0, hotplug?.drain() ?? true { return }
        }
    }
}
