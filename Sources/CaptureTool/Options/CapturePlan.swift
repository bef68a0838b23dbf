import AudioCapturing
import MediaPublishing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A capture as the options describe it, checked as far as possible without opening anything.
struct CapturePlan: Sendable {
    var source: CapturerEntry
    var request = CapturerEntry.Request()
    var orientation = VideoOrientation.up
    var contentHint: VideoContentHint?
    /// How long to wait before the capture starts.
    var startDelay: Duration?
    var frames: UInt64?
    var duration: Duration?
    /// The sound; nil for pictures alone.
    var audio: AudioPlan?
    /// The sound of the source itself, which is known when it is made; nil where there can be none.
    var ownSound: OwnSound?
    var outputs: [PlannedOutput]
    /// How packets are passed on as they come; nil where frames are captured.
    private(set) var packets: PacketPlan?
    /// How packets of a file would be passed on, if its tracks suit the outputs.
    private(set) var proposedPackets: PacketPlan?
    /// The output that takes stills where a key of another asks for them; nil where there is none with keys.
    var keyStills: (@Sendable () throws -> any MediaOutput)?
    /// The encoders that the program has.
    var encoders: [EncoderEntry]
    var encoding = EncodingSettings()
    /// What starts clips; nil for a recording without triggers.
    var recorder: RecorderPlan?
    /// Whether existing files are replaced.
    var overwrites: Bool
    /// Begins to take stills of events.
    var eventStills: (@Sendable (VideoPublisher) throws -> EventStills.Taker)?
    /// How a server reads the recordings; nil where there is no server, or none that can.
    var recordings: RecordingAccess?
    /// Whether the other outputs continue when one fails.
    var keepsGoing: Bool
    var statistics: StatisticsStyle
    /// The path of a file for statistics as JSON; nil for none.
    var statisticsFile: String?
    var isQuiet: Bool

    /// Whether to print how the source chose its mode, and what each output gets.
    var explains = false
    /// Whether there is nothing but sound.
    var isSoundAlone = false
    /// Whether a stalled output would block others.
    var hasSeveralOutputs: Bool { outputs.count > 1 }
}

extension CapturePlan {
    /// Parses the options, in the order of the help.
    init(_ arguments: ParsedArguments, catalog: ToolCatalog) throws(OptionError) {
        let given = arguments.values
        let isAutomatic = given["codec"]?.lowercased() == PacketPlan.automaticName && !catalog.packetInputs.isEmpty
        let values = isAutomatic ? given.filter { $0 != "codec" } : given
        try NamesElsewhere.check(values, catalog)
        // A size that follows from the picture is a matter of the outputs.
        let isRelative = try MediaPublisher.FrameSettings.relativeSize(values) != nil
        let choice = SourceChoice(isRelative ? values.filter { $0 != "size" } : values, catalog)
        source = try choice.entry()
        request = try choice.request(for: source)
        orientation = try values.choice("orientation", ToolOptions.orientations) ?? .up
        contentHint = try values.choice("content-hint", ToolOptions.contentHints)
        explains = values.contains("explain")
        startDelay = try values.time("start-delay", allowsZero: true)
        frames = try values.count("frames", in: 1...UInt64(Int64.max))
        duration = try values.time("duration")

        overwrites = values.contains("force")
        keepsGoing = values.contains("keep-going")
        outputs = try CapturePlan.outputs(values, catalog, source)
        recorder = try RecorderPlan(values)
        let mayHaveOwn = source.mayHaveSound && values["audio"] == nil
        packets = try PacketPlan(values, catalog, source, outputs)
        // Packets that are not passed on at their times would be ahead of the motion that is seen.
        if let packets, packets.input.decoders.isEmpty || !packets.isPaced, recorder?.kinds.contains(.motion) == true {
            throw OptionError(
                "record-on", values["record-on"],
                "motion needs frames, and --codec \(PacketPlan.codecName) passes packets on as they are; leave one out."
            )
        }
        audio = try AudioPlan(values, catalog, mayHaveOwn: mayHaveOwn)
        try AudioPlan.check(outputs, values, catalog)
        isSoundAlone = try CapturePlan.isSoundAlone(outputs, audio, mayHaveOwn: mayHaveOwn, values, catalog)
        if isSoundAlone, let frames = values["frames"] {
            throw OptionError("frames", frames, "counts pictures, which no output takes; use --duration.")
        }
        ownSound = try OwnSound(values, catalog, of: source, outputs: outputs)
        if packets == nil, values["codec"] == nil {
            proposedPackets = try .automatic(values, catalog, source, request.input, outputs, recorder)
        }
        keyStills = outputs.contains(where: \.entry.hasKeys) ? catalog.keyStills : nil
        if recorder?.takesStills == true {
            guard packets == nil, !isSoundAlone, let taker = catalog.eventStills else {
                throw OptionError(
                    "event-still", nil, "there are no frames to take; record pictures that are encoded here.")
            }
            eventStills = taker
        }
        recordings = outputs.contains(where: \.entry.firesTriggers) ? catalog.recordings : nil
        encoders = catalog.encoders
        encoding = try EncodingSettings(
            packets == nil ? values : values.filter { $0 != "codec" }, encoders: catalog.encoders)
        let feeds = try CapturePlan.check(outputs, values, catalog)
        request.prefersRGB =
            !feeds.isEmpty
            && feeds.allSatisfy { feed in
                if case .frames(let frames) = feed { frames.pixelFormat?.isRGB ?? false } else { false }
            }

        statistics = try values.choice("stats", StatisticsStyle.allCases.map { ($0.rawValue, $0) }) ?? .text
        statisticsFile = values["stats-file"]
        if let file = statisticsFile, file.isEmpty || file == "-" {
            throw OptionError("stats-file", file, "name a file; --stats json writes to standard error.")
        }
        isQuiet = values.contains("quiet")
        if isQuiet, statistics != .none, let stats = values["stats"] {
            throw OptionError("stats", stats, "cannot be combined with --quiet; leave one out.")
        }
        if statistics == .json, let output = outputs.first(where: { $0.entry.name == OutputEntry.terminalName }) {
            throw OptionError(
                output.given.option, nil,
                "cannot be combined with --stats json, since both write to the terminal.")
        }
        // Of a file it depends on its tracks.
        if let plan = packets ?? (proposedPackets?.input.isLive == true ? proposedPackets : nil) { passOn(by: plan) }
    }

