public import VideoCapturing

extension EncoderEntry {
    /// VP8 by libvpx.
    public static let vp8 = EncoderEntry(
        name: "vp8", codec: .vp8, summary: "VP8 by libvpx, in software",
        options: [
            OptionDescription("threads", .text("N"), "threads of the encoder, 1 to 64, or auto", default: "auto")
        ],
        make: { request in
            var configuration = VP8Encoder.Configuration(
                bitrate: request.bitrate, contentHint: request.contentHint, purpose: request.purpose)
            configuration.frameRate = request.frameRate
            if let interval = request.keyFrameInterval { configuration.keyFrameInterval = interval }
            if request.settings.options["threads"]?.lowercased() != "auto" {
                configuration.threads = try request.settings.options.count("threads", in: 1...64)
            }
            return try VP8Encoder(configuration)
        })
}
