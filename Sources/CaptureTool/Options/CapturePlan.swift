import FrameProcessing
import MediaContainers
import VideoCapturing

/// A capture that was asked for, checked as far as can be without touching anything.
struct CapturePlan: Sendable {
    var source: CapturerEntry
    var request = CaptureRequest()
    /// Whether to tell how the source came to its mode.
    var explains = false
    var orientation = VideoOrientation.up
    var contentHint: VideoContentHint?
    var frames: UInt64?
    var duration: Duration?
    var outputs: [OutputName]
    var overwrites: Bool
    /// Whether the other outputs go on when one fails.
    var keepsGoing: Bool
    var encoding = EncodingPlan()
    /// Where the pictures are served; nil for nowhere.
    var serving: ServingPlan?
    var showsPreview: Bool
    var statistics: StatisticsStyle
    var isQuiet: Bool

    /// Whether an output that takes nothing keeps others waiting.
    var hasSeveralOutputs: Bool { outputs.count + (serving == nil ? 0 : 1) > 1 }
}

/// What was asked of the encoder; nil for what suits the pictures.
struct EncodingPlan: Sendable {
    var bitrate: Int?
    var keyFrameInterval: KeyFrameIntervalOption?
    var threads: Int?
}

extension CapturePlan {
    /// Reads the options, in the order of the help.
    init(_ options: CaptureOptions, catalog: CapturerCatalog) throws(OptionError) {
        source = try CapturePlan.source(options, catalog)
        let deviceOption = CapturePlan.deviceOption(options, of: source, catalog)
        let given = CapturePlan.common(options, deviceOption) + options.further.map { ($0.name, $0.values.first) }
        for (name, value) in given where value != nil && source.option(named: name) == nil {
            // A password is not shown.
            throw OptionError(
                "--\(name)", value == "" || name == "login" ? nil : value,
                "\(source.name) has no such option; see capturer-demo list.")
        }
        for option in source.options where option.defaultValue == nil {
            guard let value = given.first(where: { $0.name == option.name })?.value, !value.isEmpty else {
                throw OptionError("--source \(source.name)", nil, "needs --\(option.name), \(option.meaning).")
            }
        }
        if let device = deviceOption == "device" ? options.input.map(cameraName) : options.device {
            try DeviceOption.check(device, of: source)
        }
        request.input = options.input ?? options.device ?? options.display
        for (name, values) in options.further where !values.isEmpty { request.further[name] = values }
        explains = options.explain
        if let text = options.size {
            let size = try PictureSizeOption.parse(text)
            request.size = (size.width, size.height)
        }
        if let text = options.fps { request.rate = try RateOption.parse(text) }
        if let text = options.pixelFormat { request.pixelFormat = try ChoiceOption.pixelFormat(text) }
        if let text = options.seed {
            request.seed = try CountOption.parse(text, option: "--seed", range: 0...UInt64.max)
        }
        if let text = options.orientation { orientation = try ChoiceOption.orientation(text) }
        if let text = options.contentHint { contentHint = try ChoiceOption.contentHint(text) }
        if let text = options.frames {
            frames = try CountOption.parse(text, option: "--frames", range: 1...UInt64(Int64.max))
        }
        if let text = options.duration { duration = try TimeOption.parse(text, option: "--duration") }

        serving = try ServingPlan(options)
        outputs = []
        for text in options.output.isEmpty && serving == nil ? ["capture.webm"] : options.output {
            outputs.append(try OutputName.parse(text))
        }
        let toStandardOutput = outputs.filter(\.isStandardOutput).count
        guard toStandardOutput <= 1 else {
            throw OptionError(
                "--output", nil, "only one output can go to standard output; here are \(toStandardOutput).")
        }
        overwrites = options.force
        keepsGoing = options.keepGoing

        if let text = options.bitrate { encoding.bitrate = try BitrateOption.parse(text) }
        if let text = options.keyframeInterval {
            encoding.keyFrameInterval = try KeyFrameIntervalOption.parse(text)
        }
        if let text = options.threads, text.lowercased() != "auto" {
            encoding.threads = try CountOption.parse(text, option: "--threads", range: 1...64)
        }
        if !outputs.contains(where: \.isEncoded) {
            let settings = [
                ("--bitrate", options.bitrate), ("--keyframe-interval", options.keyframeInterval),
                ("--threads", options.threads),
            ]
            if let (name, value) = settings.first(where: { $0.1 != nil }) {
                throw OptionError(name, value, "no output is encoded; add one that ends in .webm or .ivf.")
            }
        }
        showsPreview = options.preview
        statistics = try options.stats.map { text throws(OptionError) in try ChoiceOption.statistics(text) } ?? .text
        isQuiet = options.quiet
        if isQuiet, let stats = options.stats, statistics != .none {
            throw OptionError("--stats", stats, "does not go with --quiet, which says nothing; leave one out.")
        }
        if showsPreview, statistics == .json {
            throw OptionError("--preview", nil, "does not go with --stats json, since both write to the terminal.")
        }
    }

    /// What was given of the options that ``CaptureRequest`` has a place for.
    private static func common(
        _ options: CaptureOptions, _ deviceOption: String?
    ) -> [(name: String, value: String?)] {
        [
            ("input", deviceOption == nil ? options.input : nil),
            ("device", deviceOption == "device" ? options.input : options.device),
            ("display", deviceOption == "display" ? options.input : options.display),
            ("size", options.size), ("fps", options.fps), ("pixel-format", options.pixelFormat),
            ("seed", options.seed), ("explain", options.explain ? "" : nil),
        ]
    }

    /// The option that could have been given in place of the input, where that is the URL of a device: `--device` or
    /// `--display`.
    private static func deviceOption(
        _ options: CaptureOptions, of source: CapturerEntry, _ catalog: CapturerCatalog
    ) -> String? {
        guard let input = options.input, catalog.entry(forURL: input)?.name == source.name else { return nil }
        if options.device == nil, source.option(named: "device") != nil { return "device" }
        if options.display == nil, source.option(named: "display") != nil { return "display" }
        return nil
    }

    /// The source by its name; without one by the input's scheme, a file for other inputs, and noise without any.
    private static func source(
        _ options: CaptureOptions, _ catalog: CapturerCatalog
    ) throws(OptionError) -> CapturerEntry {
        if let name = options.source {
            return try ChoiceOption.parse(
                name, option: "--source", choices: catalog.entries.map { ($0.name, $0) })
        }
        let telling = [
            ("device", options.device), ("display", options.display), ("monitor", options.monitor),
            ("window", options.window), ("region", options.region),
        ]
        for (name, value) in telling where value != nil {
            if let entry = catalog.entries.first(where: { $0.option(named: name) != nil }) { return entry }
        }
        guard let input = options.input else { return catalog.entries[0] }
        if let entry = catalog.entry(forURL: input) ?? catalog.entry(named: "file") { return entry }
        throw OptionError("--input", input, "say with --source what this is an input of.")
    }
}

extension OutputName {
    /// Whether it takes packets of the encoder rather than pictures.
    var isEncoded: Bool { !format.acceptsFrames }
}
