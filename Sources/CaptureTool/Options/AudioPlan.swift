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

    /// The sound that `--audio` asks for; nil without it, and for `none`.
    ///
    /// - Throws: the error of a value, and of an option that has no effect.
    init?(_ values: OptionValues, _ catalog: ToolCatalog) throws(OptionError) {
        let names = catalog.audioGroups.names + ["audio-bitrate"]
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
        encoding = AudioEncodingSettings(
            bitrate: try values.bitrate("audio-bitrate"),
            options: values.filter { name in
                catalog.audioEncoders.contains { $0.options.contains { $0.name == name } }
            })
    }
}

extension CapturePlan {
    /// Whether no output takes pictures.
    ///
    /// - Throws: the error of outputs that do not fit the sound.
    static func isSoundAlone(_ outputs: [PlannedOutput], _ audio: AudioPlan?) throws(OptionError) -> Bool {
        var takesPictures = false
        var takesSound = false
        for output in outputs {
            let made = try output.makeOutput()
            if made.feed == .noVideo {
                guard audio != nil else {
                    throw OptionError(output.given.option, output.given.text, "is for sound; add --audio.")
                }
            } else {
                takesPictures = true
            }
            if made.audioFeed != nil { takesSound = true }
        }
        guard let audio, !takesSound else { return !takesPictures }
        throw OptionError(
            "audio", audio.source.name, "no output takes sound; add one such as -o capture.webm or -o voice.wav.")
    }
}
