import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A command of the tool: its name, options and action in one place, for parsing, help, completion and the manual.
struct ToolCommand: Sendable {
    var name: String
    /// What it does, in a few words.
    var summary: String
    /// What stands for the words behind it; nil for a command without any.
    var operand: Operand?
    /// Further sentences for its help.
    var discussion: @Sendable (ToolCatalog) -> String = { _ in "" }
    /// Its own options, and those of the catalog that it reads.
    var options: @Sendable (ToolCatalog) -> [OptionGroup]
    /// Whether it handles signals itself.
    var handlesSignals = false
    /// Runs it, and throws the sentence for the user with the exit code.
    var run: @Sendable (ParsedArguments, ToolContext) throws(ExitError) -> ExitStatus

    /// The words behind a command.
    struct Operand: Sendable {
        /// `NAME`, `bash|zsh|fish`.
        var placeholder: String
        /// The words that are valid; none for file names and what only the user knows.
        var words: @Sendable (ToolCatalog) -> [String]
    }
}

/// What every command gets.
struct ToolContext {
    let terminal: Terminal
    let catalog: ToolCatalog
    /// What handles the signals already; nil while they wait for the command.
    var signals: SignalWatcher?

    /// What handles the signals, from now on at the latest.
    func watchingSignals() throws(ExitError) -> SignalWatcher {
        if let signals { return signals }
        do throws(CaptureError) {
            return try SignalWatcher(terminal)
        } catch {
            throw ExitError(.unavailable, "\(error)")
        }
    }
}

extension ToolCommand {
    /// All commands; the first one is meant where none is named.
    static let all: [ToolCommand] = [capture, play, list, doctor, help, completion, manual]

    /// The command of that name; nil without one.
    static func named(_ name: String) -> ToolCommand? { all.first { $0.name == name } }

    /// Each option once, with those that every command has.
    func allOptions(_ catalog: ToolCatalog) -> [OptionDescription] {
        options(catalog).merged.map(\.option) + ToolOptions.common
    }

