import MediaPublishing
import PacketCapturing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How the tool captures the packets of one of its sources.
struct PacketInput: Sendable {
    /// A capture of packets, and what the tool has to do with it besides.
    struct Source {
        var capture: any PacketCapture
        /// Sets the handler that is called with sentences for the user.
        var setNoticeHandler: (@escaping @Sendable (String) -> Void) -> Void = { _ in }
        /// In place of those of the source of frames; nil for those.
        var explanation: (@Sendable () -> [String])?
        var isInputAtFault: (@Sendable () -> Bool)?
    }

    /// Whether packets come when they come; otherwise they are of a recording, and read when they are wanted.
    var isLive = true
    /// Whether they are passed on without `--codec copy`, where outputs lack nothing then.
    var passesUnasked = false
    /// For outputs that need frames; without any, all outputs must take packets.
    var decoders: [VideoDecoderFactory] = []
    /// The options of the source that apply to packets too, besides its input.
    var options: [String] = []
    /// Makes the capture of a request; of a recording with packets at their times, or as fast as the outputs take them.
    var make: @Sendable (_ request: CapturerEntry.Request, _ isPaced: Bool) throws -> Source
}

/// `--codec copy`: the packets of the source are passed on as they come. Outputs that need frames get them from one decoder,
/// where the input has any. Without `--codec` the same, where no option asks for frames, for files, and from live
/// inputs for servers that are sent a stream.
struct PacketPlan: Sendable {
    /// What stands in place of a codec.
    static let codecName = "copy"
    /// As if none was given.
    static let automaticName = "auto"

    /// Where the packets come from.
    var input: PacketInput
    /// Whether packets come at their times, as of live inputs, and as live outputs need them; otherwise as fast as the outputs
    /// take them.
    var isPaced: Bool
    /// Whether it was not asked for, so that outputs may be encoded.
    var isAutomatic = false

    /// The plan of a command line; nil where it encodes.
    ///
    /// - Throws: the error of a source or an output without packets, and of an option that needs frames.
    init?(
        _ values: OptionValues, _ catalog: ToolCatalog, _ source: CapturerEntry, _ outputs: [PlannedOutput]
    ) throws(OptionError) {
        guard PacketPlan.isAsked(values, catalog) else { return nil }
        guard let input = catalog.packetInputs[source.name] else {
            let known = catalog.packetInputs.keys.sorted().joined(separator: ", ")
            throw OptionError(
                "codec", PacketPlan.codecName,
                "\(source.name) gives frames, which have to be encoded; choose a codec, or one of the sources \(known)."
            )
        }
        self.input = input
        try PacketPlan.refuseFrameOptions(values, catalog, source, input)
        isPaced = input.isLive
        for output in outputs {
            let isAsItIs = output.frames == MediaPublisher.FrameSettings() && output.encoding == nil
            guard isAsItIs || !input.decoders.isEmpty else {
                throw OptionError(
                    output.given.option, output.given.text,
                    "size, fps, text and encoding of an output need frames, and --codec copy passes packets on; leave one "
                        + "out.")
            }
            if try output.makeOutput().feed.isLive { isPaced = true }
        }
    }

    /// The plan of a command line that does not ask for it; nil where frames are wanted.
    ///
    /// - Throws: the error of an output.
    static func automatic(
        _ values: OptionValues, _ catalog: ToolCatalog, _ source: CapturerEntry, _ text: String?,
        _ outputs: [PlannedOutput], _ recorder: RecorderPlan?
    ) throws(OptionError) -> PacketPlan? {
        guard let input = catalog.packetInputs[source.name], input.passesUnasked, let text,
            firstFrameOption(values, catalog, source, input) == nil, values["frames"] == nil, values["audio"] == nil
        else { return nil }
        // Not all formats that can be named are read as packets.
        if input.isLive, text.contains("format=") { return nil }
        // Clips of a file that is not played at its rate would not be those of its events.
        if let recorder, !input.isLive || recorder.takesStills || recorder.kinds.contains(.sound) { return nil }
        var isTaken = false
        var isLive = input.isLive
        for output in outputs {
            let feed = try output.makeOutput().feed
            isLive = isLive || feed.isLive
            guard output.frames == MediaPublisher.FrameSettings(), output.encoding == nil,
                case .packets(let packets) = feed,
                packets.purpose == .file || input.isLive && packets.takesKeyFramesAsTheyCome
            else { continue }
            // The codec of a stream is known when it comes.
            if !input.isLive || packets.codecs.contains(.h264) { isTaken = true }
        }
        guard isTaken else { return nil }
        return PacketPlan(input: input, isPaced: isLive && values["fps"]?.lowercased() != "max", isAutomatic: true)
    }

    private init(input: PacketInput, isPaced: Bool, isAutomatic: Bool) {
        self.input = input
        self.isPaced = isPaced
        self.isAutomatic = isAutomatic
    }

    /// Why the packets of a file do not suit the outputs; nil where they do. Reads the beginning of the file.
    ///
    /// - Throws: the error of an output.
    func reasonToDecode(_ path: String?, _ plan: CapturePlan, _ outputs: [any MediaOutput]) throws -> String? {
        guard let path, PacketPlan.isRegular(path) else { return "the input can be read only once." }
        var request = plan.request
        request.input = path
        var settings = MediaPublisher.Settings()
        settings.mayEncode = true
        let publisher = MediaPublisher(
            packets: try input.make(request, isPaced).capture, decoders: input.decoders, settings: settings)
        defer { publisher.close() }
        for (planned, output) in zip(plan.outputs, outputs) {
            try publisher.add(output, encoding: planned.encoding, frames: planned.frames)
        }
        do {
            try publisher.initCapture()
        } catch {
            return error.message
        }
        return publisher.reasonToDecode
    }

    private static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether a command line asks for it.
    static func isAsked(_ values: OptionValues, _ catalog: ToolCatalog) -> Bool {
        values["codec"]?.lowercased() == codecName && !catalog.packetInputs.isEmpty
    }

    /// Refuses the options that change pictures or sound, or choose how to encode them.
    private static func refuseFrameOptions(
        _ values: OptionValues, _ catalog: ToolCatalog, _ source: CapturerEntry, _ input: PacketInput
    ) throws(OptionError) {
        guard let name = firstFrameOption(values, catalog, source, input) else { return }
        // A flag has no value to show.
        let value = values[name].flatMap { $0.isEmpty ? nil : $0 }
        throw OptionError(
            name, value, "needs frames, and --codec \(codecName) passes packets on as they are; leave one out.")
    }

    private static func firstFrameOption(
        _ values: OptionValues, _ catalog: ToolCatalog, _ source: CapturerEntry, _ input: PacketInput
    ) -> String? {
        var names = ["orientation", "content-hint", "audio", "audio-codec", "audio-bitrate"]
        names += EncodingSettings.optionNames.filter { $0 != "codec" } + catalog.encoderGroups.names
        names += MediaPublisher.FrameSettings.options.map(\.name) + catalog.audioGroups.names
        names += source.options.map(\.name).filter { $0 != source.inputOption }
        return values.names.first { name in
            // As fast as possible is how packets are copied anyway.
            names.contains(name) && !input.options.contains(name)
                && !(name == "fps" && values[name]?.lowercased() == "max")
        }
    }
}

extension OutputContext.Feed {
    /// Whether it goes to somebody who watches, who needs it at its times; otherwise all of it counts, as in a file.
    fileprivate var isLive: Bool {
        switch self {
        case .packets(let feed): feed.purpose == .live
        case .frames(let feed): feed.queue.map { $0.policy != .block } ?? false
        case .noVideo: false
        }
    }
}
