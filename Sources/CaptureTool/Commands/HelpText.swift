import AudioCapturing
import MediaPublishing
import VideoCapturing

/// The help, made from the catalog and the tables of options and commands.
enum HelpText {
    /// The columns of the help.
    private static let width = 98
    /// The column in which explanations begin.
    private static let column = 30

    /// What `help NAME` explains.
    static func topics(_ catalog: ToolCatalog) -> [String] {
        catalog.sources.names + catalog.audioSources.names + catalog.outputs.entries.map(\.name)
            + catalog.encoders.map(\.name) + catalog.audioEncoders.map(\.name) + ToolCommand.all.map(\.name)
    }

    /// The help on a topic; nil for the overview.
    ///
    /// - Throws: a usage error that names the topic that was probably meant.
    static func text(_ topic: String?, _ catalog: ToolCatalog) throws(ExitError) -> String {
        guard let topic else { return overview(catalog) }
        if topic == "all" { return ([overview(catalog)] + everything(catalog)).joined(separator: "\n\n") }
        let found = sections(catalog).filter { $0.name == topic.lowercased() }.map(\.text)
        guard found.isEmpty else { return found.joined(separator: "\n\n") }
        let guess = nearestName(to: topic, in: topics(catalog)).map { " Did you mean \($0)?" } ?? ""
        throw ExitError(
            .usage, "\(printable(topic, limit: 60)): there is no such source, output, encoder or command.\(guess)")
    }

    /// Ten lines for a command line without any word.
    static func usage(_ catalog: ToolCatalog) -> [String] {
        ["Name what to capture, such as --source noise:"] + examples(catalog) + [
            "What there is to capture: capturer-demo list. All options: capturer-demo --help"
        ] + (catalog.remark.map { [$0] } ?? [])
    }

    private static func examples(_ catalog: ToolCatalog) -> [String] {
        let longest = catalog.examples.map(\.arguments.count).max() ?? 0
        return catalog.examples.map { example in
            let padding = String(repeating: " ", count: longest - example.arguments.count)
            return "  capturer-demo \(example.arguments)\(padding)  \(example.help)"
        }
    }

    /// One screen, in the order of the tasks.
    static func overview(_ catalog: ToolCatalog) -> String {
        var lines = ["capturer-demo: captures video, writes it to files and serves it to browsers."]
        lines += examples(catalog) + (catalog.remark.map { ["", $0] } ?? [])
        for section in ToolOptions.sections(catalog) {
            lines += ["", section.title] + section.options.map { line($0, isShort: true) }
            switch section.title {
            case "Source": lines += shared(catalog.sourceGroups) + own(catalog.sourceGroups, besides: section.options)
            case "Sound": lines += own(catalog.audioGroups, besides: section.options)
            case "Output":
                lines +=
                    targets(catalog.outputs)
                    + own(catalog.outputGroups, besides: section.options, includesShared: true)
            case "Encoding":
                lines += shared(catalog.encoderGroups) + own(catalog.encoderGroups, besides: section.options)
            default: break
            }
        }
        lines += ["", "Commands"]
        for command in ToolCommand.all.dropFirst() {
            let words = [command.name, command.operand?.placeholder].compactMap(\.self).joined(separator: " ")
            lines += row("  \(words)", command.summary)
        }
        lines += ["", "Status line: time, size, measured/requested rate, bitrate, cap(tured) frames, what each output"]
        lines.append("took and dropped, lat(ency) from capture to packet: median/99th percentile.")
        lines += ["-h, --help, --version. Exit codes: 0 done, 64 usage, 66 no such input, 69 library missing,"]
        lines.append("74 input or output failed, 75 device busy, 77 not allowed, 130 interrupted twice.")
        return lines.joined(separator: "\n")
    }

    /// What an output may be: the extensions, names and schemes.
    private static func targets(_ outputs: OutputCatalog) -> [String] {
        let names = outputs.entries.filter { !$0.needsTarget }.map(\.name)
        let schemes =
            outputs.entries.flatMap(\.schemes).map { "\($0)://" }
            + outputs.entries.filter(\.takesURL).map { "\($0.name):URL" }
        // The values of options that the rest of the help does not explain.
        let own = MediaPublisher.FrameSettings.options.map { "\($0.name)=\($0.name == "fit" ? $0.placeholder : "…")" }
        let words = own + EncodingSettings.optionNames.map { "\($0)=…" }
        return row("  for one:", ["-o FILE,\(words[0])"] + words.dropFirst(), separator: ", ", column: 12)
            + row("  files:", outputs.entries.flatMap(\.extensions).map { ".\($0)" }, separator: " ", column: 12)
            + row("  others:", names + schemes, separator: " ", column: 12)
    }

    /// The options that several parts have, with their explanation.
    private static func shared(_ groups: [OptionGroup]) -> [String] {
        groups.merged.filter { $0.owners.count > 1 && $0.option.name != "input" }
            .map { shared in
                // Each part has a different default.
                var option = shared.option
                option.defaultText = "none"
                return line(option, isShort: true)
            }
    }

