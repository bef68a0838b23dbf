import AudioCapturing
import MediaPublishing
import VideoCapturing

/// Reports a run on standard error. Used on the main thread.
final class Reporter {
    /// When the run began.
    private(set) var start = MediaTime.zero
    /// When ``tick(at:)`` is due.
    var nextTick: MediaTime { min(nextReport, nextLine, nextNotification) }

    private let plan: CapturePlan
    private let source: CatalogSource
    private let publisher: MediaPublisher
    private let terminal: Terminal
    private let interval: Duration
    private let meter = LevelMeter()
    private var file: StatisticsFile?
    /// When the terminal gets its next status.
    private var nextReport = MediaTime(nanoseconds: .max)
    /// When the file gets its next line.
    private var nextLine = MediaTime(nanoseconds: .max)
    private var bitrates = BitrateWatch()
    private let service = ServiceNotifier()
    /// When the service manager gets its next line.
    private var nextNotification = MediaTime(nanoseconds: .max)
    private var framesNotified: UInt64 = 0

    init(
        plan: CapturePlan, source: CatalogSource, publisher: MediaPublisher, terminal: Terminal
    ) {
        self.plan = plan
        self.source = source
        self.publisher = publisher
        self.terminal = terminal
        switch plan.statistics {
        case .json: interval = .seconds(1)
        case .text: interval = terminal.isInteractive ? .milliseconds(250) : .seconds(5)
        case .none: interval = .seconds(86_400)
        }
    }

    /// Makes the file of statistics, if one was requested; the outputs have been checked.
    func openFile() throws(ExitError) {
        file = try plan.statisticsFile.map { path throws(ExitError) in
            try StatisticsFile(path: path, overwrites: plan.overwrites)
        }
    }

    /// Opens the file of statistics by its name again: another program has moved it away.
    func reopenFile() {
        guard let path = plan.statisticsFile, let old = file else { return }
        do throws(ExitError) {
            file = try StatisticsFile(appendingTo: path)
        } catch {
            file = old
            warn("\(error.message) The old one is written on.")
        }
    }

    /// Measures the level of the sound, where there is any, and something that shows it.
    func measureSound() throws(CaptureError) {
        guard !plan.isQuiet || file != nil || service != nil else { return }
        try publisher.audio?.add(meter, name: "level")
    }

