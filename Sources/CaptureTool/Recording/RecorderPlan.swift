import MediaPublishing
import MotionDetection
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What starts clips: the words of `--record-on`. ``RecorderTriggers`` has a function for each.
enum TriggerKind: String, Sendable, Hashable, CaseIterable {
    /// SIGUSR1.
    case signal
    /// The key `r` of the terminal.
    case key
    /// `POST /record` to the server of `--serve`.
    case http
    /// Sound above the noise.
    case sound
    /// Something that moves in the picture.
    case motion

    var reason: RecordingTrigger.Reason { RecordingTrigger.Reason(rawValue: rawValue) }
}

/// Clips in place of recordings without an end, as the options describe them.
struct RecorderPlan: Sendable {
    /// What starts clips, each once.
    var kinds: [TriggerKind] = []
    /// What a clip has.
    var configuration = TriggeredOutput.Configuration()
    /// What counts as motion.
    var motion = MotionSettings()

    /// How far sound is above the noise that starts clips.
    var sound = SoundTrigger.Configuration()
    /// The program that is started for each begin and end; nil for none.
    var program: String?
    /// Whether each clip has a still.
    var takesStills = false

    /// The options that have no effect without `--record-on`.
    private static let dependent =
        ["preroll", "postroll", "record-level", "on-event", "event-still"] + MotionOptions.options.map(\.name)

    static let options =
        [
            OptionDescription(
                "record-on", .text(TriggerKind.allCases.map(\.rawValue).joined(separator: ",")),
                "files are clips of these events: signal USR1, key r, POST /record of --serve, sound, motion",
                default: "one recording"),
            OptionDescription("preroll", .text("TIME"), "what a clip has of before its event", default: "10"),
            OptionDescription("postroll", .text("TIME"), "what a clip has of after its last event", default: "10"),
            OptionDescription(
                "record-level", .text("DB"), "how far above the noise sound starts a clip, 3 to 60", default: "12"),
            OptionDescription(
                "on-event", .text("PROGRAM"), "is started at the begin and end of each clip", default: "none"),
            .flag("event-still", "takes a JPEG at the begin of each clip, next to it: clip-001.jpg"),
        ] + MotionOptions.options

    /// Nil without `--record-on`.
    init?(_ values: OptionValues) throws(OptionError) {
        guard let text = values["record-on"] else {
            if let name = RecorderPlan.dependent.first(where: { values.contains($0) }) {
                let kind = name.hasPrefix("motion-") ? TriggerKind.motion : .signal
                throw OptionError(name, values[name], "has no effect without --record-on; add --record-on \(kind).")
            }
            return nil
        }
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let kind = try OptionValues(["record-on": [String(word)]]).choice(
                "record-on", TriggerKind.allCases.map { ($0.rawValue, $0) })
            if let kind, !kinds.contains(kind) { kinds.append(kind) }
        }
        if let time = try values.time("preroll", allowsZero: true) { configuration.preroll = time }
        if let time = try values.time("postroll", allowsZero: true) { configuration.postroll = time }
        if let level = try values.count("record-level", in: 3...60) {
            guard kinds.contains(.sound) else {
                throw OptionError("record-level", values["record-level"], "has no effect without --record-on sound.")
            }
            sound.threshold = Double(level)
        }
        program = values["on-event"]
        takesStills = values.contains("event-still")
        if !kinds.contains(.motion), let option = MotionOptions.options.first(where: { values.contains($0.name) }) {
            throw OptionError(option.name, values[option.name], "has no effect without motion; add --record-on motion.")
        }
        motion = try MotionOptions.settings(values)
        guard configuration.preroll <= .seconds(600) else {
            throw OptionError("preroll", values["preroll"], "is kept in memory; choose 10 minutes or less.")
        }
    }

    /// What a clip of an output has, and the limits of its files.
    func configuration(
        split: SplitOutput.Interval?, keep: [SplitOutput.Limit], _ values: OptionValues
    ) throws(OptionError) -> TriggeredOutput.Configuration {
        var result = configuration
        result.keep = keep
        result.keepsStills = takesStills
        switch split {
        case .duration, .clock: result.split = split
        case .bytes:
            throw OptionError("split", values["split"], "clips are split by time; give 90, 10min or 1h.")
        case nil: break
        }
        return result
    }

    /// Checks what the kinds need.
    ///
    /// - Throws: what to add.
    func check(_ outputs: [PlannedOutput], _ values: OptionValues) throws(OptionError) {
        if kinds.contains(.http), !outputs.contains(where: \.entry.firesTriggers) {
            throw OptionError("record-on", values["record-on"], "http needs a server; add --serve 8080.")
        }
    }
}

extension CapturePlan {
    /// The index of the files of an output, for a server; nil without one, and for files that are not played.
    func recordingIndex(of planned: PlannedOutput, _ output: any MediaOutput) throws(OptionError) -> RecordingIndex? {
        guard let recordings, planned.split != nil || planned.clips != nil, case .packets = output.feed,
            planned.isSplit(output)
        else { return nil }
        return try RecordingIndex(planned.request.target, access: recordings)
    }

    /// Whether SIGHUP has files opened again, as services are asked to do: there is something to open, and no terminal whose
    /// end it could mean.
    var reopensFiles: Bool {
        guard statisticsFile != nil || outputs.contains(where: { $0.split != nil || $0.clips != nil }) else {
            return false
        }
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        if terminal >= 0 { close(terminal) }
        return terminal < 0
    }
}
