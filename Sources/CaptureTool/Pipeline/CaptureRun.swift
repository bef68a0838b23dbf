import CameraCapturer
import FileCapturer
import MJPEGCapturer
import MJPEGServer
import MediaContainers
import VP8Codec
import VideoCapturing

/// One run of the tool, from the plan to the exit code.
///
/// Frames flow on the threads of the pipeline; the main thread waits, reports and stops it.
struct CaptureRun {
    let plan: CapturePlan
    let terminal: Terminal
    let signals: SignalWatcher

    private let stop = StopRequest()

    init(plan: CapturePlan, terminal: Terminal, signals: SignalWatcher) {
        self.plan = plan
        self.terminal = terminal
        self.signals = signals
    }

    /// Runs the plan to its end.
    ///
    /// - Throws: the error that prevented the start.
    func run() throws(ExitError) -> ExitStatus {
        let events = RunEvents()
        signals.watch { [stop] in
            stop.make()
            events.post(.asked)
        }
        do throws(ExitError) {
            return try run(events)
        } catch {
            // Opening failed because a stop was requested.
            guard stop.isMade else { throw error }
            return endWithoutFrames()
        }
    }

    /// Ends a run that was stopped before its first frame.
    private func endWithoutFrames() -> ExitStatus {
        let message = "Ended before the first frame; nothing was captured."
        if !plan.isQuiet {
            terminal.writeLine(plan.statistics == .json ? StatisticsJSON.notice(message) : message)
        }
        return .success
    }

    private func run(_ events: RunEvents) throws(ExitError) -> ExitStatus {
        if plan.showsPreview, !terminal.isInteractive {
            throw ExitError(.usage, "--preview: standard error is not a terminal; leave it out.")
        }
        try OutputCheck.run(
            plan.outputs, input: plan.request.input.map(localPath), overwrites: plan.overwrites)
        let capture = try openCapture(events)
        defer { capture.releaseCapture() }
        if stop.isMade { return endWithoutFrames() }
        let rate = capture.captureSettings().format.estimatedFramesPerSecond ?? 30
        do {
            try plan.encoding.configuration(
                for: capture.captureSettings().format, rate: rate, hint: plan.contentHint ?? .none
            ).validate()
            let writers = try OutputWriter.open(
                plan.outputs, overwrites: plan.overwrites,
                timing: plan.frameTiming(for: capture.captureSettings().format, isFile: capture.fileProgress != nil),
                duration: plan.duration, isWanted: { !stop.isMade })
            limitWaits(of: writers)
            do {
                let pipeline = try Pipeline(capture, writers: writers, plan: plan, rate: rate, events: events)
                let reporter = try begin(pipeline, events)
                return record(pipeline, events, reporter)
            } catch {
                OutputWriter.removeFiles(of: writers)
                throw error
            }
        } catch let error as MediaFileError {
            throw ExitError(opening: error)
        } catch let error as CodecError {
            throw ExitError(error)
        } catch let error as MJPEGServerError {
            throw ExitError(error)
        } catch let error as CaptureError {
            throw ExitError(error, hasInput: hasInput)
        } catch {
            throw error as? ExitError ?? ExitError(.unavailable, "\(error)")
        }
    }

    private var hasInput: Bool { plan.source.option(named: "input") != nil }

    private func openCapture(_ events: RunEvents) throws(ExitError) -> LimitedCapture {
        var camera: CameraCapturer?
        do throws(CaptureError) {
            let source = try plan.source.makeCapture(plan.request)
            camera = source as? CameraCapturer
            (source as? MJPEGCapturer)?.setEventHandler { event in
                if case .connected = event { return }
                events.post(notice: "\(event)")
            }
            let file = source as? FileCapturer
            if let hint = plan.contentHint { source.videoContentHint = hint }
            camera?.setEventHandler { event in
                // Reported by `--explain`, and by the first line.
                if case .negotiated = event { return }
                if case .slowInLowLight = event { return events.post(notice: "\(event) So does --keep-rate.") }
                events.post(notice: "\(event)")
            }
            let capture = LimitedCapture(
                source, frames: plan.frames, duration: plan.duration, orientation: plan.orientation
            ) { events.post(.limitReached) }
            stop.setOpening(capture)
            try capture.initCapture()
            try checkAgreement(file?.fileFormat ?? capture.captureSettings().format)
            if plan.explains, let decision = camera?.decision {
                for line in decision.lines(rejectedLimit: 10) { terminal.writeLine(line) }
            }
            return capture
        } catch {
            // Invalid settings are usage errors when the tool itself finds them; a device that is not a camera is an
            // input error.
            let isNoCamera = camera.map { $0.device == nil } ?? false
            throw ExitError(error, hasInput: (hasInput || isNoCamera) && error.operation != ExitError.checkingOptions)
        }
    }

