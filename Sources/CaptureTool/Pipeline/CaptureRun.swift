import AudioCapturing
import MediaPublishing
import VideoCapturing

/// One run of the tool, from the plan to the exit code.
///
/// Frames flow on the threads of the publisher; the main thread waits, reports and stops it.
struct CaptureRun {
    private(set) var plan: CapturePlan
    let terminal: Terminal
    let signals: SignalWatcher
    /// The program of `--on-event`.
    private var program: EventProgram?

    init(plan: CapturePlan, terminal: Terminal, signals: SignalWatcher) {
        self.plan = plan
        self.terminal = terminal
        self.signals = signals
    }

    /// Runs the plan to its end.
    ///
    /// - Throws: the error that prevented the start.
    mutating func run() throws(ExitError) -> ExitStatus {
        let events = RunEvents()
        var source: CatalogSource
        let audio: AudioCatalogSource?
        var packets: PacketInput.Source?
        let publisher: MediaPublisher
        let places: [OutputCheck.Place]
        var reasonToDecode: String?
        do {
            let outputs = try plan.outputs.map { ($0, try $0.makeOutput()) }
            places =
                outputs.flatMap { (planned, output) in
                    output.paths.map { OutputCheck.Place(path: $0, isText: planned.isText) }
                }
                + (plan.statisticsFile.map { [OutputCheck.Place(path: $0, isText: true, option: "stats-file")] } ?? [])
            plan.request.options = try plan.request.options.readingLogin()
            source = try plan.source.make(plan.request)
            if let proposed = plan.proposedPackets {
                reasonToDecode = try proposed.reasonToDecode(source.inputPath, plan, outputs.map(\.1))
                if reasonToDecode == nil { plan.passOn(by: proposed) }
            }
            try plan.adoptSound(of: source)
            audio = try plan.audio.map { try $0.source.make($0.request) }
            let settings = plan.publisherSettings(for: source)
            if let packetPlan = plan.packets {
                var request = plan.request
                request.input = source.inputPath ?? request.input
                let made = try packetPlan.input.make(request, packetPlan.isPaced)
                packets = made
                if let explanation = made.explanation { source.explanation = explanation }
                if let isInputAtFault = made.isInputAtFault { source.isInputAtFault = isInputAtFault }
                publisher = MediaPublisher(
                    packets: made.capture, decoders: packetPlan.input.decoders, settings: settings)
            } else if let audio, plan.isSoundAlone {
                publisher = MediaPublisher(audio: audio.capture, settings: settings)
            } else {
                publisher = MediaPublisher(video: source.capture, audio: audio?.capture, settings: settings)
            }
            for (planned, output) in outputs {
                var frames = planned.frames
                if source.isRecording { frames.frameRate = try frames.frameRate ?? plan.requestedRate }
                try publisher.add(output, encoding: planned.encoding, frames: frames)
                if let index = try plan.recordingIndex(of: planned, output), publisher.recording.index == nil {
                    publisher.recording.setIndex(index)
                }
            }
            if let stills = try plan.keyStills?() { try publisher.add(stills) }
        } catch {
            throw ExitError(opening: error, isInputAtFault: false)
        }
        defer { publisher.close() }
        publisher.setEventHandler { events.post($0) }
        let isOpening = Locked(true)
        let limiter = Locked(NoticeLimiter())
        let handleNotice: @Sendable (String) -> Void = { [plan, terminal] notice in
            for notice in limiter.withLock({ $0.admit(notice, at: MonotonicClock().now) }) {
                // The main thread waits then, maybe for a sender that is to connect.
                if isOpening.withLock({ $0 }) {
                    Reporter.notify(notice, plan, terminal)
                } else {
                    events.post(notice: notice)
                }
            }
        }
        source.setNoticeHandler(handleNotice)
        packets?.setNoticeHandler(handleNotice)
        audio?.setNoticeHandler(handleNotice)
        signals.watch { publisher.requestStop() }
        if plan.reopensFiles {
            signals.watchHangup {
                publisher.reopenFiles()
                events.postReopening()
            }
        }
        let hasKeys = terminal.isInteractive && source.inputPath != "-"
        if hasKeys { terminal.keyboard.begin { if $0 == UInt8(ascii: "q") { publisher.requestStop() } } }
        defer { terminal.keyboard.end() }
        if let recorder = plan.recorder {
            let program = try recorder.program.map { path throws(ExitError) in
                try EventProgram(path) { events.post(notice: $0) }
            }
            self.program = program
            let stills = try makeStills(publisher, events)
            publisher.recording.setEventHandler { event in
                var event = event
                event.still = stills?.path(for: event)
                events.post(event)
                program?.report(event)
            }
            try RecorderTriggers(
                plan: recorder, publisher: publisher, signals: signals, terminal: terminal, hasKeys: hasKeys
            ).begin()
        }
        let reporter = Reporter(plan: plan, source: source, publisher: publisher, terminal: terminal)
        do {
            try begin(publisher, source, places, events, reporter, reasonToDecode)
            isOpening.withLock { $0 = false }
        } catch {
            // Opening failed because a stop was requested.
            if publisher.isStopRequested { return endWithoutFrames() }
            throw ExitError(opening: error, isInputAtFault: source.isInputAtFault() || isOfSound(error))
        }
        if publisher.isStopRequested, publisher.statistics.framesPublished == 0 {
            publisher.close()
            return endWithoutFrames()
        }
        return record(publisher, events, reporter)
    }

