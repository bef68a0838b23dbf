import VideoCapturing

/// Tells on standard error what a run does. Used on the main thread.
final class Reporter {
    /// When the run began.
    private(set) var start = MediaTime.zero
    /// When there is to be told again.
    private(set) var nextTick = MediaTime(nanoseconds: .max)

    private let plan: CapturePlan
    private let pipeline: Pipeline
    private let terminal: Terminal
    private let interval: Duration
    private var failedOutputs: Set<Int> = []

    init(plan: CapturePlan, pipeline: Pipeline, terminal: Terminal) {
        self.plan = plan
        self.pipeline = pipeline
        self.terminal = terminal
        switch plan.statistics {
        case .json: interval = .seconds(1)
        case .text: interval = terminal.isInteractive ? .milliseconds(250) : .seconds(5)
        case .none: interval = .seconds(86_400)
        }
    }

    private var saysNothing: Bool { plan.isQuiet }

    func begin(at start: MediaTime) {
        self.start = start
        guard !saysNothing else { return }
        if plan.statistics != .none {
            // The first figures soon, so that one sees that it works.
            nextTick = start.advanced(by: min(interval, .seconds(1)))
        }
        let run = snapshot(at: start)
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.line("start", run))
        } else if plan.statistics == .text, !plan.showsPreview {
            terminal.writeLine(Summary.beginning(run))
        }
        if plan.statistics != .json, !plan.showsPreview, let line = Summary.servingLine(run) {
            terminal.writeLine(line)
        }
    }

    func tick(at now: MediaTime) {
        // Ticks that were missed are not made up for.
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

    /// The capture has failed. Said even when nothing else is.
    func failCapture(_ message: String) {
        tellFailure(message, output: nil)
    }

    /// An output has failed; without a number the encoder. Said even when nothing else is.
    func fail(_ message: String, output: Int?) {
        // Without a number it is the encoder, and with it all that it feeds.
        let failed = output.map { [$0] } ?? pipeline.writers.indices.filter { pipeline.writers[$0].name.isEncoded }
        failedOutputs.formUnion(failed)
        tellFailure(message, output: output.map { pipeline.writers[$0].name.displayName })
    }

    private func tellFailure(_ message: String, output: String?) {
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.error(message, output: output))
        } else {
            terminal.writeError(message)
        }
    }

    /// Something is not as it should be, but nothing is lost.
    func warn(_ message: String) {
        guard !saysNothing else { return }
        let json = plan.statistics == .json
        terminal.writeLine(json ? StatisticsJSON.error(message, isWarning: true) : "warning: \(message)")
    }

    /// Something has happened that the user may want to know.
    func tell(_ notice: String) {
        guard !saysNothing, plan.statistics != .none else { return }
        terminal.writeLine(plan.statistics == .json ? StatisticsJSON.notice(notice) : printable(notice, limit: 500))
    }

    func end(at now: MediaTime) {
        terminal.clearStatus()
        guard !saysNothing else { return }
        let run = snapshot(at: now)
        if let warning = Reporter.damageWarning(run.lost.corrupt) { warn(warning) }
        if plan.statistics == .json {
            terminal.writeLine(StatisticsJSON.line("summary", run))
        } else {
            if plan.statistics == .text { terminal.writeLine(Summary.captureLine(run)) }
            for line in Summary.outputLines(run) { terminal.writeLine(printable(line, limit: 10_000)) }
        }
    }

    /// What the user must know of frames that the source could not give because their data were damaged; nil for none.
    static func damageWarning(_ count: UInt64) -> String? {
        guard count > 0 else { return nil }
        return (count == 1 ? "1 frame was" : "\(count) frames were") + " damaged at the source and left out."
    }

    private func snapshot(at now: MediaTime) -> RunSnapshot {
        RunSnapshot(pipeline, plan: plan, elapsed: now - start, failedOutputs: failedOutputs)
    }
}