    /// Throws for options that contradict the format of a file.
    private func checkAgreement(_ format: VideoFormat) throws(CaptureError) {
        guard hasInput else { return }
        func differ(_ option: String, _ own: String) -> CaptureError {
            CaptureError(
                .invalidConfiguration, operation: ExitError.checkingOptions, subject: plan.request.input,
                message: "This file has \(own); leave \(option) out.")
        }
        if let size = plan.request.size, size != (format.imageWidth, format.imageHeight) {
            throw differ("--size", "the size \(format.imageWidth)x\(format.imageHeight)")
        }
        if let pixelFormat = plan.request.pixelFormat, pixelFormat != format.pixelFormat {
            throw differ("--pixel-format", "the pixel format \(format.pixelFormat)")
        }
        if case .frames(let rate) = plan.request.rate, rate != format.estimatedFramesPerSecond {
            throw differ("--fps", "the rate \(format.estimatedFramesPerSecond?.description ?? "of its timestamps")")
        }
    }

    private func begin(_ pipeline: Pipeline, _ events: RunEvents) throws -> Reporter {
        if plan.showsPreview {
            try pipeline.publisher.add(
                PreviewConsumer(terminal, keepsStatusRow: !plan.isQuiet && plan.statistics == .text), name: "preview",
                queue: .init(capacity: 1, policy: .dropOldest))
        }
        let states = pipeline.capture.stateChanges()
        Task.detached {
            for await change in states {
                pipeline.serving?.sourceStateChanged(to: change.new)
                if case .stopped(let reason) = change.new { events.post(.captureStopped(reason)) }
            }
        }
        let reporter = Reporter(plan: plan, pipeline: pipeline, terminal: terminal)
        let start = MonotonicClock().now
        try pipeline.publisher.start()
        stop.setOpening(nil)
        reporter.begin(at: start)
        if plan.showsPreview { terminal.enterPreview() }
        return reporter
    }

    private func record(_ pipeline: Pipeline, _ events: RunEvents, _ reporter: Reporter) -> ExitStatus {
        var status = ExitStatus.success
        let reason = wait(for: events, pipeline, reporter, &status)
        let end = endTime(pipeline.capture)
        // A script must not mistake a recording that the loss of a camera has cut short for a complete one.
        let wasInterrupted = if case .interrupted = pipeline.capture.state { true } else { false }
        let stopFailure = stopPublisher(pipeline.publisher)
        pipeline.finish(events, at: end)
        terminal.leavePreview()
        handle(events.takeFailures(), pipeline, reporter, &status)
        if case .captureStopped(let stop) = reason, let error = stop.error {
            let exitError = ExitError(whileRunning: error)
            reporter.failCapture(exitError.message)
            status = exitError.status
        } else if let stopFailure, !(stop.isMade && stopFailure.code == .invalidState) {
            // There is no capture to stop when the stop came during the start.
            reporter.warn("\(stopFailure)")
        }
        if wasInterrupted, status == .success {
            reporter.failCapture(
                "The source was unavailable when the capture ended; the outputs are complete up to the interruption.")
            status = .inputOutput
        }
        if pipeline.capture.passed.count == 0 {
            OutputWriter.removeFiles(of: pipeline.writers.filter { $0.file?.bytesWritten == 0 })
        }
        reporter.end(at: MonotonicClock().now)
        return status
    }

    /// Limits how long an output with a stalled reader may block other outputs, and the end of the run.
    private func limitWaits(of writers: [OutputWriter]) {
        let files = writers.compactMap(\.file)
        if plan.hasSeveralOutputs {
            for file in files { file.stallTimeout = OutputWriter.stallTimeout }
        }
        stop.setFiles(files)
    }

