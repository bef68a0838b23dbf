import FrameProcessing
import MediaContainers
import VP8Codec
import VideoCapturing

/// A capture as the options describe it, checked as far as possible without opening anything.
struct CapturePlan: Sendable {
    var source: CapturerEntry
    var request = CaptureRequest()
    /// Whether to print how the source chose its mode.
    var explains = false
    var orientation = VideoOrientation.up
    var contentHint: VideoContentHint?
    var frames: UInt64?
    var duration: Duration?
    var outputs: [OutputName]
    var overwrites: Bool
    /// Whether the other outputs continue when one fails.
    var keepsGoing: Bool
    var encoding = EncodingPlan()
    /// The settings of the server; nil for none.
    var serving: ServingPlan?
    var showsPreview: Bool
    var statistics: StatisticsStyle
    var isQuiet: Bool

    /// Whether a stalled output would block others.
    var hasSeveralOutputs: Bool { outputs.count + (serving == nil ? 0 : 1) > 1 }
}

/// The given settings of the encoder; nil for defaults that depend on the frames.
struct EncodingPlan: Sendable {
    var bitrate: Int?
    var keyFrameInterval: KeyFrameIntervalOption?
    var threads: Int?
}

extension CapturePlan {
    /// Parses the options, in the order of the help.
    init(_ options: CaptureOptions, catalog: CapturerCatalog) throws(OptionError) {
        source = try CapturePlan.source(options, catalog)
        let deviceOption = CapturePlan.deviceOption(options, of: source, catalog)
        let given = CapturePlan.common(options, deviceOption) + options.further.map { ($0.name, $0.values.first) }
        for (name, value) in given where value != nil && source.option(named: name) == nil {
            // Passwords are not shown.
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
                "--output", nil, "only one output can go to standard output; \(toStandardOutput) were given.")
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
            throw OptionError("--stats", stats, "cannot be combined with --quiet; leave one out.")
        }
        if showsPreview, statistics == .json {
            throw OptionError(
                "--preview", nil, "cannot be combined with --stats json, since both write to the terminal.")
        }
    }

    /// The given values of the options that ``CaptureRequest`` has members for.
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

    /// The option that the input stands for when it is the URL of a device: `--device` or `--display`.
    private static func deviceOption(
        _ options: CaptureOptions, of source: CapturerEntry, _ catalog: CapturerCatalog
    ) -> String? {
        guard let input = options.input, catalog.entry(forURL: input)?.name == source.name else { return nil }
        if options.device == nil, source.option(named: "device") != nil { return "device" }
        if options.display == nil, source.option(named: "display") != nil { return "display" }
        return nil
    }

    /// The source: by its name, by an option that only it has, or by the input's scheme; a file for other inputs, and
    /// noise without an input.
    private static func source(
        _ options: CaptureOptions, _ catalog: CapturerCatalog
    ) throws(OptionError) -> CapturerEntry {
        if let name = options.source {
            return try ChoiceOption.parse(
                name, option: "--source", choices: catalog.entries.map { ($0.name, $0) })
        }
        let distinctive = [
            ("device", options.device), ("display", options.display), ("monitor", options.monitor),
            ("window", options.window), ("region", options.region),
        ]
        for (name, value) in distinctive where value != nil {
            if let entry = catalog.entries.first(where: { $0.option(named: name) != nil }) { return entry }
        }
        guard let input = options.input else { return catalog.entries[0] }
        if let entry = catalog.entry(forURL: input) ?? catalog.entry(named: "file") { return entry }
        throw OptionError("--input", input, "add --source, to say which source reads this input.")
    }
}

extension OutputName {
    /// Whether it takes packets of the encoder rather than frames.
    var isEncoded: Bool { !format.acceptsFrames }
}

/// Checks the name of a device.
enum DeviceOption {
    /// Throws for an empty name, which a script passes when a variable is not set: it means neither a device nor the
    /// default.
    static func check(_ text: String, of source: CapturerEntry) throws(OptionError) {
        guard text.allSatisfy(\.isWhitespace), let option = source.option(named: "device") else { return }
        let instead = option.defaultValue.map { ", or leave it out for \($0)" } ?? ""
        throw OptionError("--device", text, "names no device; give \(option.meaning)\(instead).")
    }
}

extension EncodingPlan {
    /// The encoder's configuration for frames of a format.
    func configuration(for format: VideoFormat, rate: FrameRate, hint: VideoContentHint) -> VP8EncoderConfiguration {
        let suggested = VP8EncoderConfiguration.suggestedBitrate(
            width: format.imageWidth, height: format.imageHeight, frameRate: rate)
        var configuration = VP8EncoderConfiguration(bitrate: bitrate ?? suggested, contentHint: hint, purpose: .file)
        configuration.frameRate = rate
        configuration.threads = threads
        if let keyFrameInterval { configuration.keyFrameInterval = keyFrameInterval.duration(at: rate) }
        return configuration
    }
}
