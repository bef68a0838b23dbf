import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraSource {
    /// Ends a stream that has failed, and reports it; ``recover(_:)`` follows.
    ///
    /// - Throws: the error that ends the capture, when it does not wait for the camera.
    func interrupt(after error: CameraStreamError, _ context: any CameraContext) throws(CaptureError) {
        switch error {
        case .failed(let error):
            throw error
        case .ended:
            // Some drivers end a stream now and then. A camera whose stream ends before its first frame does not
            // respond.
            guard case .running(let ended) = state, ended.hasDelivered else { return begin(.failing, context) }
            endStream()
            state = .interrupted(.resuming)
        case .sourceChanged:
            // The format depends on the timings, so the mode is negotiated again.
            closeSession()
            state = .interrupted(.resuming)
        case .noSignal(let problem):
            endStream()
            state = .interrupted(.noSignal(problem))
        case .stalled:
            try failUnlessReconnecting(
                CaptureError(
                    .stalled, operation: "wait for a frame", subject: device?.name,
                    message: "The camera is there but gives no whole frames; unplug it and plug it in again."))
            begin(.failing, context)
        case .fault(let fault):
            try failUnlessReconnecting(fault.captureError)
            begin(fault.kind == .disconnected ? .disconnected : .failing, context)
        }
    }

    /// Takes the next step to recover the camera, or waits; returns once something has changed, or the capture is being
    /// stopped.
    func recover(_ context: any CameraContext) throws(CaptureError) {
        guard case .interrupted(let interruption) = state else { return }
        switch interruption {
        case .resuming: try resume(context)
        case .failing: try retry(context)
        case .disconnected: try awaitReturn(context)
        case .noPermission, .busy: try awaitAccess(context)
        case .noSignal(let problem): try awaitSignal(problem, context)
        }
    }

    /// Takes the next step of the retry policy.
    private func retry(_ context: any CameraContext) throws(CaptureError) {
        let count = RetryPolicy.quickReopens + 1
        switch retryPolicy.next() {
        case .restartStream:
            status.report(.restarting(attempt: 1, of: count))
        case .reopen(let attempt, _):
            status.report(.restarting(attempt: attempt + 1, of: count))
            closeSession()
        case .waitAndReopen(let time):
            status.report(.waiting(time))
            closeSession()
            awaitHotplug(context, atMost: time)
        }
        guard !context.isStopping else { return }
        status.count { $0.restarts += 1 }
        try resume(context)
    }

    private func awaitReturn(_ context: any CameraContext) throws(CaptureError) {
        guard let device else { return }
        if absence != .triedAgain, (try? directory.camera(like: device)) != nil {
            // Until a frame comes.
            absence = .triedAgain
            try resume(context)
            guard isInterrupted(by: .disconnected) else { return }
        }
        // A node that exists but is unusable may become usable without a change in its folder.
        let exists = absence == .triedAgain || access(device.path, F_OK) == 0
        awaitHotplug(context, atMost: exists ? .seconds(1) : nil)
        absence = .unplugged
    }

    /// Records the first complete frame of a stream: a camera that was unplugged has returned.
    func recordReturn() {
        guard absence != .none else { return }
        absence = .none
        status.count { $0.reconnects += 1 }
        status.report(.reconnected(path: device?.path ?? ""))
    }

    private func awaitAccess(_ context: any CameraContext) throws(CaptureError) {
        // There is no event when another program closes the camera.
        awaitHotplug(context, atMost: isInterrupted(by: .busy) ? .seconds(1) : nil)
        if !context.isStopping { try resume(context) }
    }

    private func awaitSignal(_ problem: CameraCapturer.Event.SignalProblem, _ context: any CameraContext)
        throws(CaptureError)
    {
        guard let session else { return try resume(context) }
        context.reportInterruption(problem == .none ? .noSignal : .other("\(CameraCapturer.Event.signal(problem))"))
        if reportedProblem != problem {
            reportedProblem = problem
            status.report(.signal(problem))
        }
        // Not every driver sends an event of a change, so the input is queried each second as well.
        let ready = calls.waitForInput(
            session.node.descriptor, events: Int16(POLLPRI), stop: context.stopDescriptor, milliseconds: 1000)
        if ready != 0, ready & Int16(POLLPRI) == 0 {
            // Some drivers report an error as long as nothing streams.
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
            state = .interrupted(.noSignal(now))
        } else {
            if reportedProblem != nil { status.report(.signalReturned) }
            reportedProblem = nil
            closeSession()
            state = .interrupted(.resuming)
        }
    }

    /// Opens the camera if necessary and starts streaming; a failure begins another interruption.
    private func resume(_ context: any CameraContext) throws(CaptureError) {
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

    /// Begins an interruption: ends the stream, and closes the camera where it is gone, since an open node blocks its
    /// number. The interruption is reported first, so that the capture does not seem to run without its camera.
    private func begin(_ interruption: CameraInterruption, _ context: any CameraContext) {
        let isNew = !isInterrupted(by: interruption)
        defer { state = .interrupted(interruption) }
        switch interruption {
        case .disconnected:
            context.reportInterruption(.deviceDisconnected)
            closeSession()
            if isNew {
                retryPolicy = RetryPolicy()
                if absence == .none { absence = .unplugged }
                status.report(.disconnected)
            }
        case .busy:
            context.reportInterruption(.deviceBusy)
            closeSession()
            if isNew { status.report(.busy(holder: device.flatMap { CameraDevice.Holder.find($0.path)?.description })) }
        case .noPermission:
            context.reportInterruption(.other("\(CameraCapturer.Event.noPermission)"))
            closeSession()
            if isNew { status.report(.noPermission) }
        case .failing:
            context.reportInterruption(.stalled)
            endStream()
        case .resuming, .noSignal:
            endStream()
        }
    }

    private func isInterrupted(by interruption: CameraInterruption) -> Bool {
        if case .interrupted(interruption) = state { true } else { false }
    }

    /// Ends the stream at once, not only with its last reference.
    func endStream() {
        guard case .running(let running) = state else { return }
        running.end()
        state = .interrupted(.resuming)
    }

    func closeSession() {
        endStream()
        session?.close()
        session = nil
    }

    private func failUnlessReconnecting(_ error: CaptureError) throws(CaptureError) {
        if !configuration.reconnects { throw error }
    }

    /// Waits until a camera may have been plugged in or become usable, or the capture is being stopped.
    private func awaitHotplug(_ context: any CameraContext, atMost limit: Duration?) {
        // Without the watch the cameras are listed from time to time.
        let limit = limit ?? (hotplug == nil ? .seconds(1) : nil)
        let end = limit.map { MonotonicClock().now.advanced(by: $0) }
        while !context.isStopping {
            let left = end.map { $0 - MonotonicClock().now }
            if let left, left <= .zero { return }
            let ready = calls.waitForInput(
                hotplug?.descriptor ?? -1, events: Int16(POLLIN), stop: context.stopDescriptor,
                milliseconds: left.map { Int32(clamping: ($0.nanoseconds + 999_999) / 1_000_000) } ?? -1)
            // Before the next listing, so that a change during the listing wakes the next wait. Devices of other kinds
            // cause events as well.
            if ready != 0, hotplug?.drain() ?? true { return }
        }
    }
}
