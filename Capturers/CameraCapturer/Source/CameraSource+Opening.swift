import VideoCapturing

extension CameraSource {
    func open() throws {
        try configuration.validate()
        // Before the camera is looked for, so that nothing that happens to it is missed.
        hotplug = HotplugWatch(directory: directory)
        let device = try CameraSelector(configuration.device).resolve(in: directory)
        // Told also where the camera then refuses what is asked of it.
        status.contents.withLock { $0.device = device }
        // Of an earlier life; what is set from now on counts.
        _ = status.takeControls()
        do {
            let session = try openSession(device)
            let keeper = try ControlKeeper(session.node, configuration: configuration)
            adopt(session, keeper)
        } catch {
            close()
            throw error
        }
    }

    func start(_ context: FrameContext) throws {
        limiter = FrameRateLimiter()
        timestamps = TimestampJudge()
        losses = PendingLosses()
        var lastError: CaptureError?
        // A driver that refuses once is asked again: others give up here, and lose the camera to a hiccup.
        for attempt in 0..<3 {
            if attempt > 0, !context.wait(until: context.now.advanced(by: .milliseconds(100))) { break }
            do throws(CaptureError) {
                try startStream(context)
                return
            } catch {
                lastError = error
                session?.close()
                session = nil
                if [.deviceBusy, .permissionDenied].contains(error.code) { break }
            }
        }
        if let lastError { throw lastError }
    }

    /// Opens the camera if it is not open, and makes it stream.
    func startStream(_ context: FrameContext) throws(CaptureError) {
        guard session != nil else { return try openStream(context) }
        do throws(CaptureError) {
            try openStream(context)
        } catch {
            // It may be this very session that keeps the camera busy, when the driver has refused to end its stream.
            guard error.code == .deviceBusy else { throw error }
            closeSession()
            try openStream(context)
        }
    }

    private func openStream(_ context: FrameContext) throws(CaptureError) {
        if session == nil, let known = device {
            let found = try directory.camera(like: known)
            let session = try openSession(found ?? known)
            // One that was not there a moment ago, and yet could be opened, has come in between.
            let hasStayed = found.map { $0.node.hasStayed(since: known.node) } ?? false
            if !hasStayed { controls?.noteLoss() }
            controls?.note(status.takeControls())
            adopt(session, controls)
            controls?.learn(session.node)
        }
        guard let session else { return }
        controls?.makeUp(session.node) { [status] name, reason in
            status.tell(.controlNotRestored(name: name, reason: reason))
        }
        if let problem = VideoInput.adoptTimings(session.node) {
            outage = .noSignal(problem)
            return
        }
        let stream = try session.makeStream()
        let decision = session.decision
        running = RunningStream(
            stream: stream, maker: try FrameMaker(stream, plan: decision.plan, processor: processor, wants: wants),
            decision: decision, startedAt: context.now)
        status.contents.withLock { $0.exporter = stream.exporter }
        publish(decision)
        outage = nil
    }

    private func openSession(_ device: CameraDevice) throws(CaptureError) -> CameraSession {
        try CameraSession(opening: device, configuration, calls: calls)
    }

    private func adopt(_ session: CameraSession, _ keeper: ControlKeeper?) {
        self.session = session
        device = session.device
        controls = keeper
        orientation = CameraOrientation(session.node)
        NodeEvents.subscribe(session.node, controls: keeper?.identifiers ?? [])
        publish(session.decision)
    }

    /// Lets everyone know what was settled.
    private func publish(_ decision: CameraModeDecision) {
        let delivered = decision.delivered
        settings.format = VideoFormat(
            .nv12, width: delivered.size.width, height: delivered.size.height,
            estimatedFramesPerSecond: delivered.rate)
        settings.sourceName = device?.name
        settings.mirrorOnLocalRender = orientation.isMirrored
        let isNew = status.contents.withLock { contents in
            defer {
                contents.decision = decision
                contents.device = device
            }
            return contents.decision != decision
        }
        if isNew { status.tell(.negotiated(decision)) }
    }
}