    func begin(at start: MediaTime) {
        self.start = start
        if file != nil {
            nextLine = start.advanced(by: .seconds(1))
            log("start", at: start)
        }
        if let service {
            nextNotification = start
            service.send("READY=1")
        }
        guard !plan.isQuiet else { return }
        if plan.statistics != .none {
            // The first status comes early, to show that the capture works.
            nextReport = start.advanced(by: min(interval, .seconds(1)))
        }
        let run = snapshot(at: start)
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.line("start", run))
        } else if !terminal.showsPreview {
            if plan.statistics == .text { terminal.writeLine(Summary.beginning(run)) }
            for line in Summary.announcements(run) { terminal.writeLine(line) }
        }
    }

    func tick(at now: MediaTime) {
        let run = snapshot(at: now)
        // Missed ticks are skipped.
        if now >= nextLine {
            while nextLine <= now { nextLine = nextLine.advanced(by: .seconds(1)) }
            log(StatisticsJSON.line("status", run))
        }
        if let service, now >= nextNotification {
            nextNotification = now.advanced(by: min(service.watchdogInterval ?? .seconds(5), .seconds(5)))
            notify(service, run)
        }
        guard now >= nextReport else { return }
        while nextReport <= now { nextReport = nextReport.advanced(by: interval) }
        if let warning = bitrates.warning(run) { warn(warning) }
        switch plan.statistics {
        case .json: terminal.writeLine(StatisticsJSON.line("status", run))
        case .text where terminal.isInteractive:
            let line = StatusLine(run)
            terminal.rewriteStatus { columns, style in line.text(columns: columns, style: style) }
        case .text: terminal.writeLine(StatusLine(run).text(columns: .max))
        case .none: break
        }
    }

    private func notify(_ service: ServiceNotifier, _ run: RunSnapshot) {
        let status = "STATUS=" + StatusLine(run).text(columns: .max)
        // A screen at rest and a camera that is unplugged give no frames, and hang in nothing.
        let isSlow = run.askedRate.map { $0.frameInterval > service.watchdogInterval ?? .zero } ?? false
        let isAlive = run.captured != framesNotified || run.isInterrupted || isSlow || source.isDrivenByChanges
        framesNotified = run.captured
        if isAlive, service.watchdogInterval != nil {
            service.send("WATCHDOG=1", status)
        } else {
            service.send(status)
        }
    }

    /// Reports that the capture has failed, even with `--quiet`.
    func failCapture(_ message: String) {
        reportFailure(message, output: nil)
    }

    /// Reports that outputs have failed, several when it is their encoder, even with `--quiet`.
    func fail(_ message: String, outputs: [MediaPublisher.OutputID]) {
        let name = outputs.count == 1 ? publisher.statistics.outputs.first { $0.id == outputs[0] }?.name : nil
        reportFailure(message, output: name)
    }

    private func reportFailure(_ message: String, output: String?) {
        log(StatisticsJSON.error(message, output: output))
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.error(message, output: output))
        } else {
            terminal.writeError(message)
        }
    }

    /// Reports a problem that loses no data.
    func warn(_ message: String) {
        log(StatisticsJSON.error(message, isWarning: true))
        guard !plan.isQuiet else { return }
        let json = plan.statistics == .json
        terminal.writeLine(json ? StatisticsJSON.error(message, isWarning: true) : "warning: \(message)")
    }

    /// Reports information.
    func notify(_ notice: String) {
        log(StatisticsJSON.notice(notice))
        Reporter.notify(notice, plan, terminal)
    }

    /// Reports the begin or the end of a clip. One that failed has a warning already.
    func report(_ event: RecordingEvent) {
        let line = StatisticsJSON.recording(event)
        log(line)
        guard !plan.isQuiet, plan.statistics != .none else { return }
        if plan.statistics == .json { return terminal.writeLine(line) }
        let reasons = event.reasons.map(\.rawValue).joined(separator: ", ")
        switch event.phase {
        case .begin: terminal.writeLine("\(event.path): recording (\(reasons)).")
        case .end where event.error == nil:
            terminal.writeLine(
                "\(event.path): \(fixed(event.duration.seconds, 1)) s, \(scaled(Double(event.bytes), "B")) (\(reasons))."
            )
        case .end: break
        }
    }

    /// Reports information. Safe to use from any thread.
    static func notify(_ notice: String, _ plan: CapturePlan, _ terminal: Terminal) {
        guard !plan.isQuiet, plan.statistics != .none else { return }
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.notice(notice))
        } else {
            // Parts of it may come from the network.
            terminal.writeLine(notice, limit: 500)
        }
    }

    func end(at now: MediaTime) {
        service?.send("STOPPING=1")
        terminal.clearStatus()
        log("summary", at: now)
        guard !plan.isQuiet else { return }
        let run = snapshot(at: now)
        // Cameras report damage themselves, with its cause.
        if run.progress != nil, let warning = Reporter.damageWarning(run.lost.corrupt) { warn(warning) }
        if let warning = bitrates.finalWarning(run) { warn(warning) }
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.line("summary", run))
        } else {
            if plan.statistics == .text { terminal.writeLine(Summary.captureLine(run)) }
            for line in Summary.outputLines(run) { terminal.writeLine(line) }
        }
    }

    /// The warning about frames that the source dropped because their data were damaged; nil for none.
    static func damageWarning(_ count: UInt64) -> String? {
        guard count > 0 else { return nil }
        return (count == 1 ? "1 frame was" : "\(count) frames were") + " damaged at the source and left out."
    }

    private func log(_ event: String, at now: MediaTime) {
        if file != nil { log(StatisticsJSON.line(event, snapshot(at: now))) }
    }

    private func log(_ line: String) {
        guard let file, let failure = file.write(line), !plan.isQuiet else { return }
        terminal.writeLine(
            plan.statistics == .json ? StatisticsJSON.error(failure, isWarning: true) : "warning: \(failure)")
    }

    private func snapshot(at now: MediaTime) -> RunSnapshot {
        var run = RunSnapshot(publisher, plan: plan, source: source, levels: meter.levels, elapsed: now - start)
        run.hasKeys = terminal.keyboard.isReading
        return run
    }
}

/// Warns once of each encoder that exceeds its target for five seconds: its quality is at its worst by then.
struct BitrateWatch {
    private var since: [Int: Duration] = [:]
    private var warned: Set<Int> = []

    /// The warning that is due; nil for none.
    mutating func warning(_ run: RunSnapshot) -> String? {
        for (index, encoder) in run.encoders.enumerated() where !warned.contains(index) {
            guard encoder.constantQuantizer == nil, let bitrate = encoder.encoding.bitrate,
                bitrate > 1.5 * Double(encoder.targetBitrate)
            else {
                since[index] = nil
                continue
            }
            let start = since[index] ?? run.elapsed
            since[index] = start
            guard run.elapsed - start >= .seconds(5) else { continue }
            warned.insert(index)
            return BitrateWatch.text(encoder, bitrate)
        }
        return nil
    }

    /// The warning of a run that was too short, or too fast, for the other one; nil for none.
    func finalWarning(_ run: RunSnapshot) -> String? {
        // The first key frame alone may exceed the target of a short one.
        guard run.capturedTime >= .seconds(2) else { return nil }
        for (index, encoder) in run.encoders.enumerated() where !warned.contains(index) {
            let bitrate = Double(encoder.encoding.bytes) * 8 / run.capturedTime.seconds
            guard encoder.constantQuantizer == nil, bitrate > 1.5 * Double(encoder.targetBitrate) else { continue }
            return BitrateWatch.text(encoder, bitrate)
        }
        return nil
    }

    private static func text(_ encoder: MediaPublisher.Statistics.Encoder, _ bitrate: Double) -> String {
        "\(encoder.name) makes \(scaled(bitrate, "b/s")) of a target of "
            + "\(scaled(Double(encoder.targetBitrate), "b/s")) at its worst quality; raise --bitrate, or lower --size "
            + "or --fps."
    }
}
