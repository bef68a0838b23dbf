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
                if parts.count == 1 { try check(part, behind: parts[0], text, options, catalog) }
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

    /// Throws for what looks like an option, but is not one of an output.
    ///
    /// - Parameter place: what stands before it.
    private static func check(
        _ part: String, behind place: String, _ text: String, _ options: [OptionDescription], _ catalog: ToolCatalog
    ) throws(OptionError) {
        guard let equals = part.firstIndex(of: "="), !text.contains("://") else { return }
        let name = String(part[..<equals])
        let near = nearestName(to: name, in: options.map(\.name))
        // The name of a file may have a comma and an equals sign: a,b=c.webm.
        let isName = (try? catalog.outputs.resolve(text)) != nil || (try? catalog.outputs.resolve(place)) == nil
        guard near != nil || !isName else { return }
        let ofAll = ToolOptions.sections(catalog).flatMap(\.options).contains { $0.isNamed(name) }
        let advice =
            if ofAll {
                "\(name) applies to all outputs; write --\(name)."
            } else if name == "scale" {
                "no output has the option scale. Here it is size=50%, or size=640x480."
            } else if let here = NamesElsewhere.option(name) {
                "no output has the option \(name). Here it is \(here.replacing("--", with: ""))."
            } else if let near {
                "no output has the option \(name). Did you mean \(near)?"
            } else {
                "no output has the option \(name); there are "
                    + "\((MediaPublisher.FrameSettings.options.map(\.name) + EncodingSettings.optionNames).joined(separator: ", "))."
            }
        throw OptionError("output", text, advice)
    }
}
