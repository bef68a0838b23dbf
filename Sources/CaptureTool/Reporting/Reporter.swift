import AudioCapturing
import MediaPublishing
import VideoCapturing

/// Reports a run on standard error. Used on the main thread.
final class Reporter {
    /// When the run began.
    private(set) var start = MediaTime.zero
    /// When the next status is due.
    private(set) var nextTick = MediaTime(nanoseconds: .max)

    private let plan: CapturePlan
    private let source: CatalogSource
    private let publisher: MediaPublisher
    private let terminal: Terminal
    private let interval: Duration
    private let meter = LevelMeter()

    init(plan: CapturePlan, source: CatalogSource, publisher: MediaPublisher, terminal: Terminal) {
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

    /// Measures the level of the sound, where there is any.
    func measureSound() throws(CaptureError) { try publisher.audio?.add(meter, name: "level") }

    func begin(at start: MediaTime) {
        self.start = start
        guard !plan.isQuiet else { return }
        if plan.statistics != .none {
            // The first status comes early, to show that the capture works.
            nextTick = start.advanced(by: min(interval, .seconds(1)))
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
        // Missed ticks are skipped.
        while nextTick <= now { nextTick = nextTick.advanced(by: interval) }
        let run = snapshot(at: now)
        switch plan.statistics {
        case .json: terminal.writeLine(StatisticsJSON.line("status", run))
        case .text where terminal.isInteractive:
            let line = StatusLine(run)
            terminal.rewriteStatus { columns, style in line.text(columns: columns, style: style) }
        case .text: terminal.writeLine(StatusLine(run).text(columns: .max))
        case .none: break
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
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.error(message, output: output))
        } else {
            terminal.writeError(message)
        }
    }

    /// Reports a problem that loses no data.
    func warn(_ message: String) {
        guard !plan.isQuiet else { return }
        let json = plan.statistics == .json
        terminal.writeLine(json ? StatisticsJSON.error(message, isWarning: true) : "warning: \(message)")
    }

    /// Reports information.
    func notify(_ notice: String) { Reporter.notify(notice, plan, terminal) }

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
        terminal.clearStatus()
        guard !plan.isQuiet else { return }
        let run = snapshot(at: now)
        // Cameras report damage themselves, with its cause.
        if run.progress != nil, let warning = Reporter.damageWarning(run.lost.corrupt) { warn(warning) }
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

    private func snapshot(at now: MediaTime) -> RunSnapshot {
        RunSnapshot(publisher, plan: plan, source: source, levels: meter.levels, elapsed: now - start)
    }
}
