import MediaPublishing
import VideoCapturing

/// The manual page, made from the catalog and the tables of options and commands. Source of the format: man(7).
enum Manual {
    static func text(_ catalog: ToolCatalog) -> String {
        var lines = [
            ".TH CAPTURER\\-DEMO 1 \"\" \"capturer\\-demo \(escaped(CapturerDemo.version))\"",
            // Without hyphenation and justification, which tear options apart.
            ".nh", ".ad l", ".SH NAME",
            "capturer\\-demo \\- captures video, writes it to files and serves it to browsers",
            ".SH SYNOPSIS", ".B capturer\\-demo", "[\\fIOPTION\\fR]...",
        ]
        for command in ToolCommand.all.dropFirst() {
            let operand = command.operand.map { " [\\fI\(escaped($0.placeholder))\\fR]" } ?? ""
            lines += [".br", "\\fBcapturer\\-demo \(escaped(command.name))\\fR\(operand)"]
        }
        lines += [".SH DESCRIPTION"]
        lines.append("Captures from one source until Ctrl\\-C or a limit, and passes every frame to all outputs.")
        for section in ToolOptions.sections(catalog) {
            lines.append(".SH \"\(section.title.uppercased())\"")
            lines += section.options.flatMap(paragraph)
        }
        for source in catalog.sources.entries {
            lines += heading("SOURCE \(source.name)", source.summary, source.options)
        }
        for source in catalog.audioSources.entries {
            lines += heading("SOUND \(source.name)", source.summary, source.options)
        }
        for encoder in catalog.audioEncoders {
            lines += heading("SOUND ENCODER \(encoder.name)", encoder.summary, encoder.options)
        }
        for encoder in catalog.encoders {
            lines += heading("ENCODER \(encoder.name)", encoder.summary, encoder.options)
        }
        for output in catalog.outputs.entries {
            lines += heading(
                "OUTPUT \(output.name)", output.listed, output.options, prefix: "\\-o \(escaped(output.example)): ")
        }
        lines.append(".SH COMMANDS")
        for command in ToolCommand.all.dropFirst() {
            lines += [".SS \(escaped(command.name))", sentence(command.summary)]
            let discussion = command.discussion(catalog)
            if !discussion.isEmpty { lines.append(sentence(discussion)) }
            lines += command.options(catalog).merged.map(\.option).flatMap(paragraph)
        }
        lines.append(".SH EXAMPLES")
        for example in catalog.examples {
            lines += [".TP", ".B capturer\\-demo \(escaped(example.arguments))", sentence(example.help)]
        }
        lines.append(".SH \"EXIT STATUS\"")
        for (code, help) in exitCodes { lines += [".TP", ".B \(code)", sentence(help)] }
        lines += [".SH ENVIRONMENT"]
        for (name, help) in environment { lines += [".TP", ".B \(name)", sentence(help)] }
        return lines.joined(separator: "\n")
    }

    private static let exitCodes = [
        (0, "done"), (64, "the command line is invalid"), (66, "there is no such device, input or folder"),
        (69, "a library or display is missing"), (74, "reading or writing failed"), (75, "the device is in use"),
        (77, "permission denied"), (130, "interrupted twice"),
    ]

    private static let environment = [
        ("DISPLAY", "the X display to capture, and to open windows on"),
        ("WAYLAND_DISPLAY", "the display to open windows on without an X display"),
        ("CAPTURER_LOGIN", "the name and password of a network camera or a radio"),
        (
            "CAPTURER_BITRATE, CAPTURER_KEEP_GOING ...",
            "the value of each option of a capture (yes or no for a flag); the command line has priority"
        ),
        ("CAPTURER_CONFIG", "a file of options, as --config"),
        ("NO_COLOR", "turns colors off"),
    ]

    private static func heading(
        _ title: String, _ summary: String, _ options: [OptionDescription], prefix: String = ""
    ) -> [String] {
        [".SH \"\(escaped(title.uppercased()))\"", prefix + sentence(summary)] + options.flatMap(paragraph)
    }

    private static func paragraph(_ option: OptionDescription) -> [String] {
        let letter = ToolOptions.letters.first { $0.name == option.name }.map { ["\\fB\\-\($0.letter)\\fR"] } ?? []
        let names = letter + ([option.name] + option.aliases).map { "\\fB\\-\\-\(escaped($0))\\fR" }
        let value = option.isFlag ? "" : " \\fI\(escaped(option.placeholder))\\fR"
        let standard =
            option.isFlag ? "" : option.defaultText.map { " (default: \(escaped($0)))" } ?? " (required)"
        return [".TP", names.joined(separator: ", ") + value, escaped(option.help) + standard + "."]
    }

    private static func sentence(_ text: String) -> String {
        escaped(text) + (text.hasSuffix(".") || text.isEmpty ? "" : ".")
    }

    /// Text without a meaning for the formatter.
    private static func escaped(_ text: String) -> String {
        let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
        // At the beginning of a line these are requests.
        return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : plain
    }
}