    /// Captures packets in place of frames; sound passes on with the rest.
    mutating func passOn(by plan: PacketPlan) {
        packets = plan
        proposedPackets = nil
        ownSound = nil
        isSoundAlone = false
        if !plan.isPaced { request.options["fps"] = "max" }
    }

    /// Makes the outputs, for their errors and for what they take, which it returns.
    private static func check(
        _ outputs: [PlannedOutput], _ values: OptionValues, _ catalog: ToolCatalog
    ) throws(OptionError) -> [OutputContext.Feed] {
        var feeds: [OutputContext.Feed] = []
        var isEncoded = false
        var isFile = false
        var toStandardOutput = 0
        for output in outputs {
            let made = try output.makeOutput()
            feeds.append(made.feed)
            if case .packets = made.companion?.feed ?? made.feed {
                isEncoded = true
            } else if output.encoding != nil {
                throw OptionError(
                    output.given.option, output.given.text,
                    "\(output.entry.name) is not encoded; leave out how to encode.")
            }
            if made.path == "-" { toStandardOutput += 1 }
            isFile = isFile || output.isSplit(made)
        }
        for name in ["split", "record-on"] where !isFile && values.contains(name) {
            throw OptionError(name, values[name], "no output is a file; add one such as -o \(catalog.defaultOutput).")
        }
        guard toStandardOutput <= 1 else {
            throw OptionError(
                "output", nil, "only one output can go to standard output; \(toStandardOutput) were given.")
        }
        guard !isEncoded else { return feeds }
        let encoderOptions = catalog.encoderGroups.merged.map(\.option.name)
        if let name = (EncodingSettings.optionNames + encoderOptions).first(where: { values.contains($0) }),
            !outputs.contains(where: { $0.entry.options.contains { $0.name == name } })
        {
            throw OptionError(
                name, values[name], "no output is encoded; add one such as -o \(catalog.defaultOutput).")
        }
        return feeds
    }
}

extension MediaOutput {
    /// What it takes of the sound, or the output that belongs to it.
    var feedOfSound: OutputContext.AudioFeed? { audioFeed ?? companion?.audioFeed }
}

extension OutputEntry {
    /// The name of the output that shows frames in the terminal.
    static let terminalName = "terminal"
}

/// Finds the source of a command line, and what is requested of it.
private struct SourceChoice {
    let values: OptionValues
    let catalog: ToolCatalog
    private let own: [String]

