import AudioCapturing
import MediaPublishing
import VideoCapturing

/// The options of the tool itself. Those of sources, encoders and outputs come from their entries in the catalog.
enum ToolOptions {
    /// A heading of the help, with the options below it.
    struct Section: Sendable {
        var title: String
        var options: [OptionDescription]
    }

    /// The options of a capture, in the order of the help.
    static func sections(_ catalog: ToolCatalog) -> [Section] {
        [
            Section(title: "Source", options: source(catalog))
        ] + (catalog.audioSources.entries.isEmpty ? [] : [Section(title: "Sound", options: sound(catalog))]) + [
            Section(title: "Output", options: output(catalog)),
            Section(title: "Clips of events", options: RecorderPlan.options),
            Section(title: "Encoding", options: encoding(catalog)),
            Section(title: "Watching", options: watching),
        ]
    }

    private static func source(_ catalog: ToolCatalog) -> [OptionDescription] {
        [
            OptionDescription(
                "source", .choice(catalog.sources.names), "what is captured",
                default: "by the input, or \(catalog.sources.names.first ?? "")"),
            OptionDescription(
                "input", .text("PATH|URL"), "a file, - for standard input, or the URL of a camera or a display",
                default: "none"),
            OptionDescription(
                "orientation", .choice(orientations.map(\.name)), "the clockwise rotation of the frames for display",
                default: "the source's"),
            OptionDescription(
                "content-hint", .choice(contentHints.map(\.name)), "what the frames show", default: "the source's"),
            OptionDescription("start-delay", .text("TIME"), "begins after 10 or 1m", default: "none"),
            OptionDescription("frames", .text("N"), "ends after N frames", default: "no limit"),
            OptionDescription("duration", .text("TIME"), "ends after 10, 2.5, 500ms, 5m or 1h", default: "no limit"),
        ]
    }

    private static func sound(_ catalog: ToolCatalog) -> [OptionDescription] {
        let names = catalog.audioSources.entries.map { entry in
            entry.name + (entry.inputPlaceholder.map { "[:\($0)]" } ?? "")
        }
        return [
            OptionDescription(
                "audio", .text((names + ["none"]).joined(separator: "|")), "the sound that belongs to the pictures",
                default: "none"),
            OptionDescription(
                "audio-codec", .choice(audioCodecs(catalog).map(\.rawValue)), "the codec of outputs that have a choice",
                default: "AAC in MP4 and MPEG-TS, else Opus"),
            OptionDescription(
                "audio-bitrate", .text("BITS"), "bits per second of the sound: 64k, 128k", default: "by channels"),
        ]
    }

    /// The codecs of sound of which outputs have a choice: all but samples.
    static func audioCodecs(_ catalog: ToolCatalog) -> [Codec] {
        var codecs: [Codec] = []
        for codec in catalog.audioEncoders.map(\.codec) where codec != .pcm && !codecs.contains(codec) {
            codecs.append(codec)
        }
        return codecs
    }

    private static func output(_ catalog: ToolCatalog) -> [OptionDescription] {
        [
            OptionDescription(
                "output", .text("PATH|URL"), "a file by its extension, NAME:FILE, NAME or a URL",
                default: catalog.defaultOutput, isRepeatable: true)
        ] + catalog.shorthands.map(\.option) + [
            OptionDescription(
                "split", .text("TIME|SIZE"),
                "a new file each 10min or 1GB; names may have %03d or %Y%m%d-%H%M%S",
                default: "off"),
            OptionDescription(
                "split-at", .choice(["start", "clock"]),
                "files of --split 1h last an hour, or end at full hours",
                default: "start"),
            OptionDescription(
                "keep", .text("N|SIZE|AGE"),
                "deletes the oldest files of --split and --record-on beyond 20, 50GB, 30d; of a playlist beyond 20",
                default: "all"),
            OptionDescription(
                "keep-free", .text("SIZE|%"), "deletes the oldest of these files while less than 5GB or 10% is free",
                default: "off"),
            .flag("force", "overwrites existing files"),
            .flag("keep-going", "goes on with the other outputs when one fails"),
        ] + MediaPublisher.FrameSettings.overlayOptions
    }

    private static func encoding(_ catalog: ToolCatalog) -> [OptionDescription] {
        [
            OptionDescription(
                "codec", .choice(catalog.codecNames),
                "the codec" + (catalog.packetInputs.isEmpty ? "" : "; copy encodes nothing"),
                default: catalog.packetInputs.isEmpty
                    ? "the first that the output takes" : "auto: the input's where files can have it"),
            OptionDescription(
                "encoder", .text("NAME"), "the encoder: " + catalog.encoders.map(\.name).joined(separator: ", "),
                default: "the first of the codec"),
            OptionDescription(
                "bitrate", .text("BITS"), "bits per second: 800k, 1.5M", default: "by size and rate"),
            OptionDescription(
                "keyframe-interval", .text("TIME"), "at most between key frames: 2 (seconds), 60f (frames)",
                default: "the encoder's"),
        ]
    }

    private static let watching = [
        OptionDescription(
            "stats", .choice(StatisticsStyle.allCases.map(\.rawValue)),
            "the report on standard error; json is an object per line", default: "text"),
        OptionDescription(
            "stats-file", .file, "writes the objects of --stats json to a file as well", default: "none"),
        .flag("quiet", "prints errors only"),
        OptionDescription(
            "config", .file, "reads options from a file; see help capture", default: "none"),
    ]

    /// The options that every command has.
    static let common = [
        OptionDescription.flag("help", "prints the help"),
        OptionDescription.flag("version", "prints the version"),
    ]

    /// The letters that stand for options.
    static let letters: [(letter: Character, name: String)] = [
        ("i", "input"), ("o", "output"), ("f", "force"), ("q", "quiet"), ("h", "help"),
    ]

    /// The rotations by their degrees.
    static let orientations: [(name: String, value: VideoOrientation)] = [
        ("0", .up), ("90", .left), ("180", .down), ("270", .right),
    ]

    /// The content hints by their names.
    static let contentHints = VideoContentHint.allCases.map { (name: $0.rawValue, value: $0) }
}

/// How the tool reports statistics while it runs.
enum StatisticsStyle: String, Sendable, Hashable, CaseIterable {
    /// Text for people.
    case text
    /// One JSON object on each line.
    case json
    /// Only a line for each output, at the end.
    case none
}
