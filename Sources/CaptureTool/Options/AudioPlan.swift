import AudioCapturing
import MediaPublishing
import VideoCapturing

/// The sound of a capture, as the options describe it.
struct AudioPlan: Sendable {
    var source: AudioCapturerEntry
    var request: AudioCapturerEntry.Request
    var encoding: AudioEncodingSettings
    /// What the program encodes sound with.
    var encoders: [AudioEncoderEntry]

    /// The options that say how to encode; encoders have further ones.
    private static let encodingOptions = ["audio-codec", "audio-bitrate"]

    /// The sound that `--audio` asks for; nil without it, and for `none`.
    ///
    /// - Parameter mayHaveOwn: whether the source of the pictures may have sound, whose encoding can be set as well.
    /// - Throws: the error of a value, and of an option that has no effect.
    init?(_ values: OptionValues, _ catalog: ToolCatalog, mayHaveOwn: Bool) throws(OptionError) {
        let isOwn = mayHaveOwn && values["audio"] == nil
        if isOwn { try AudioPlan.refuseOptionsOfSources(values, catalog) }
        let names = isOwn ? [] : catalog.audioGroups.names + AudioPlan.encodingOptions
        guard let text = values["audio"], text.lowercased() != "none" else {
            // Options that outputs or sources of pictures have too are theirs.
            if let name = names.first(where: { values.contains($0) }) {
                throw OptionError(name, values[name], "has no effect without sound; add --audio.")
            }
            return nil
        }
        guard let (entry, request) = catalog.audioSources.find(text) else {
            let known = catalog.audioSources.names + ["none"]
            let guess = nearestName(to: text, in: known).map { " Did you mean \($0)?" } ?? ""
            throw OptionError("audio", text, "unknown.\(guess) Choose one of \(known.joined(separator: ", ")).")
        }
        let foreign = catalog.audioSources.entries.filter { $0.name != entry.name }.flatMap(\.options).map(\.name)
        let own = entry.options.map(\.name)
        if let name = foreign.first(where: { values.contains($0) && !own.contains($0) }) {
            throw OptionError(name, values[name], "\(entry.name) has no such option.")
        }
        source = entry
        self.request = request
        self.request.options = values.filter { own.contains($0) }
        encoders = catalog.audioEncoders
        encoding = try AudioPlan.encoding(values, catalog)
    }

    /// Refuses options of sources of sound where the input's own sound is taken.
    private static func refuseOptionsOfSources(_ values: OptionValues, _ catalog: ToolCatalog) throws(OptionError) {
        for source in catalog.audioSources.entries {
            guard let option = source.options.first(where: { values.contains($0.name) }) else { continue }
            throw OptionError(
                option.name, values[option.name], "has no effect on the sound of the input; add --audio \(source.name)."
            )
        }
    }

    /// The sound that belongs to the pictures of a source.
    fileprivate init(_ capture: any AudioCapture, of name: String, _ sound: OwnSound) {
        source = AudioCapturerEntry(name: name, summary: "") { _ in AudioCatalogSource(capture) }
        request = AudioCapturerEntry.Request()
        encoding = sound.encoding
        encoders = sound.encoders
    }

    /// Refuses options of encoders of sound that no output uses.
    static func check(
        _ outputs: [PlannedOutput], _ values: OptionValues, _ catalog: ToolCatalog
    ) throws(OptionError) {
        let wanted = try encoding(values, catalog).codec
        var codecs: [Codec] = []
        for output in outputs {
            guard case .packets(let taken) = try output.makeOutput().feedOfSound else { continue }
            let offered = taken.filter { codec in catalog.audioEncoders.contains { $0.codec == codec } }
            if let codec = offered.first(where: { $0 == wanted }) ?? offered.first { codecs.append(codec) }
        }
        let unused = catalog.audioEncoders.filter { !codecs.contains($0.codec) }
        let isEncoded = codecs.contains { $0 != .pcm }
        let names = unused.flatMap(\.options).map(\.name) + (isEncoded ? [] : ["audio-bitrate"])
        if isEncoded, let wanted, !codecs.contains(wanted) {
            let taken = codecs.filter { $0 != .pcm }.map(\.rawValue).joined(separator: " and ")
            throw OptionError(
                "audio-codec", wanted.rawValue, "no output takes it; these take \(taken). Leave it out.")
        }
        guard let name = (names + (isEncoded ? [] : ["audio-codec"])).first(where: { values.contains($0) }) else {
            return
        }
        throw OptionError(
            name, values[name], "no output encodes sound so; leave it out, or add an output such as -o voice.weba.")
    }

