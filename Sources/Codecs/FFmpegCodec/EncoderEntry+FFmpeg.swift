public import VideoCapturing

extension EncoderEntry {
    /// The encoders of FFmpeg that suit live video: in software x264, in hardware those of VA-API, NVENC, Quick Sync and
    /// V4L2. `EncoderEntry.problem` says whether this FFmpeg has one of them, and whether it works on this machine. The list
    /// itself makes no call of FFmpeg, so a program that loads FFmpeg late does not load it for the list.
    public static var ffmpeg: [EncoderEntry] {
        let known: [(name: String, summary: String)] = [
            ("libx264", "H.264 by x264, in software"), ("h264_vaapi", "H.264 by VA-API, in Intel's and AMD's graphics"),
            ("h264_nvenc", "H.264 by NVENC, in NVIDIA's graphics"),
            ("h264_qsv", "H.264 by Quick Sync, in Intel's graphics"),
            ("h264_v4l2m2m", "H.264 by V4L2, as of a Raspberry Pi 4"),
        ]
        return known.map { ffmpeg($0.name, $0.summary) }
    }

    private static func ffmpeg(_ name: String, _ summary: String) -> EncoderEntry {
        let device = OptionDescription(
            "encoder-device", .text("PATH"), "the device of a hardware encoder", default: "the first")
        return EncoderEntry(
            name: name, codec: .h264, summary: summary,
            options: [name.hasPrefix("lib") ? .encoderThreads : device] + QualityOptions(encoder: name).descriptions,
            problem: { FFmpegVideoEncoder.failure(of: name)?.message },
            // Four pixels share a sample of color.
            acceptsSize: { min($0.width, $0.height) >= 2 },
            make: { request in
                var configuration = FFmpegVideoEncoder.Configuration(
                    encoder: name, bitrate: request.bitrate, purpose: request.purpose)
                configuration.frameRate = request.frameRate
                if let interval = request.keyFrameInterval { configuration.keyFrameInterval = interval }
                configuration.threads = try request.threads(in: 1...64)
                configuration.quality = try request.quality(quantizers: 1...51)
                configuration.device = request.settings.options["encoder-device"]
                return try FFmpegVideoEncoder(configuration)
            })
    }
}
