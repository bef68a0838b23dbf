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

    /// The words of the command line without the program's name.
    ///
    /// A runtime that is linked statically finds none when the initializer of a library has moved the environment, as that of
    /// sdl2-compat does. Then the kernel has them.
    public static var arguments: [String] {
        Array((CommandLine.argc > 0 ? CommandLine.arguments : processStrings("cmdline")).dropFirst())
    }

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
    /// - Parameters:
    ///   - arguments: the command line without the program's name.
    ///   - change: changes the sources that the tool offers, for a program that links more than it.
    /// - Returns: the exit code.
    public static func run(
        _ arguments: [String], sources change: (CapturerCatalog) -> CapturerCatalog = { $0 }
    ) -> Int32 {
        let terminal = Terminal.shared
        var catalog = demoCatalog
        catalog.sources = change(catalog.sources)
        do {
            return try execute(arguments, ToolContext(terminal: terminal, catalog: catalog)).rawValue
        } catch {
            let message = explained(error, catalog)
            // A program that reads one object on each line can read why there was no run.
            if asksForJSON(arguments) {
                terminal.writeLine(StatisticsJSON.error(message))
            } else {
                terminal.writeError(message)
            }
            return error.status.rawValue
        }
    }

    /// The message of an error; with the catalog's remark where a small tool may lack the part.
    static func explained(_ error: ExitError, _ catalog: ToolCatalog) -> String {
        guard let remark = catalog.remark, [.usage, .noInput].contains(error.status) else { return error.message }
        return "\(error.message) \(remark)"
    }

    /// Whether the report should be JSON, as far as an invalid command line shows.
    private static func asksForJSON(_ words: [String]) -> Bool {
        zip(words, words.dropFirst()).contains { $0 == ("--stats", "json") } || words.contains("--stats=json")
    }

    private static func execute(_ words: [String], _ context: ToolContext) throws(ExitError) -> ExitStatus {
        // A recording without an end must be asked for.
        guard !words.isEmpty else {
            for line in HelpText.usage(context.catalog) { context.terminal.writeLine(line) }
            return .usage
        }
        let (command, arguments) = try ToolCommand.parse(words, context.catalog)
        if !command.handlesSignals { SignalWatcher.unblock() }
        guard !arguments.values.contains("version") else {
            try StandardOutput.write(version)
            return .success
        }
        return try command.run(arguments, context)
    }
}

/// Parses command lines without running them, for fuzzing only.
@_spi(Fuzzing)
public enum CommandLineProbe {
    /// The error of a command line; nil when it is valid. Makes the source, which opens nothing.
    ///
    /// - Parameter words: the command line without the program's name.
    public static func error(of words: [String]) -> String? {
        do {
            let (command, arguments) = try ToolCommand.parse(words, demoCatalog)
            guard command.name == ToolCommand.capture.name else { return nil }
            let plan = try CapturePlan(arguments, catalog: demoCatalog)
            _ = try plan.source.make(plan.request)
            return nil
        } catch {
            return ExitError(opening: error, isInputAtFault: false).message
        }
    }

    /// The error of a file of options, called `config`; nil when its lines are valid.
    public static func error(ofConfig text: String) -> String? {
        var defaults = OptionDefaults()
        do throws(ExitError) {
            try defaults.add(lines: text, of: "config", ToolCommand.capture.allOptions(demoCatalog))
            return nil
        } catch {
            return error.message
        }
    }
}
