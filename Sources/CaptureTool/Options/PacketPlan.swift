import MediaPublishing
import PacketCapturing
import VideoCapturing

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
    /// For outputs that need frames; without any, all outputs must take packets.
    var decoders: [VideoDecoderFactory] = []
    /// The options of the source that apply to packets too, besides its input.
    var options: [String] = []
    /// Makes the capture of a request; of a recording with packets at their times, or as fast as the outputs take them.
    var make: @Sendable (_ request: CapturerEntry.Request, _ isPaced: Bool) throws -> Source
}

/// `--codec copy`: the packets of the source are passed on as they come. Outputs that need frames get them from one decoder,
/// where the input has any.
struct PacketPlan: Sendable {
    /// What stands in place of a codec.
    static let codecName = "copy"

    /// Where the packets come from.
    var input: PacketInput
    /// Whether packets come at their times, as of live inputs, and as live outputs need them; otherwise as fast as the outputs
    /// take them.
    var isPaced: Bool

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

    /// Whether a command line asks for it.
    static func isAsked(_ values: OptionValues, _ catalog: ToolCatalog) -> Bool {
        values["codec"]?.lowercased() == codecName && !catalog.packetInputs.isEmpty
    }

    /// Refuses the options that change pictures or sound, or choose how to encode them.
    private static func refuseFrameOptions(
        _ values: OptionValues, _ catalog: ToolCatalog, _ source: CapturerEntry, _ input: PacketInput
    ) throws(OptionError) {
        var names = ["orientation", "content-hint", "audio", "audio-codec", "audio-bitrate"]
        names += EncodingSettings.optionNames.filter { $0 != "codec" } + catalog.encoderGroups.names
        names += MediaPublisher.FrameSettings.options.map(\.name) + catalog.audioGroups.names
        names += source.options.map(\.name).filter { $0 != source.inputOption }
        for name in values.names where names.contains(name) && !input.options.contains(name) {
            // As fast as possible is how packets are copied anyway.
            if name == "fps", values[name]?.lowercased() == "max" { continue }
            // A flag has no value to show.
            let value = values[name].flatMap { $0.isEmpty ? nil : $0 }
            throw OptionError(
                name, value,
                "needs frames, and --codec \(codecName) passes packets on as they are; leave one out.")
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
