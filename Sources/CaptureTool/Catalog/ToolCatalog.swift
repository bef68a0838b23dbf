import AudioCapturing
import MediaPublishing
import VideoCapturing

/// What a tool offers: the one value from which its help, listings, parsing, shell completion and manual come.
struct ToolCatalog: Sendable {
    /// The sources. The first one is used where the command line names none.
    var sources: CapturerCatalog
    /// The encoders, in order of preference.
    var encoders: [EncoderEntry]
    /// The outputs.
    var outputs: OutputCatalog
    /// Captures of packets as they come, by the names of the sources that have them.
    var packetInputs: [String: PacketInput] = [:]
    /// The sources of sound.
    var audioSources = AudioCapturerCatalog([])
    /// The encoders of sound, in order of preference.
    var audioEncoders: [AudioEncoderEntry] = []
    /// How `play` plays radios; nil for a program that plays none.
    var radio: RadioCommand?
    /// Options that stand for an output.
    var shorthands: [OutputShorthand] = []
    /// The output that takes stills where a key asks for them; nil for none.
    var keyStills: (@Sendable () throws -> any MediaOutput)?
    /// Begins to take stills of events from a publisher; nil for a program that takes none.
    var eventStills: (@Sendable (VideoPublisher) throws -> EventStills.Taker)?
    /// How recordings are read for a server; nil for a program that plays none.
    var recordings: RecordingAccess?
    /// The output of a command line that names none.
    var defaultOutput = "capture.webm"
    /// Checks of the libraries that the program links, for its self-test.
    var checks: [@Sendable () -> Finding] = []
    /// Command lines with what they do, for the help.
    var examples: [(arguments: String, help: String)] = []
    /// The sentence of a tool that was built with less than others: which parts it has, and how to build all of them.
    var remark: String?
}

/// How `play` plays radios. The catalog brings it, so that a tool without sound links no library for it.
struct RadioCommand: Sendable {
    /// The option that chooses where a radio is played.
    var option: OptionDescription
    /// Further sentences for the help of `play`.
    var discussion: String
    /// Whether an input is a radio. It may ask a server, until the function returns true.
    var isRadio: @Sendable (String, OptionValues, _ isStopped: () -> Bool) -> Bool
    /// Plays a radio until its end, an error or a signal.
    var play: @Sendable (String, OptionValues, ToolContext) throws(ExitError) -> ExitStatus
}

/// An option that stands for an output, such as `--serve 8080` for `-o serve://8080`.
struct OutputShorthand: Sendable {
    /// The option.
    var option: OptionDescription
    /// The text of the output before the option's value.
    var prefix: String
}

/// The options of one part of the tool.
struct OptionGroup: Sendable {
    /// What a group belongs to.
    enum Owner: Sendable, Hashable {
        /// The tool itself, or one of its commands.
        case tool
        case source(String)
        /// The devices of a source.
        case devices(String)
        case encoder(String)
        case output(String)

        /// The name in messages.
        var name: String {
            switch self {
            case .tool: "capturer-demo"
            case .source(let name), .devices(let name), .encoder(let name), .output(let name): name
            }
        }
    }

    var owner: Owner
    var options: [OptionDescription]
}

extension [OptionGroup] {
    /// The options of that name or alias, with their owners. Options that share a name mean the same.
    func named(_ name: String) -> [(owner: OptionGroup.Owner, option: OptionDescription)] {
        compactMap { group in group.options.first { $0.isNamed(name) }.map { (group.owner, $0) } }
    }

    /// Each option once, in order, with the names of its owners.
    var merged: [(option: OptionDescription, owners: [OptionGroup.Owner])] {
        var result: [(option: OptionDescription, owners: [OptionGroup.Owner])] = []
        for group in self {
            for option in group.options {
                if let index = result.firstIndex(where: { $0.option.name == option.name }) {
                    result[index].owners.append(group.owner)
                } else {
                    result.append((option, [group.owner]))
                }
            }
        }
        return result
    }

    /// All names and aliases.
    var names: [String] { merged.flatMap { [$0.option.name] + $0.option.aliases } }
}

extension ToolCatalog {
    /// What `--codec` may be.
    var codecNames: [String] {
        var names: [String] = []
        for name in encoders.map(\.codec.rawValue) where !names.contains(name) { names.append(name) }
        return names + (packetInputs.isEmpty ? [] : [PacketPlan.codecName, PacketPlan.automaticName])
    }

    /// The options of the sources.
    var sourceGroups: [OptionGroup] {
        sources.entries.map { OptionGroup(owner: .source($0.name), options: $0.options) }
    }

    /// The options of the encoders.
    var encoderGroups: [OptionGroup] {
        encoders.map { OptionGroup(owner: .encoder($0.name), options: $0.options) }
    }

    /// The options of the sources and encoders of sound.
    var audioGroups: [OptionGroup] {
        audioSources.entries.map { OptionGroup(owner: .source($0.name), options: $0.options) }
            + audioEncoders.map { OptionGroup(owner: .encoder($0.name), options: $0.options) }
    }

    /// The options of the outputs.
    var outputGroups: [OptionGroup] {
        outputs.entries.map { OptionGroup(owner: .output($0.name), options: $0.options) }
    }

    /// The devices that sources list.
    var devices: [DeviceDirectory] {
        sources.entries.compactMap(\.devices) + audioSources.entries.compactMap(\.devices)
    }

    /// The options of the devices that sources list.
    var deviceGroups: [OptionGroup] {
        devices.map { OptionGroup(owner: .devices($0.name), options: $0.options) }
    }
}