    init(_ values: OptionValues, _ catalog: ToolCatalog) {
        self.values = values
        self.catalog = catalog
        let others = catalog.encoderGroups.names + catalog.audioGroups.names + catalog.outputGroups.names
        own = ToolOptions.sections(catalog).flatMap(\.options).map(\.name) + others
    }

    /// The source: by its name; by the input's scheme, or the one that reads files; by an option that only it has; or the
    /// first.
    func entry() throws(OptionError) -> CapturerEntry {
        let entries = catalog.sources.entries
        for option in ["source", "input"] where values.all(option).count > 1 {
            throw OptionError(
                option, values[option], "is the second one, and a run has one source; start the tool once for each.")
        }
        if let input = values["input"], input.hasPrefix("/dev/video"), values["source"] != "camera" {
            throw OptionError("input", input, "is a camera; write --source camera --device \(input).")
        }
        if let entry = try values.choice("source", entries.map { ($0.name, $0) }) { return entry }
        if let input = values["input"] {
            if let entry = catalog.sources.entry(forURL: input) { return entry }
            guard entries.contains(where: { $0.inputOption == "input" }) else {
                throw OptionError("input", input, "no source of this tool reads a file or a URL.")
            }
            if let scheme = urlScheme(of: input), input.dropFirst(scheme.utf8.count).hasPrefix("://") {
                throw OptionError("input", input, NamesElsewhere.input(scheme, catalog))
            }
            let files = entries.first { entry in
                entry.inputOption.flatMap { entry.option(named: $0) }.map { $0.name == "input" && $0.value == .file }
                    ?? false
            }
            if let files { return files }
            throw OptionError("input", input, "add --source, to say which source reads this input.")
        }
        for name in values.names where !own.contains(name) || isOfUnusedOutput(name) {
            let owners = entries.filter { $0.option(named: name) != nil }
            guard owners.count == 1, let option = owners[0].option(named: name) else { continue }
            if owners[0].inputOption == "input", values["input"] == nil {
                let value = option.isFlag || option.isSecret ? nil : values[name]
                throw OptionError(
                    name, value,
                    "is for the source \(owners[0].name), which needs --input; add that, or leave this out.")
            }
            return owners[0]
        }
        return entries[0]
    }

    /// Whether only outputs have the option, or a source, and none of those outputs was chosen.
    private func isOfUnusedOutput(_ name: String) -> Bool {
        guard catalog.outputGroups.names.contains(name), !catalog.encoderGroups.names.contains(name) else {
            return false
        }
        let shorthands = catalog.shorthands.filter { values.contains($0.option.name) }.map(\.prefix)
        return !(values.all("output") + shorthands).contains { text in
            let place = (try? OutputWords.split(text, catalog))?.place ?? text
            return (try? catalog.outputs.resolve(place))?.entry.options.contains { $0.isNamed(name) } ?? false
        }
    }

    /// What is requested of a source.
    func request(for source: CapturerEntry) throws(OptionError) -> CapturerEntry.Request {
        var options = values
        // The URL of a device stands for the device.
        if let input = values["input"], let name = source.inputOption, !options.contains(name),
            catalog.sources.entry(forURL: input)?.name == source.name
        {
            options["input"] = nil
            options[name] = input
        }
        for name in options.names where source.option(named: name) == nil {
            guard name == "input" || !own.contains(name), name != "explain" else { continue }
            let option = catalog.sourceGroups.named(name)
            if name == "input", let input = options[name] {
                throw OptionError(
                    name, input,
                    "\(source.name) has no such option; leave out --source to read this, or write it with -o.")
            }
            let isShown = options[name] != "" && !option.contains { $0.option.isSecret }
            let owners = option.map(\.owner.name).joined(separator: ", ")
            let hint = owners.isEmpty ? "" : "; \(owners) \(option.count == 1 ? "has" : "have") it"
            throw OptionError(
                name, isShown ? options[name] : nil, "\(source.name) has no such option\(hint).")
        }
        for option in source.options where option.defaultText == nil && options[option.name] ?? "" == "" {
            throw OptionError("source", source.name, "needs --\(option.name), \(option.help).")
        }
        let input = source.inputOption.flatMap { options[$0] }
        let requested = options.filter { $0 != source.inputOption && source.option(named: $0) != nil }
        return CapturerEntry.Request(input: input, options: requested)
    }
}