    /// What takes the stills of events, if they were asked for.
    private func makeStills(_ publisher: MediaPublisher, _ events: RunEvents) throws(ExitError) -> EventStills? {
        do {
            return try plan.eventStills.map { begin in
                EventStills(try begin(publisher.video)) { events.post(notice: $0) }
            }
        } catch {
            throw ExitError(opening: error, isInputAtFault: false)
        }
    }

    /// Whether an error is one of the address from which the sound comes.
    private func isOfSound(_ error: any Error) -> Bool {
        guard let subject = (error as? CaptureError)?.subject, let scheme = urlScheme(of: subject) else { return false }
        return plan.audio?.source.schemes.contains(scheme) ?? false
    }

    private func begin(
        _ publisher: MediaPublisher, _ source: CatalogSource, _ places: [OutputCheck.Place], _ events: RunEvents,
        _ reporter: Reporter, _ reasonToDecode: String?
    ) throws {
        if let hint = plan.contentHint { source.capture.videoContentHint = hint }
        try publisher.initCapture()
        try source.checkOptions()
        // After the input, whose errors matter more than that a file exists.
        try OutputCheck.run(places, input: source.inputPath, overwrites: plan.overwrites)
        try reporter.openFile()
        if plan.explains {
            for line in source.explanation() { terminal.writeLine(line) }
        }
        try waitForStart(publisher, events, reporter)
        try publisher.open()
        if plan.explains {
            if let reasonToDecode { terminal.writeLine("Nothing is passed on as it comes: \(reasonToDecode)") }
            for line in publisher.routes { terminal.writeLine(line) }
        }
        try reporter.measureSound()
        let start = MonotonicClock().now
        try publisher.start()
        reporter.begin(at: start)
    }