    /// Waits for the end of the run, and reports events meanwhile.
    private func wait(
        for events: RunEvents, _ pipeline: Pipeline, _ reporter: Reporter, _ status: inout ExitStatus
    ) -> RunEvents.End {
        while true {
            let nextCheck = MonotonicClock().now.advanced(by: .seconds(1))
            let news = events.wait(until: min(reporter.nextTick, timeLimit(reporter.start), nextCheck))
            pipeline.postStalls(events)
            handle(news.failures, pipeline, reporter, &status)
            for warning in news.warnings { reporter.warn(warning) }
            for notice in news.notices { reporter.notify(notice) }
            if let end = news.end { return end }
            if !news.failures.isEmpty, !plan.keepsGoing || !pipeline.isActive { return .outputFailed }
            let now = MonotonicClock().now
            if now >= timeLimit(reporter.start) { return .limitReached }
            if now >= reporter.nextTick { reporter.tick(at: now) }
        }
    }

    /// When `--duration` ends a source that is slow or silent: slightly later than the frames' timestamps would.
    private func timeLimit(_ start: MediaTime) -> MediaTime {
        // A file that is read as fast as possible has timestamps that do not follow the clock.
        guard let duration = plan.duration, !(hasInput && plan.request.rate == .maximum) else {
            return MediaTime(nanoseconds: .max)
        }
        return start.advanced(by: duration + .milliseconds(250))
    }

    /// The end of the last frame, on the frames' time line; nil when it follows from the frames alone.
    private func endTime(_ capture: LimitedCapture) -> MediaTime? {
        let passed = capture.passed
        if let end = passed.end { return end }
        // With `--frames`, and for files, the timestamps alone determine the end.
        return passed.count == plan.frames || capture.fileProgress != nil ? nil : MonotonicClock().now
    }

    private func handle(
        _ failures: [RunEvents.Failure], _ pipeline: Pipeline, _ reporter: Reporter, _ status: inout ExitStatus
    ) {
        for failure in failures {
            let exitError = ExitError(writing: failure.error)
            // The exit code is that of the first failure.
            if status == .success { status = exitError.status }
            pipeline.removeConsumer(of: failure.output)
            reporter.fail(exitError.message, output: failure.output)
        }
    }

    private func stopPublisher(_ publisher: VideoPublisher) -> CaptureError? {
        do throws(CaptureError) {
            try publisher.stop()
            return nil
        } catch {
            return error
        }
    }
}

/// A request to stop a run, for the parts that may be blocked: a source that is being opened, and outputs with stalled
/// readers. The main thread learns of it from ``RunEvents``.
///
/// Safe to use from any thread.
final class StopRequest: Sendable {
    /// How long an output with a stalled reader is waited for after the request.
    static let outputTimeout = Duration.seconds(3)

    private struct State {
        var isMade = false
        /// The capture that is being opened or started.
        var opening: (any VideoCapture)?
        var files: [OutputFile] = []

        func limitWaits() {
            for file in files { file.stallTimeout = StopRequest.outputTimeout }
        }
    }

    private let state = Locked(State())

    /// Whether a stop has been requested.
    var isMade: Bool { state.withLock { $0.isMade } }

    /// Requests the stop, without waiting for it.
    func make() {
        let opening = state.withLock { state in
            state.isMade = true
            state.limitWaits()
            return state.opening
        }
        if let opening { StopRequest.cancel(opening) }
    }

    /// Sets the capture whose opening and start a request cancels; nil once it has started.
    func setOpening(_ capture: (any VideoCapture)?) {
        let isMade = state.withLock { state in
            state.opening = capture
            return state.isMade
        }
        if isMade, let capture { StopRequest.cancel(capture) }
    }

    /// Sets the outputs for whose readers a request limits the wait.
    func setFiles(_ files: [OutputFile]) {
        state.withLock { state in
            state.files = files
            if state.isMade { state.limitWaits() }
        }
    }

    /// On a separate thread, since releasing may take long, and the signal thread must not block.
    private static func cancel(_ capture: any VideoCapture) {
        // Without a thread the opening is not cancelled.
        _ = try? CaptureThread(name: "stop") { capture.releaseCapture() }
    }
}
