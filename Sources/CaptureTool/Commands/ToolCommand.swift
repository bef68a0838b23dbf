import ArgumentParser

/// A command of the tool.
protocol ToolCommand: ParsableCommand {
    /// Does it. Throws what keeps it from being done.
    func execute(_ context: ToolContext) throws(Refusal) -> ExitStatus
}

/// What commands work with.
struct ToolContext {
    let terminal: Terminal
}

/// The tool with its commands; without one it captures.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capturer-demo", abstract: "Captures video and writes it to files.",
        version: CapturerDemo.version, subcommands: [CaptureCommand.self, ListCommand.self, DoctorCommand.self],
        defaultSubcommand: CaptureCommand.self)
}