    /// Finds the command of a command line, and parses the rest.
    ///
    /// - Returns: the command and its words; for `--help` the command `help` with the name of the command.
    static func parse(
        _ arguments: [String], _ catalog: ToolCatalog
    ) throws(ExitError) -> (command: ToolCommand, arguments: ParsedArguments) {
        var words = arguments[...]
        var command = capture
        var isNamed = false
        if let first = words.first, !first.hasPrefix("-"), !first.isEmpty {
            if let named = named(first) {
                command = named
                isNamed = true
                words.removeFirst()
            } else if !isInput(first) {
                throw unknown(first)
            }
        }
        // Also in a command line with errors.
        if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            var help = ParsedArguments()
            if isNamed { help.operands = [command.name] }
            return (.help, help)
        }
        let others = all.filter { $0.name != command.name }.map { other in
            (command: other.name, options: other.options(catalog).merged.map(\.option))
        }
        let parsed = try ParsedArguments(Array(words), options: command.allOptions(catalog), others: others)
        if let word = parsed.operands.first, command.operand == nil { throw unexpected(word) }
        if parsed.operands.count > 1, command.operand != nil {
            throw unexpected(parsed.operands[1], behind: parsed.operands[0])
        }
        return (command, parsed)
    }

    /// Whether a word is a file or a URL, rather than a misspelled command.
    private static func isInput(_ word: String) -> Bool {
        word.contains(".") || word.contains("/") || word.contains(":") || access(word, F_OK) == 0
    }

    private static func unknown(_ word: String) -> ExitError {
        let guess = nearestName(to: word, in: all.map(\.name)).map { "Did you mean capturer-demo \($0)?" }
        return ExitError(
            .usage, "\(printable(word, limit: 60)): no such command. \(guess ?? "See capturer-demo --help.")")
    }

    /// - Parameter first: the operand before it, which is the input.
    private static func unexpected(_ word: String, behind first: String? = nil) -> ExitError {
        let word = printable(word, limit: 60)
        guard let first else { return ExitError(.usage, "\(word): the command takes no argument; leave it out.") }
        if let advice = [first, word].lazy.compactMap(NamesElsewhere.operand).first {
            return ExitError(.usage, "\(word): unexpected argument; \(advice), and a file to write is -o FILE.")
        }
        return ExitError(.usage, "\(word): unexpected argument; a file to write is -o \(word).")
    }

    /// `capturer-demo [options]`: captures.
    static let capture = ToolCommand(
        name: "capture", summary: "captures until Ctrl-C or a limit; meant where no command is named",
        operand: Operand(placeholder: "INPUT") { _ in [] },
        discussion: { _ in captureDiscussion },
        options: captureOptions, handlesSignals: true,
        run: { (arguments, context) throws(ExitError) in
            let plan: CapturePlan
            var given: ParsedArguments
            do throws(OptionError) {
                given = try withInput(arguments)
            } catch {
                throw ExitError(error)
            }
            let options = captureOptions(context.catalog).merged.map(\.option)
            let defaults = try OptionDefaults(
                besides: given.values, options, variables: OptionDefaults.variables(of: options))
            given.values = defaults.values.merging(given.values)
            try OptionDefaults.checkSecrets(given.values, options)
            do throws(OptionError) {
                plan = try CapturePlan(given, catalog: context.catalog)
            } catch {
                throw defaults.explained(error)
            }
            for (variable, meant) in OptionDefaults.misspelled(OptionDefaults.environmentNames, options) {
                Reporter.notify(
                    "The variable \(variable) matches no option. Did you mean \(meant)?", plan, context.terminal)
            }
            let signals = try context.watchingSignals()
            var run = CaptureRun(plan: plan, terminal: context.terminal, signals: signals)
            do throws(ExitError) {
                return try run.run()
            } catch  where plan.statistics == .json {
                // The option may come from a file, so that the command line does not show it.
                context.terminal.writeLine(StatisticsJSON.error(error.message))
                return error.status
            }
        })

    private static let captureOptions: @Sendable (ToolCatalog) -> [OptionGroup] = { catalog in
        [OptionGroup(owner: .tool, options: ToolOptions.sections(catalog).flatMap(\.options))]
            + catalog.sourceGroups + catalog.encoderGroups + catalog.audioGroups + catalog.outputGroups
    }

    private static let captureDiscussion = """
        One output may have its own options after its place, as -o a.webm,size=vga,fps=10:
        size, fps, crop, fit, overlay, how it is encoded, and those of the output itself.

        Each option can also be given by the environment, as CAPTURER_BITRATE=2M or
        CAPTURER_KEEP_GOING=yes, and by a file: --config FILE, or CAPTURER_CONFIG. Its lines are
        name = value, such as bitrate = 2M, or empty, or comments, which begin with #; output may
        have several. A comment needs a separate line.
        The command line counts most, then the environment.
        """

    /// The words of a capture with a file or URL among them as its input.
    private static func withInput(_ arguments: ParsedArguments) throws(OptionError) -> ParsedArguments {
        guard let input = arguments.operands.first else { return arguments }
        guard !arguments.values.contains("input") else {
            throw OptionError(
                "input", input, "there is one already; a file to write is -o \(printable(input, limit: 60)).")
        }
        var capture = arguments
        capture.operands = []
        capture.values["input"] = input
        return capture
    }

    /// `capturer-demo play URL|FILE`.
    static let play = ToolCommand(
        name: "play", summary: "shows a stream or a file, or plays a radio: play URL|FILE",
        operand: Operand(placeholder: "URL|FILE") { _ in [] },
        discussion: { "It has the options of a capture." + ($0.radio.map { "\n" + $0.discussion } ?? "") },
        options: { catalog in
            capture.options(catalog) + [OptionGroup(owner: .tool, options: catalog.radio.map { [$0.option] } ?? [])]
        }, handlesSignals: true,
        run: { (arguments, context) throws(ExitError) in
            guard let input = arguments.operands.first, !input.isEmpty else {
                throw ExitError(.usage, "play: name what to show: a file, or a URL such as tcp://host:9000.")
            }
            guard !arguments.values.contains("input") else {
                throw ExitError(.usage, "--input: play has its input already; leave one out.")
            }
            guard let radio = context.catalog.radio else {
                return try capture.run(playing(input, arguments.values), context)
            }
            // To ask a server may take seconds, in which an interrupt must be obeyed.
            var context = context
            let signals = try context.watchingSignals()
            context.signals = signals
            let isInterrupted = Locked(false)
            signals.watch { isInterrupted.withLock { $0 = true } }
            let isRadio = radio.isRadio(input, arguments.values) { isInterrupted.withLock { $0 } }
            guard !isInterrupted.withLock({ $0 }) else { return .success }
            if isRadio {
                try OptionDefaults.checkSecrets(arguments.values, captureOptions(context.catalog).merged.map(\.option))
                return try radio.play(input, arguments.values, context)
            }
            guard !arguments.values.contains("sound") else {
                throw ExitError(.usage, "--sound: applies to radios only (http addresses); leave it out.")
            }
            return try capture.run(playing(input, arguments.values), context)
        })

    /// The words of a capture that shows an input.
    static func playing(_ input: String, _ values: OptionValues) -> ParsedArguments {
        var capture = ParsedArguments(values)
        capture.values["input"] = input
        capture.values.append("window", for: "output")
        return capture
    }

    /// `capturer-demo help [NAME]`.
    static let help = ToolCommand(
        name: "help", summary: "explains a source, output, encoder or command, or all",
        operand: Operand(placeholder: "NAME") { HelpText.topics($0) + ["all"] }, options: { _ in [] },
        run: { (arguments, context) throws(ExitError) in
            try StandardOutput.write(try HelpText.text(arguments.operands.first, context.catalog))
            return .success
        })

    /// `capturer-demo completion SHELL`.
    static let completion = ToolCommand(
        name: "completion", summary: "prints a script that completes words in a shell",
        operand: Operand(placeholder: "bash|zsh|fish") { _ in Completion.allCases.map(\.rawValue) },
        discussion: { _ in "For bash: eval \"$(capturer-demo completion bash)\" in ~/.bashrc." },
        options: { _ in [] },
        run: { (arguments, context) throws(ExitError) in
            let names = Completion.allCases.map(\.rawValue)
            guard let name = arguments.operands.first, let shell = Completion(rawValue: name) else {
                let given = arguments.operands.first.map { "\(printable($0, limit: 60)): " } ?? ""
                throw ExitError(.usage, "\(given)name a shell: \(names.joined(separator: ", ")).")
            }
            try StandardOutput.write(shell.script(context.catalog))
            return .success
        })

    /// `capturer-demo manual`.
    static let manual = ToolCommand(
        name: "manual", summary: "prints the manual, for man: capturer-demo manual | man -l -", options: { _ in [] },
        run: { (_, context) throws(ExitError) in
            try StandardOutput.write(Manual.text(context.catalog))
            return .success
        })
}
