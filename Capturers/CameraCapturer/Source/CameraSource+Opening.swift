import V4L2Support
import VideoCapturing

extension CameraSource {
    func open() throws {
        try configuration.validate()
        // Before the search, so that no change is missed.
        hotplug = HotplugWatch(directory: directory)
        let device = try CameraSelector(configuration.device).resolve(in: directory)
        // Published even if the camera then refuses the configuration.
        status.contents.withLock { $0.device = device }
        // Drops values from before this opening.
        _ = status.takeControls()
        do {
            let session = try openSession(device)
            let controls = try ControlRestorer(session.node, configuration: configuration)
            adopt(session, controls)
        } catch {
            close()
            throw error
        }
    }

    /// Makes the camera stream.
    func begin(_ context: any CameraContext) throws(CaptureError) {
        limiter = FrameRateLimiter()
        timestamps = TimestampValidator()
        losses = PendingLosses()
        hasStreamed = false
        var lastError: CaptureError?
        // A driver that refuses once is tried again, so that a transient failure does not end the capture.
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
    func startStream(_ context: any CameraContext) throws(CaptureError) {
        guard session != nil else { return try openStream(context) }
        do throws(CaptureError) {
            try openStream(context)
        } catch {
            // This session itself may keep the camera busy, when the driver has refused to end its stream.
            guard error.code == .deviceBusy else { throw error }
            closeSession()
            try openStream(context)
        }
    }

    private func openStream(_ context: any CameraContext) throws(CaptureError) {
        if session == nil, let known = device {
            let found = try directory.camera(like: known)
            let session = try openSession(found ?? known)
            // A camera that was not listed a moment ago, but could be opened, was plugged in between.
            let hasStayed = found.map { $0.node.hasStayed(since: known.node) } ?? false
            if !hasStayed { controls?.recordLoss() }
            controls?.record(status.takeControls())
            adopt(session, controls)
            controls?.update(session.node)
        }
        guard let session else { return }
        controls?.restore(session.node) { [status] name, reason in
            status.report(.controlNotRestored(name: name, reason: reason))
        }
        if let problem = VideoInput.adoptTimings(session.node) {
            state = .interrupted(.noSignal(problem))
            return
        }
        if configuration.media.isPackets { try session.prepareEncoder(configuration.encoder) }
        let stream = try session.makeStream()
        let decision = session.decision
        let running = RunningStream(
            stream: stream, output: try makeOutput(stream, session), decision: decision, startedAt: context.now)
        state = .running(running)
        publish(decision)
        reportSignal(running)
    }

    /// What the buffers of a stream become.
    func makeOutput(_ stream: CaptureStream, _ session: CameraSession) throws(CaptureError) -> StreamOutput {
        guard configuration.media.isPackets else {
            return .frames(
                try FrameMaker(
                    stream, plan: session.decision.plan, processor: processor, wants: wants,
                    deinterlaces: configuration.deinterlaces))
        }
        let maker = PacketMaker(stream, sets: parameterSets, rate: session.decision.negotiated.rate)
        parameterSets = maker.sets
        // While the camera did not stream it would have sent at least one packet, on which later ones may depend.
        if hasStreamed, maker.codec != .jpeg { losses.lost &+= 1 }
        hasStreamed = true
        return .packets(maker)
    }

    /// Reports that frames have two fields, once, and another size of the signal.
    private func reportSignal(_ running: RunningStream) {
        if case .frames(let maker) = running.output, maker.deinterlaces, !hasReportedFields {
            hasReportedFields = true
            status.report(.interlaced)
        }
        guard let timings = running.timings else { return }
        let size = PixelSize(width: Int(timings.width), height: Int(timings.height))
        if let signalSize, signalSize != size { status.report(.signalResized(size)) }
        signalSize = size
    }

    private func openSession(_ device: CameraDevice) throws(CaptureError) -> CameraSession {
        try CameraSession(opening: device, configuration, calls: calls)
    }

    private func adopt(_ session: CameraSession, _ controls: ControlRestorer?) {
        self.session = session
        device = session.device
        self.controls = controls
        orientation = CameraOrientation(session.node)
        NodeEvents.subscribe(session.node, controls: controls?.identifiers ?? [])
        publish(session.decision)
    }

    /// Publishes the negotiated mode.
    private func publish(_ decision: CameraMode.Decision) {
        let delivered = decision.delivered
        settings.format = VideoFormat(
            .nv12, width: delivered.size.width, height: delivered.size.height,
            pixelAspect: session?.pixelAspect ?? .square, estimatedFramesPerSecond: delivered.rate)
        settings.sourceName = device?.name
        settings.mirrorOnLocalRender = orientation.isMirrored
        let isNew = status.contents.withLock { contents in
            defer {
                contents.decision = decision
                contents.device = device
            }
            return contents.decision != decision
        }
        if isNew { status.report(.negotiated(decision)) }
    }
}