    /// For each part, or several that have them together, their own options, by name.
    ///
    /// - Parameter includesShared: whether options of several parts are listed, which ``shared(_:)`` explains elsewhere.
    private static func own(
        _ groups: [OptionGroup], besides known: [OptionDescription], includesShared: Bool = false
    ) -> [String] {
        let merged = groups.merged.filter { option in
            !known.contains { $0.name == option.option.name } && (includesShared || option.owners.count == 1)
        }
        // Parts with the same options, such as those of all files, are one line.
        var rows: [(owners: String, options: [String])] = []
        for group in groups {
            for shared in merged where shared.owners.first == group.owner {
                let owners = shared.owners.map(\.name).joined(separator: ", ")
                let option = shared.option
                let text = option.isFlag ? "--\(option.name)" : "--\(option.name) \(option.placeholder)"
                if rows.last?.owners == owners {
                    rows[rows.count - 1].options.append(text)
                } else {
                    rows.append((owners, [text]))
                }
            }
        }
        return rows.flatMap { row("  \($0.owners):", $0.options, separator: ", ", column: 12) }
    }

    /// What `help NAME` prints, for each name.
    private static func sections(_ catalog: ToolCatalog) -> [(name: String, text: String)] {
        let sources = catalog.sources.entries.map { source in
            var text = entry("--source \(source.name)", source.summary, source.options)
            if !source.schemes.isEmpty {
                text += "\n\nChosen by an --input that begins with "
                text += source.schemes.map { "\($0):" }.joined(separator: ", ") + "."
            }
            if let devices = source.devices { text += "\nIts \(devices.name): capturer-demo list" }
            return (source.name, text)
        }
        let outputs = catalog.outputs.entries.map { output in
            (output.name, entry("-o \(output.example)", output.listed, output.options))
        }
        let encoders = catalog.encoders.map { encoder in
            let shared = ToolOptions.sections(catalog).flatMap(\.options)
                .filter { EncodingSettings.optionNames.contains($0.name) && $0.name != "encoder" && $0.name != "codec" }
            return (encoder.name, entry("--encoder \(encoder.name)", encoder.summary, shared + encoder.options))
        }
        let commands = ToolCommand.all.map { command in (command.name, text(of: command, catalog)) }
        let sounds = catalog.audioSources.entries.map { source in
            let input = source.inputPlaceholder.map { "[:\($0)]" } ?? ""
            return (source.name, entry("--audio \(source.name)\(input)", source.summary, source.options))
        }
        let soundEncoders = catalog.audioEncoders.map { encoder in
            (encoder.name, entry("encoder \(encoder.name)", encoder.summary, encoder.options))
        }
        return sources + sounds + outputs + encoders + soundEncoders + commands
    }

    private static func everything(_ catalog: ToolCatalog) -> [String] { sections(catalog).map(\.text) }

    private static func text(of command: ToolCommand, _ catalog: ToolCatalog) -> String {
        let isCapture = [ToolCommand.capture.name, ToolCommand.play.name].contains(command.name)
        let operand = command.operand.map { " [\($0.placeholder)]" } ?? ""
        let usage = "capturer-demo \(command.name)\(operand)"
        var options =
            isCapture ? ToolOptions.sections(catalog).flatMap(\.options) : command.options(catalog).merged.map(\.option)
        if command.name == ToolCommand.play.name, let radio = catalog.radio { options.insert(radio.option, at: 0) }
        let text = entry(usage, command.summary, options)
        let discussion = command.discussion(catalog)
        return discussion.isEmpty ? text : "\(text)\n\n\(discussion)"
    }

    /// A heading, and a line for each option.
    static func entry(_ name: String, _ summary: String, _ options: [OptionDescription]) -> String {
        (["\(name): \(summary)"] + options.map { line($0, isShort: false) }).joined(separator: "\n")
    }

    /// The lines of an option.
    ///
    /// - Parameter isShort: whether the default is left out where it goes without saying, or needs a line.
    static func line(_ option: OptionDescription, isShort: Bool) -> String {
        let letter = ToolOptions.letters.first { $0.name == option.name }.map { "-\($0.letter), " } ?? ""
        let names = ([option.name] + option.aliases).map { "--\($0)" }.joined(separator: ", ")
        let value = option.isFlag ? "" : " \(option.placeholder)"
        let help = option.help + (option.isRepeatable && !option.help.contains("repeatable") ? "; repeatable" : "")
        let short = row("  \(letter)\(names)\(value)", help)
        guard !option.isFlag, !(isShort && ["none", "no limit", "off"].contains(option.defaultText)) else {
            return short.joined(separator: "\n")
        }
        let standard = option.defaultText.map { " (default: \($0))" } ?? " (required)"
        let long = row("  \(letter)\(names)\(value)", help + standard)
        return (isShort && long.count > short.count ? short : long).joined(separator: "\n")
    }

    /// Words behind a heading, wrapped.
    private static func row(_ head: String, _ text: String) -> [String] {
        row(head, text.split(separator: " ").map(String.init), separator: " ")
    }

    private static func row(
        _ head: String, _ words: [String], separator: String, column: Int = HelpText.column
    ) -> [String] {
        let indent = String(repeating: " ", count: column)
        var lines: [String] = []
        var line = head + String(repeating: " ", count: max(2, column - head.count))
        var isEmpty = true
        for (index, word) in words.enumerated() {
            let word = word + (index + 1 < words.count ? separator.filter { $0 != " " } : "")
            if line.count + 1 + word.count > width, line != indent {
                while line.last == " " { line.removeLast() }
                lines.append(line)
                line = indent
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return lines + [line]
    }
}

extension OutputEntry {
    /// How it is written behind `-o`.
    var example: String {
        if let scheme = schemes.first { return "\(scheme)://…" }
        return extensions.first.map { "FILE.\($0)" } ?? (takesURL ? "\(name):URL" : name)
    }
}
