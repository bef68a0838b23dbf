import VideoCapturing

/// The words of a command line: the values of its options by their names, and the words that belong to none.
///
/// The style is GNU's: `--name value`, `--name=value`, `-o value`, `-ovalue`, `-qf`; `--` ends the options, and `-` alone
/// is a value.
struct ParsedArguments: Sendable, Hashable {
    /// The values by the options' names, never by an alias; a flag that is set has one empty value.
    var values = OptionValues()
    /// The other words, in their order.
    var operands: [String] = []

    /// Values without operands.
    init(_ values: OptionValues = OptionValues()) { self.values = values }

    /// Parses the words of a command.
    ///
    /// - Parameters:
    ///   - words: the command line without the names of the program and of the command.
    ///   - options: the options of the command.
    ///   - others: the options of other commands, by the command's name, for error messages.
    /// - Throws: a usage error that names the option that was probably meant.
    init(
        _ words: [String], options: [OptionDescription], others: [(command: String, options: [OptionDescription])] = []
    ) throws(ExitError) {
        let table = Table(options: options, others: others)
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                return
            }
            if word.hasPrefix("--") {
                try addLong(String(word.dropFirst(2)), table, &rest)
            } else if word.hasPrefix("-"), word != "-" {
                try addLetters(word.dropFirst(), table, &rest)
            } else {
                operands.append(word)
            }
        }
    }

    private mutating func addLong(
        _ text: String, _ table: Table, _ rest: inout ArraySlice<String>
    ) throws(ExitError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let option = try table.option(named: parts[0])
        guard parts.count == 2 else { return try add(option, table, &rest) }
        guard !option.isFlag else {
            throw ExitError(.usage, "--\(option.name): takes no value; leave out what stands behind the =.")
        }
        values.append(parts[1], for: option.name)
    }

    private mutating func addLetters(
        _ letters: Substring, _ table: Table, _ rest: inout ArraySlice<String>
    ) throws(ExitError) {
        let word = String(letters)
        // Words of ffmpeg, such as -framerate, of which the first letter may be an option here.
        if word.count > 2, NamesElsewhere.option(word) != nil { throw table.unknown("-\(word)", name: word) }
        var letters = letters
        while let letter = letters.popFirst() {
            guard let option = table.option(letter: letter) else {
                guard !table.knows(word) else { throw table.unknown("-\(word)", name: word) }
                throw table.unknown("-\(letter)", name: String(letter))
            }
            if !option.isFlag, !letters.isEmpty {
                values.append(String(letters), for: option.name)
                return
            }
            try add(option, table, &rest)
        }
    }

    /// Adds a flag, or an option whose value is the next word.
    private mutating func add(
        _ option: OptionDescription, _ table: Table, _ rest: inout ArraySlice<String>
    ) throws(ExitError) {
        guard !option.isFlag else {
            values[option.name] = ""
            return
        }
        guard let value = rest.first, !table.isOption(value) else {
            throw ExitError(
                .usage,
                "--\(option.name): needs a value, \(option.placeholder); write --\(option.name)=VALUE for one that "
                    + "begins with a dash.")
        }
        rest.removeFirst()
        values.append(value, for: option.name)
    }

    /// The options that words stand for.
    private struct Table {
        var options: [OptionDescription]
        var others: [(command: String, options: [OptionDescription])]

        func option(letter: Character) -> OptionDescription? {
            guard let name = ToolOptions.letters.first(where: { $0.letter == letter })?.name else { return nil }
            return options.first { $0.name == name }
        }

        func option(named name: String) throws(ExitError) -> OptionDescription {
            if let option = options.first(where: { $0.isNamed(name) }) { return option }
            let shown = printable("--\(name)", limit: 60)
            if let owner = others.first(where: { $0.options.contains { $0.isNamed(name) } }) {
                throw ExitError(.usage, "\(shown): is an option of capturer-demo \(owner.command).")
            }
            throw unknown("--\(name)", name: name)
        }

        /// The error of an option that the command does not have, with the one that was probably meant.
        ///
        /// - Parameters:
        ///   - word: the option as it was typed.
        ///   - name: its name without dashes.
        func unknown(_ word: String, name: String) -> ExitError {
            let names = options.flatMap { [$0.name] + $0.aliases }
            // A single letter is near to nothing.
            let near = name.count > 1 ? nearestName(to: name, in: names) : nil
            let here = NamesElsewhere.option(name).map { " Here it is \($0)." }
            let guess = here ?? near.map { " Did you mean --\($0)?" } ?? ""
            return ExitError(
                .usage, "\(printable(word, limit: 60)): unknown option.\(guess) See capturer-demo --help.")
        }

        /// Whether a word behind one dash is the name of an option, here or elsewhere.
        func knows(_ word: String) -> Bool {
            word.count > 1 && (options.contains { $0.isNamed(word) } || NamesElsewhere.option(word) != nil)
        }

        /// Whether a word is an option rather than a value. What begins with a single dash is one only when it is known,
        /// so that numbers below zero get the message of their option.
        func isOption(_ word: String) -> Bool {
            guard word.hasPrefix("-"), word != "-" else { return false }
            return word.hasPrefix("--") || word.dropFirst().first.flatMap { option(letter: $0) } != nil
        }
    }
}
