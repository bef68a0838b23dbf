import CLibVPX
public import VideoCapturing

extension EncoderEntry {
    /// VP8 by libvpx.
    public static let vp8 = EncoderEntry(
        name: "vp8", codec: .vp8, summary: "VP8 by libvpx, in software",
        options: [.encoderThreads, .temporalLayers] + EncoderQuality.options,
        make: { request in
            var configuration = VP8Encoder.Configuration(
                bitrate: request.bitrate, contentHint: request.contentHint, purpose: request.purpose)
            configuration.frameRate = request.frameRate
            if let interval = request.keyFrameInterval { configuration.keyFrameInterval = interval }
            configuration.threads = try request.threads(in: 1...64)
            configuration.temporalLayers = try request.settings.options.count("temporal-layers", in: 1...3) ?? 1
            configuration.apply(try request.quality(quantizers: 0...63))
            return try VP8Encoder(configuration)
        })
}

extension OptionDescription {
    /// The number of temporal layers: `--temporal-layers`. Outputs with a bandwidth of their own ask for layers by this name.
    fileprivate static let temporalLayers = OptionDescription(
        "temporal-layers", .text("N"), "temporal layers, 1 to 3; servers can leave out the higher ones",
        default: "1; for WebRTC 3, of screens 1")
}

extension VP8Encoder.Configuration {
    fileprivate mutating func apply(_ quality: EncoderQuality) {
        if let minimum = quality.minimumQuantizer { minimumQuantizer = minimum }
        maximumQuantizer = quality.maximumQuantizer ?? max(maximumQuantizer, minimumQuantizer)
        minimumQuantizer = min(minimumQuantizer, maximumQuantizer)
        if let isVariable = quality.isVariableBitrate { isVariableBitrate = isVariable }
        if let speed = quality.speed { self.speed = -speed }
        guard let constant = quality.constantQuantizer else { return }
        (minimumQuantizer, maximumQuantizer) = (constant, constant)
        // No frame should be left out for the sake of a bitrate.
        isVariableBitrate = true
        dropFrameThreshold = 0
    }
}

extension Finding {
    /// The version of libvpx, and whether it encodes and decodes on this machine.
    package static func vp8() -> Finding {
        let version = String(cString: vpx_codec_version_str())
        do {
            let bytes = try encodedBytes()
            return Finding("libraries", "libvpx", .ok, "\(version); VP8 encodes and decodes (\(bytes) bytes)")
        } catch {
            return Finding(
                "libraries", "libvpx", .broken, "\(version); VP8 does not work: \(error)",
                remedy: "sudo apt-get install --reinstall libvpx7, and run this again.")
        }
    }

    /// Encodes a small frame and decodes it again.
    ///
    /// - Returns: the number of encoded bytes.
    private static func encodedBytes() throws -> Int {
        let buffer = try PixelBuffer.black(.nv12, width: 64, height: 48, color: .bt601)
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 100_000))
        let decoder = try VP8Decoder()
        var bytes = 0
        var frames = 0
        try encoder.encode(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now)) { packet in
            bytes += packet.data.count
            try packet.data.withUnsafeBytes { data in try decoder.decode(data) { _ in frames += 1 } }
        }
        guard frames == 1 else {
            throw CodecError(
                .library, operation: "encode a frame", subject: "VP8", message: "One frame was decoded as \(frames).")
        }
        return bytes
    }
}
