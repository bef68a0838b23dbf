import ArgumentParser
import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The tool.
public enum CapturerDemo {
    /// The version of the tool.
    public static let version = "0.1.0"

    /// Prepares the process: standard descriptors that are closed, and signals. To be called first of all.
    public static func prepareProcess() {
        StandardDescriptors.fillIn()
        // A pipe without a reader and a file that has reached its size limit are errors of the write that finds them.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        SignalWatcher.block()
    }

    /// Does what the command line asks for.
    ///
    /// - Parameter arguments: without the program's name.
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

    private static func execute(_ arguments: [String], _ terminal: Terminal) throws(Refusal) -> ExitStatus {
        let command: any ParsableCommand
        do {
            command = try RootCommand.parseAsRoot(arguments)
        } catch {
            guard RootCommand.exitCode(for: error) == .success else {
                throw Refusal(.usage, message(for: error, arguments: arguments))
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
        // What captures takes them by a watcher, in good order.
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

    /// What is wrong with the command line, on one line.
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