    fileprivate static func encoding(
        _ values: OptionValues, _ catalog: ToolCatalog
    ) throws(OptionError) -> AudioEncodingSettings {
        AudioEncodingSettings(
            codec: try values.choice("audio-codec", ToolOptions.audioCodecs(catalog).map { ($0.rawValue, $0) }),
            bitrate: try values.bitrate("audio-bitrate"),
            options: values.filter { name in
                catalog.audioEncoders.contains { $0.options.contains { $0.name == name } }
            })
    }
}

/// How to encode the sound that a source of pictures may have, where no other is asked for.
struct OwnSound: Sendable {
    var encoding: AudioEncodingSettings
    var encoders: [AudioEncoderEntry]
    /// Nil where the source has none, another is asked for, or no output takes it.
    init?(
        _ values: OptionValues, _ catalog: ToolCatalog, of source: CapturerEntry, outputs: [PlannedOutput]
    ) throws(OptionError) {
        guard source.mayHaveSound, values["audio"] == nil else { return nil }
        var isTaken = false
        for output in outputs where try output.makeOutput().feedOfSound != nil { isTaken = true }
        guard isTaken else { return nil }
        encoding = try AudioPlan.encoding(values, catalog)
        encoders = catalog.audioEncoders
    }
}

extension CapturePlan {
    /// Takes the sound of the source itself, where it has some.
    ///
    /// - Throws: the error of outputs that are for sound alone, where it has none.
    mutating func adoptSound(of source: CatalogSource) throws(OptionError) {
        guard let ownSound else { return }
        if let sound = (source.capture as? any SoundOwner)?.makeSound(isAlone: isSoundAlone) {
            audio = AudioPlan(sound, of: self.source.name, ownSound)
        } else if isSoundAlone {
            let name = source.inputPath ?? self.source.name
            throw OptionError("output", nil, "takes sound alone, and \(name) has none in real time; add --audio.")
        }
    }

    /// Whether no output takes pictures.
    ///
    /// - Throws: the error of outputs that do not fit the sound.
    static func isSoundAlone(
        _ outputs: [PlannedOutput], _ audio: AudioPlan?, mayHaveOwn: Bool, _ values: OptionValues,
        _ catalog: ToolCatalog
    ) throws(OptionError) -> Bool {
        var takesPictures = false
        var takesSound = false
        var reasons: [String] = []
        for output in outputs {
            let made = try output.makeOutput()
            if made.feed == .noVideo {
                guard audio != nil || mayHaveOwn else {
                    throw OptionError(
                        output.given.option, output.given.text, "is for sound; \(soundAdvice(values, catalog)).")
                }
            } else {
                takesPictures = true
            }
            if made.feedOfSound != nil { takesSound = true }
            if let reason = made.silenceReason { reasons.append(reason) }
        }
        guard let audio, !takesSound else { return !takesPictures }
        let why = reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"
        throw OptionError(
            "audio", audio.source.name,
            "no output takes sound\(why); add one such as -o capture.webm or -o voice.wav.")
    }

    /// How to name the source of the sound: the address of a radio is no input.
    private static func soundAdvice(_ values: OptionValues, _ catalog: ToolCatalog) -> String {
        guard let input = values["input"], urlScheme(of: input) != nil, catalog.audioSources.find(input) != nil else {
            return "add --audio"
        }
        return "give the address of a radio as --audio \(maskingSecrets(inURL: input)), not as --input"
    }
}
