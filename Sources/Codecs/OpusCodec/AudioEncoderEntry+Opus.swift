public import AudioCapturing
import COpus

extension AudioEncoderEntry {
    /// Opus by libopus.
    public static let opus = AudioEncoderEntry(
        name: "opus", codec: .opus, summary: "Opus by libopus, in software",
        options: [
            OptionDescription(
                "opus-application", .choice(OpusEncoder.Configuration.Application.allCases.map(\.rawValue)),
                "the kind of sound", default: "audio"),
            OptionDescription(
                "opus-complexity", .text("N"), "the processor time to spend, 0 to 10", default: "9"),
        ],
        make: { request in
            guard request.format.channels.count <= 2 else {
                throw OptionError(
                    "audio", nil,
                    "Opus has one or two channels, and the source gives \(request.format.channels.count); record two, or all of "
                        + "them as samples, as in -o voice.wav.")
            }
            var configuration = OpusEncoder.Configuration(
                format: request.format, bitrate: request.settings.bitrate,
                rateControl: request.isLive ? .constrained : .variable)
            let options = request.settings.options
            if let name = options["opus-application"] {
                guard let application = OpusEncoder.Configuration.Application(rawValue: name) else {
                    let names = OpusEncoder.Configuration.Application.allCases.map(\.rawValue)
                    throw OptionError("opus-application", name, "use one of \(names.joined(separator: ", ")).")
                }
                configuration.application = application
            }
            if let complexity = try options.count("opus-complexity", in: 0...10) {
                configuration.complexity = complexity
            }
            return try OpusEncoder(configuration)
        })
}

extension Finding {
    /// The version of libopus, and whether it encodes and decodes on this machine.
    package static func opus() -> Finding {
        let version = String(cString: opus_get_version_string())
        do {
            let bytes = try encodedBytes()
            return Finding("libraries", "libopus", .ok, "\(version); Opus encodes and decodes (\(bytes) bytes)")
        } catch {
            return Finding(
                "libraries", "libopus", .broken, "\(version); Opus does not work: \(error)",
                remedy: "sudo apt-get install --reinstall libopus0, and run this again.")
        }
    }

    /// Encodes 20 ms of silence and decodes them again.
    ///
    /// - Returns: the number of encoded bytes.
    private static func encodedBytes() throws -> Int {
        let silence = try AudioBufferPool(capacity: 1).makeSilence(.float48kStereo, frameCount: 960)
        let encoder = try OpusEncoder(OpusEncoder.Configuration(format: .float48kStereo))
        guard let header = encoder.track?.decoderConfiguration else {
            throw CodecError(.library, operation: "encode sound", subject: "Opus", message: "The track has no header.")
        }
        let decoder = try OpusDecoder(header)
        var bytes = 0
        var frames = 0
        let take = { (packet: MediaPacket) throws in
            bytes += packet.data.count
            try packet.data.withUnsafeBytes { data in try decoder.decode(data) { frames += $0.count / 2 } }
        }
        try encoder.encode(AudioChunk(buffer: silence, timestamp: MonotonicClock().now), output: take)
        try encoder.flush(output: take)
        guard frames >= 960 else {
            throw CodecError(
                .library, operation: "encode sound", subject: "Opus",
                message: "960 frames were decoded as \(frames).")
        }
        return bytes
    }
}
