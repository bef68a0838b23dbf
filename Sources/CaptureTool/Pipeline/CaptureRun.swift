import CameraCapturer
import FileCapturer
import MJPEGCapturer
import MJPEGServer
import MediaContainers
import VP8Codec
import VideoCapturing

/// One run of the tool, from the plan to the exit code.
///
/// Everything happens on the threads of the pipeline; the main thread waits, tells, and ends it.
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

    /// Does what was planned. Throws what keeps it from beginning.
    func run() throws(Refusal) -> ExitStatus {
        let events = RunEvents()
        signals.watch { [stop] in
            stop.make()
            events.post(.asked)
        }
        do throws(Refusal) {
            return try run(events)
        } catch {
            // What was being opened has failed because it was to stop.
            guard stop.isMade else { throw error }
            return endWithoutFrames()
        }
    }

    /// Ends a run that was to stop before it had begun.
    private func endWithoutFrames() -> ExitStatus {
        let message = "Ended before the first frame; nothing was captured."
        if !plan.isQuiet {
            terminal.writeLine(plan.statistics == .json ? StatisticsJSON.notice(message) : message)
        }
        return .success
    }

    private func run(_ events: RunEvents) throws(Refusal) -> ExitStatus {
        if plan.showsPreview, !terminal.isInteractive {
            throw Refusal(.usage, "--preview: standard error is no terminal to show the picture in; leave it out.")
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
            boundWaits(of: writers)
            do {
                let pipeline = try Pipeline(capture, writers: writers, plan: plan, rate: rate, events: events)
                let reporter = try begin(pipeline, events)
                return record(pipeline, events, reporter)
            } catch {
                OutputWriter.removeFiles(of: writers)
                throw error
            }
        } catch let error as MediaFileError {
            throw Refusal(opening: error)
        } catch let error as CodecError {
            throw Refusal(error)
        } catch let error as MJPEGServerError {
            throw Refusal(error)
        } catch let error as CaptureError {
            throw Refusal(error, hasInput: hasInput)
        } catch {
            throw error as? Refusal ?? Refusal(.unavailable, "\(error)")
        }
    }

    private var hasInput: Bool { plan.source.option(named: "input") != nil }

    private func openCapture(_ events: RunEvents) throws(Refusal) -> LimitedCapture {
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
                // Told by `--explain`, and by the line at the beginning.
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
            // Settings are the user's fault when the tool itself finds them wanting; what he names in place of a camera
            // is not there as one.
            let isNoCamera = camera.map { $0.device == nil } ?? false
            throw Refusal(error, hasInput: (hasInput || isNoCamera) && error.operation != Refusal.checkingOptions)
        }
    }

    /// A file has a format of its own; options that say otherwise are a mistake and not to be passed over.
    private func checkAgreement(_ format: VideoFormat) throws(CaptureError) {
        guard hasInput else { return }
        func differ(_ option: String, _ own: String) -> CaptureError {
            CaptureError(
                .invalidConfiguration, operation: Refusal.checkingOptions, subject: plan.request.input,
                message: "This file has \(own) of its own; leave \(option) out.")
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
                queue: .init(capacity: 1, policy: .newestWins))
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
        if plan.showsPreview { terminal.enterPictureScreen() }
        return reporter
    }

    private func record(_ pipeline: Pipeline, _ events: RunEvents, _ reporter: Reporter) -> ExitStatus {
        var status = ExitStatus.success
        let reason = wait(for: events, pipeline, reporter, &status)
        let end = endTime(pipeline.capture)
        // A script must not take what was cut short by a lost camera for complete.
        let wasInterrupted = if case .interrupted = pipeline.capture.state { true } else { false }
        let stopFailure = stopPublisher(pipeline.publisher)
        pipeline.finish(events, at: end)
        terminal.leavePictureScreen()
        note(events.takeFailures(), pipeline, reporter, &status)
        if case .captureStopped(let stop) = reason, let error = stop.error {
            let refusal = Refusal(whileRunning: error)
            reporter.failCapture(refusal.message)
            status = refusal.status
        } else if let stopFailure, !(stop.isMade && stopFailure.code == .invalidState) {
            // Without a capture to stop the stop has come while it was being started.
            reporter.warn("\(stopFailure)")
        }
        if wasInterrupted, status == .success {
            reporter.failCapture("The source was away when the capture ended; what came before is complete.")
            status = .inputOutput
        }
        if pipeline.capture.passed.count == 0 {
            OutputWriter.removeFiles(of: pipeline.writers.filter { $0.file?.bytesWritten == 0 })
        }
        reporter.end(at: MonotonicClock().now)
        return status
    }

    /// An output whose reader takes nothing must not keep others waiting, nor the end of the run.
    private func boundWaits(of writers: [OutputWriter]) {
        let files = writers.compactMap(\.file)
        if plan.hasSeveralOutputs {
            for file in files { file.stallTimeout = OutputWriter.stallTimeout }
        }
        stop.setFiles(files)
    }

    /// Waits for the end of the run, and tells meanwhile what is going on.
    private func wait(
        for events: RunEvents, _ pipeline: Pipeline, _ reporter: Reporter, _ status: inout ExitStatus
    ) -> RunEvents.End {
        while true {
            let nextCheck = MonotonicClock().now.advanced(by: .seconds(1))
            let news = events.wait(until: min(reporter.nextTick, timeLimit(reporter.start), nextCheck))
            pipeline.postStalls(events)
            note(news.failures, pipeline, reporter, &status)
            for warning in news.warnings { reporter.warn(warning) }
            for notice in news.notices { reporter.tell(notice) }
            if let end = news.end { return end }
            if !news.failures.isEmpty, !plan.keepsGoing || !pipeline.isActive { return .outputFailed }
            let now = MonotonicClock().now
            if now >= timeLimit(reporter.start) { return .limitReached }
            if now >= reporter.nextTick { reporter.tick(at: now) }
        }
    }

    /// When a source that is slow or silent has had its time; a little later than the frames' own times say.
    private func timeLimit(_ start: MediaTime) -> MediaTime {
        // The times of a file that is read as fast as possible are not those of the clock.
        guard let duration = plan.duration, !(hasInput && plan.request.rate == .maximum) else {
            return MediaTime(nanoseconds: .max)
        }
        return start.advanced(by: duration + .milliseconds(250))
    }

    /// The time up to which the last frame is shown, in the time of the frames; nil when only the frames tell.
    private func endTime(_ capture: LimitedCapture) -> MediaTime? {
        let passed = capture.passed
        if let end = passed.end { return end }
        // The last of the frames asked for has its own time, and a file the film's, however long it was waited for.
        return passed.count == plan.frames || capture.fileProgress != nil ? nil : MonotonicClock().now
    }

    private func note(
        _ failures: [RunEvents.Failure], _ pipeline: Pipeline, _ reporter: Reporter, _ status: inout ExitStatus
    ) {
        for failure in failures {
            let refusal = Refusal(writing: failure.error)
            // The first failure is the one that the exit code tells of.
            if status == .success { status = refusal.status }
            pipeline.removeConsumer(of: failure.output)
            reporter.fail(refusal.message, output: failure.output)
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
