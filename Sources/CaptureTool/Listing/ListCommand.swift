import AudioCapturing
import MediaPublishing
import VideoCapturing

extension ToolCommand {
    /// `capturer-demo list`: sources, encoders and outputs with their options, and the devices of the sources.
    static let list = ToolCommand(
        name: "list", summary: "sources, encoders, outputs with their options; cameras and the like",
        discussion: { _ in
            "With a device option, lists only the devices that have it; exit code 66 if none has it."
        },
        options: { catalog in
            [OptionGroup(owner: .tool, options: [.flag("json", "one JSON object, for programs")])]
                + catalog.deviceGroups
        },
        run: { (arguments, context) throws(ExitError) in
            let listings = try DeviceListings(arguments.values, context.catalog)
            let isJSON = arguments.values.contains("json")
            try StandardOutput.write(isJSON ? listings.json.text : listings.text)
            return .success
        })
}

/// The devices of the sources, and what else a catalog has.
struct DeviceListings {
    private let catalog: ToolCatalog
    /// Each source with devices; nil where only another one's devices were asked for.
    private let listings: [(name: String, listing: DeviceDirectory.Listing?)]
    /// Whether only devices were asked for.
    private let isQuery: Bool

    /// Lists the devices.
    ///
    /// - Parameters:
    ///   - values: with options of devices, only these devices are listed, and one must answer.
    ///   - catalog: what the tool offers.
    init(_ values: OptionValues, _ catalog: ToolCatalog) throws(ExitError) {
        self.catalog = catalog
        let directories = catalog.devices
        let queried = directories.filter { $0.options.contains { values.contains($0.name) } }
        isQuery = !queried.isEmpty
        var listings: [(name: String, listing: DeviceDirectory.Listing?)] = []
        for directory in directories {
            guard queried.isEmpty || queried.contains(where: { $0.name == directory.name }) else {
                listings.append((directory.name, nil))
                continue
            }
            let own = values.filter { name in directory.options.contains { $0.name == name } }
            do {
                listings.append((directory.name, try directory.list(own)))
            } catch {
                // A format that a device does not have is a usage error, not an input error.
                let isFormat = (error as? CaptureError)?.code == .formatUnsupported
                throw ExitError(opening: error, isInputAtFault: !isFormat)
            }
        }
        self.listings = listings
    }

    /// As text.
    var text: String {
        let devices = listings.compactMap(\.listing).map { $0.lines.joined(separator: "\n") }
        guard !isQuery else { return devices.joined(separator: "\n\n") }
        let sources = catalog.sources.entries.map { HelpText.entry($0.name, $0.summary, $0.options) }
        let sounds = catalog.audioSources.entries.map { HelpText.entry("audio \($0.name)", $0.summary, $0.options) }
        let soundEncoders = catalog.audioEncoders.map {
            HelpText.entry("encoder \($0.name)", $0.summary, $0.options)
        }
        let encoders = catalog.encoders.map { HelpText.entry("encoder \($0.name)", $0.summary, $0.options) }
        let outputs = catalog.outputs.entries.map { HelpText.entry("output \($0.name)", $0.listed, $0.options) }
        let heads = [sounds, encoders + soundEncoders, outputs].filter { !$0.isEmpty }.map {
            $0.joined(separator: "\n")
        }
        return (sources + heads + devices).joined(separator: "\n\n")
    }

    /// For programs. Within a version members may be added, but none changes its meaning.
    var json: JSONValue {
        func texts(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
        let sources = catalog.sources.entries.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)), ("schemes", texts(entry.schemes)),
                ("options", .array(entry.options.map(\.json))),
            ])
        }
        let encoders = catalog.encoders.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)),
                ("codec", .string(entry.codec.rawValue)), ("options", .array(entry.options.map(\.json))),
            ])
        }
        let sounds = catalog.audioSources.entries.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)),
                ("schemes", texts(entry.schemes)), ("options", .array(entry.options.map(\.json))),
            ])
        }
        let soundEncoders = catalog.audioEncoders.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)),
                ("codec", .string(entry.codec.rawValue)), ("options", .array(entry.options.map(\.json))),
            ])
        }
        let outputs = catalog.outputs.entries.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)),
                ("extensions", texts(entry.extensions)), ("schemes", texts(entry.schemes)),
                ("options", .array(entry.options.map(\.json))),
            ])
        }
        var members: [(name: String, value: JSONValue)] = [
            ("version", .integer(2)), ("sources", .array(sources)), ("encoders", .array(encoders)),
            ("outputs", .array(outputs)),
        ]
        if !sounds.isEmpty {
            members.append(("audioSources", .array(sounds)))
            members.append(("audioEncoders", .array(soundEncoders)))
        }
        for (name, listing) in listings { members.append((name, .array(listing?.json ?? []))) }
        return .object(members)
    }
}

extension OutputEntry {
    /// The summary with the extensions and schemes by which it is chosen.
    var listed: String {
        let ways = extensions.map { ".\($0)" } + schemes.map { "\($0)://" }
        return ways.isEmpty ? summary : "\(summary) (\(ways.joined(separator: ", ")))"
    }
}

extension OptionDescription {
    /// For programs.
    fileprivate var json: JSONValue {
        let kind: String
        var choices: [String] = []
        switch value {
        case .flag: kind = "flag"
        case .text: kind = "text"
        case .choice(let words): (kind, choices) = ("choice", words)
        case .file: kind = "file"
        case .secret: kind = "secret"
        }
        return .object([
            ("name", .string(name)), ("aliases", .array(aliases.map { .string($0) })), ("kind", .string(kind)),
            ("value", .string(placeholder)), ("choices", .array(choices.map { .string($0) })),
            ("help", .string(help)), ("default", defaultText.map { .string($0) } ?? .null),
            ("required", .bool(defaultText == nil)), ("repeatable", .bool(isRepeatable)),
        ])
    }
}
