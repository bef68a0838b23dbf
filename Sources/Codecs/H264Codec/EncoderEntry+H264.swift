public import VideoCapturing

extension EncoderEntry {
    /// H.264 by openh264.
    public static let openH264 = EncoderEntry(
        name: "openh264", codec: .h264, summary: "H.264 by openh264, in software and without delay",
        options: [
            OptionDescription("threads", .text("N"), "threads of the encoder, 1 to 64, or auto", default: "auto")
        ],
        make: { request in
            var configuration = H264Encoder.Configuration(
                bitrate: request.bitrate, contentHint: request.contentHint, purpose: request.purpose)
            configuration.frameRate = request.frameRate
            if let interval = request.keyFrameInterval { configuration.keyFrameInterval = interval }
            if request.settings.options["threads"]?.lowercased() != "auto",
                let threads = try request.settings.options.count("threads", in: 1...16)
            {
                configuration.threads = threads
            }
            return try H264Encoder(configuration)
        })
}
