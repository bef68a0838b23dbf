import ArgumentParser
import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The command-line tool: parses the arguments and runs a command.
public enum CapturerDemo {
    /// The version of the tool.
    public static let version = "0.1.0"

    /// Prepares the process: opens closed standard descriptors, and blocks signals. Call it before anything else.
    public static func prepareProcess() {
        StandardDescriptors.fillIn()
        // A pipe without a reader and a file that has reached its size limit are errors of the write that finds them.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        SignalWatcher.block()
    }

    /// Runs the command of a command line.
    ///
    /// - Parameter arguments: the command line without the program's name.
    /// - Returns: the exit code.
    public static func run(_ arguments: [String]) -> Int32 {
        let terminal = Terminal()
        do {
            return try execute(arguments, terminal).rawValue
        } catch {
            terminal.writeError(error.message)
            return error.status.rawValue
        }
    }

    private static func execute(_ arguments: [String], _ terminal: Terminal) throws(ExitError) -> ExitStatus {
        let command: any ParsableCommand
        do {
            command = try RootCommand.parseAsRoot(arguments)
        } catch {
            guard RootCommand.exitCode(for: error) == .success else {
                throw ExitError(.usage, message(for: error, arguments: arguments))
            }
            let isHelp = !arguments.contains("--version")
            try StandardOutput.write(isHelp ? help(arguments) : RootCommand.fullMessage(for: error))
            return .success
        }
        guard let command = command as? any ToolCommand else {
            // The parser's own command, which stands for `--help` and `help`.
            try StandardOutput.write(help(arguments))
            return .success
        }
        // A capture handles the signals itself, with a `SignalWatcher`.
        if !(command is CaptureCommand) { SignalWatcher.unblock() }
        return try command.execute(ToolContext(terminal: terminal))
    }

    /// The help of the tool, or of the command that is named.
    private static func help(_ arguments: [String]) -> String {
        switch arguments.first(where: { !$0.hasPrefix("-") && $0 != "help" }) {
        case "list": RootCommand.helpMessage(for: ListCommand.self)
        case "doctor": RootCommand.helpMessage(for: DoctorCommand.self)
        default: HelpText.text(demoCatalog)
        }
    }

    /// The error message for a command line that cannot be parsed, on one line.
    static func message(for error: any Error, arguments: [String]) -> String {
        let text = RootCommand.message(for: error).split(whereSeparator: \.isNewline).joined(separator: " ")
        if let word = arguments.first, !word.hasPrefix("-"),
            let command = nearestName(to: word, in: ["list", "doctor", "capture"])
        {
            return "\(printable(text, limit: 300)). Did you mean capturer-demo \(command)?"
        }
        let stop = text.hasSuffix(".") || text.hasSuffix("?") ? "" : "."
        return "\(printable(text, limit: 300))\(stop) See capturer-demo --help."
    }
}

/// A command of the tool.
protocol ToolCommand: ParsableCommand {
    /// Runs the command.
    ///
    /// - Throws: the sentence for the user, with the exit code.
    func execute(_ context: ToolContext) throws(ExitError) -> ExitStatus
}

/// What every command gets.
struct ToolContext {
    let terminal: Terminal
}

/// The root command; without a subcommand it captures.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capturer-demo", abstract: "Captures video and writes it to files.",
        version: CapturerDemo.version, subcommands: [CaptureCommand.self, ListCommand.self, DoctorCommand.self],
        defaultSubcommand: CaptureCommand.self)
}

/// `capturer-demo [options]`: captures.
struct CaptureCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture", abstract: "Captures until Ctrl-C or a limit; the default command.")

    @OptionGroup var options: CaptureOptions

    func execute(_ context: ToolContext) throws(ExitError) -> ExitStatus {
        let plan: CapturePlan
        let signals: SignalWatcher
        do throws(OptionError) {
            plan = try CapturePlan(options, catalog: demoCatalog)
        } catch {
            throw ExitError(.usage, error.description)
        }
        do throws(CaptureError) {
            signals = try SignalWatcher(context.terminal)
        } catch {
            throw ExitError(.unavailable, "\(error)")
        }
        return try CaptureRun(plan: plan, terminal: context.terminal, signals: signals).run()
    }
}