    /// Waits as long as `--start-delay` says, or until a stop is requested.
    private func waitForStart(_ publisher: MediaPublisher, _ events: RunEvents, _ reporter: Reporter) throws {
        guard let delay = plan.startDelay, delay > .zero else { return }
        reporter.notify("The capture starts in \(fixed(delay.seconds, 1)) s.")
        let start = MonotonicClock().now.advanced(by: delay)
        while MonotonicClock().now < start, !publisher.isStopRequested {
            let news = events.wait(until: start)
            for warning in news.warnings { reporter.warn(warning) }
            if news.end != nil { break }
        }
        guard !publisher.isStopRequested else {
            throw CaptureError(.invalidState, operation: "start", message: "A stop was requested.")
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

    private func record(_ publisher: MediaPublisher, _ events: RunEvents, _ reporter: Reporter) -> ExitStatus {
        var status = ExitStatus.success
        let end = wait(for: events, publisher, reporter, &status)
        // A script must not mistake a recording that the loss of a camera, or of a microphone alone, has cut short for a
        // complete one.
        var wasInterrupted = false
        let state = plan.isSoundAlone ? publisher.audio?.capture.state : publisher.video.capture.state
        if publisher.isActive, case .interrupted = state { wasInterrupted = true }
        let stopFailure = stop(publisher)
        program?.finish()
        let rest = events.wait(until: MonotonicClock().now)
        handle(rest.failures, reporter, &status)
        for warning in rest.warnings { reporter.warn(warning) }
        for notice in rest.notices { reporter.notify(notice) }
        for event in rest.recordings { reporter.report(event) }
        if case .captureStopped(let stop) = end, let error = stop.error {
            let exitError = ExitError(whileRunning: error)
            reporter.failCapture(exitError.message)
            status = exitError.status
        } else if let stopFailure, !(publisher.isStopRequested && stopFailure.code == .invalidState) {
            // There is no capture to stop when the stop came during the start.
            reporter.warn("\(stopFailure)")
        }
        if wasInterrupted, status == .success {
            reporter.failCapture(
                "The source was unavailable when the capture ended; the outputs are complete up to the interruption.")
            status = .inputOutput
        }
        reporter.end(at: MonotonicClock().now)
        return status
    }

    private func stop(_ publisher: MediaPublisher) -> CaptureError? {
        do throws(CaptureError) {
            try publisher.stop()
            return nil
        } catch {
            return error
        }
    }

    /// Waits for the end of the run, and reports events meanwhile.
    private func wait(
        for events: RunEvents, _ publisher: MediaPublisher, _ reporter: Reporter, _ status: inout ExitStatus
    ) -> MediaPublisher.Event.End? {
        var limit = timeLimit(publisher, reporter.start)
        var sound = SoundProgress()
        while true {
            let news = events.wait(until: min(reporter.nextTick, limit))
            handle(news.failures, reporter, &status)
            for warning in news.warnings { reporter.warn(warning) }
            for notice in news.notices { reporter.notify(notice) }
            for event in news.recordings { reporter.report(event) }
            if news.isReopening { reporter.reopenFile() }
            if let end = news.end { return end }
            if !news.failures.isEmpty, !plan.keepsGoing { return nil }
            if !news.failures.isEmpty || news.hasCompletion, !publisher.isActive { return nil }
            let now = MonotonicClock().now
            if now >= limit {
                guard plan.isSoundAlone, let audio = publisher.audio?.capture, sound.goesOn(audio, now) else {
                    return .limitReached
                }
                limit = now.advanced(by: .milliseconds(100))
            }
            if now >= reporter.nextTick { reporter.tick(at: now) }
        }
    }

    /// When `--duration` ends a source that is slow or silent, but for sound alone that is late: slightly later than the frames' timestamps would.
    private func timeLimit(_ publisher: MediaPublisher, _ start: MediaTime) -> MediaTime {
        // A recording that is read as fast as possible has timestamps that do not follow the clock.
        guard let duration = plan.duration, publisher.settings.pacing != .playback(isPaced: false) else {
            return MediaTime(nanoseconds: .max)
        }
        return start.advanced(by: duration + .milliseconds(250))
    }

    /// Whether sound that is late still comes, such as from a sound server that begins slowly: its own times end it then.
    private struct SoundProgress {
        private var last: (frames: UInt64, time: MediaTime)?
        /// How long nothing may come, unless the device is gone.
        private static let timeout = Duration.seconds(5)

        mutating func goesOn(_ capture: any AudioCapture, _ now: MediaTime) -> Bool {
            switch capture.state {
            case .running, .interrupted(.stalled): break
            default: return false
            }
            let frames = capture.statistics.framesDelivered
            if last?.frames != frames { last = (frames, now) }
            return last.map { now - $0.time < SoundProgress.timeout } ?? false
        }
    }

    private func handle(_ failures: [RunEvents.Failure], _ reporter: Reporter, _ status: inout ExitStatus) {
        for failure in failures {
            let exitError = ExitError(writing: failure.error)
            // The exit code is that of the first failure.
            if status == .success { status = exitError.status }
            reporter.fail(exitError.message, outputs: failure.outputs)
        }
    }
}

extension CapturePlan {
    /// The rate that was requested; nil for the source's own, and for as fast as possible.
    var requestedRate: FrameRate? {
        get throws(OptionError) {
            guard case .frames(let rate) = try request.rate() else { return nil }
            return rate
        }
    }

    /// How to publish the capture.
    func publisherSettings(for source: CatalogSource) -> MediaPublisher.Settings {
        var settings = MediaPublisher.Settings(encoders: encoders, audioEncoders: audio?.encoders ?? [])
        settings.audioEncoding = audio?.encoding ?? AudioEncodingSettings()
        settings.encoding = encoding
        settings.orientation = orientation
        settings.maximumFrames = frames
        settings.retriesPeers = keepsGoing
        settings.mayEncode = packets?.isAutomatic == true
        settings.isLive = packets?.input.isLive == true
        settings.maximumDuration = duration
        if source.isRecording {
            settings.pacing = .playback(isPaced: !request.asksForMaximumRate)
        } else if source.isMadeOnDemand {
            settings.pacing = .onDemand
        }
        return settings
    }
}
