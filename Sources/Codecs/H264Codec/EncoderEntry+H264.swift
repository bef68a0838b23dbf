import COpenH264
public import VideoCapturing

extension EncoderEntry {
    /// H.264 by openh264.
    public static let openH264 = EncoderEntry(
        name: "openh264", codec: .h264, summary: "H.264 by openh264, in software and without delay",
        options: [.encoderThreads] + EncoderQuality.options,
        problem: { H264Encoder.failure() }, acceptsSize: { H264EncoderLibrary.accepts($0) },
        make: { request in
            var configuration = H264Encoder.Configuration(
                bitrate: request.bitrate, contentHint: request.contentHint, purpose: request.purpose)
            configuration.frameRate = request.frameRate
            if let interval = request.keyFrameInterval { configuration.keyFrameInterval = interval }
            if let threads = try request.threads(in: 1...16) { configuration.threads = threads }
            configuration.apply(try request.quality(quantizers: 1...51))
            return try H264Encoder(configuration)
        })
}

extension H264Encoder.Configuration {
    fileprivate mutating func apply(_ quality: EncoderQuality) {
        if let minimum = quality.minimumQuantizer { minimumQuantizer = minimum }
        if let maximum = quality.maximumQuantizer { maximumQuantizer = maximum }
        minimumQuantizer = min(minimumQuantizer, maximumQuantizer)
        if let isVariable = quality.isVariableBitrate { isVariableBitrate = isVariable }
        // It has three speeds; the default is the fastest.
        if let speed = quality.speed { complexity = speed <= 5 ? .high : speed <= 10 ? .medium : .low }
        guard let constant = quality.constantQuantizer else { return }
        (minimumQuantizer, maximumQuantizer) = (constant, constant)
        dropsFrames = false
    }
}

extension H264Encoder {
    /// Why openh264 does not work on this machine, in a sentence for the user; nil when it encodes a small frame.
    static func failure() -> String? {
        do {
            let buffer = try PixelBuffer.black(.nv12, width: 64, height: 48, color: .bt601)
            let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 100_000))
            var bytes = 0
            try encoder.encode(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now)) { bytes += $0.data.count }
            return bytes > 0 ? nil : "openh264 gives no packet of a frame; reinstall it (libopenh264-7)."
        } catch {
            return "\(error)"
        }
    }
}

extension Finding {
    /// The version of openh264, and whether it encodes on this machine.
    package static func openH264() -> Finding {
        let version = WelsGetCodecVersion()
        let text = "\(version.uMajor).\(version.uMinor).\(version.uRevision)"
        guard let failure = H264Encoder.failure() else {
            return Finding("libraries", "openh264", .ok, "\(text); H.264 encodes")
        }
        return Finding(
            "libraries", "openh264", .broken, "\(text); H.264 does not work: \(failure)",
            remedy: "sudo apt-get install --reinstall libopenh264-7, and run this again.")
    }
}
