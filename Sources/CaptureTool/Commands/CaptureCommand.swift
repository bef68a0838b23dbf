import ArgumentParser
import VideoCapturing

/// `capturer-demo [options]`: captures.
struct CaptureCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture", abstract: "Captures until Ctrl-C, or as long as is asked for; the default.")

    @OptionGroup var options: CaptureOptions

    func execute(_ context: ToolContext) throws(Refusal) -> ExitStatus {
        let plan: CapturePlan
        let signals: SignalWatcher
        do throws(OptionError) {
            plan = try CapturePlan(options, catalog: demoCatalog)
        } catch {
            throw Refusal(.usage, error.description)
        }
        do throws(CaptureError) {
            signals = try SignalWatcher(context.terminal)
        } catch {
            throw Refusal(.unavailable, "\(error)")
        }
        return try CaptureRun(plan: plan, terminal: context.terminal, signals: signals).run()
    }
}
