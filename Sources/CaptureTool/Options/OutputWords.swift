import MediaPublishing
import VideoCapturing

/// The options of one output, behind its place: `a.webm,size=vga,fps=10`.
enum OutputWords {
    /// The options of encoding, which an output may have for itself.
    static func encodingOptions(_ catalog: ToolCatalog) -> [OptionDescription] {
        ToolOptions.sections(catalog).flatMap(\.options).filter { EncodingSettings.optionNames.contains($0.name) }
            + catalog.encoderGroups.merged.map(\.option)
    }

    /// Divides the place from the options. A comma belongs to a name or a value unless the name of an option and `=` follow.
    ///
    /// - Throws: the error of an option that is probably meant, and of one that is given twice.
    static func split(_ text: String, _ catalog: ToolCatalog) throws(OptionError) -> (place: String, own: OptionValues)
    {
        let options =
            (MediaPublisher.FrameSettings.options + encodingOptions(catalog) + catalog.outputGroups.merged.map(\.option))
            .filter { !$0.isFlag }
        var parts: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            if !parts.isEmpty, option(of: part, options) == nil {
                if parts.count == 1 { try check(part, text, options) }
                parts[parts.count - 1] += "," + part
            } else {
                parts.append(part)
            }
        }
        var own = OptionValues()
        for part in parts.dropFirst() {
            guard let (name, value) = option(of: part, options) else { continue }
            guard !own.contains(name) else { throw OptionError("output", text, "has \(name) twice; leave one out.") }
            own[name] = value
        }
        return (parts.first ?? "", own)
    }

    /// The name of the option, never an alias, and the value, of `name=value`.
    private static func option(
        of part: String, _ options: [OptionDescription]
    ) -> (name: String, value: String)? {
        guard let equals = part.firstIndex(of: "=") else { return nil }
        let name = String(part[..<equals])
        return options.first { $0.isNamed(name) }.map { ($0.name, String(part[part.index(after: equals)...])) }
    }

    /// Throws for what looks like an option that there is not, behind a file's name.
    private static func check(_ part: String, _ text: String, _ options: [OptionDescription]) throws(OptionError) {
        guard let equals = part.firstIndex(of: "="), !text.contains("://") else { return }
        let name = String(part[..<equals])
        guard let near = nearestName(to: name, in: options.map(\.name)) else { return }
        throw OptionError("output", text, "no output has the option \(name). Did you mean \(near)?")
    }
}
