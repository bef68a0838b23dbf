import VideoCapturing

/// What other programs call something that the tool calls otherwise, or does not have, with what to do instead.
///
/// A name that the catalog has is never looked up here, so an entry does no harm once the tool has it.
enum NamesElsewhere {
    /// A name of an option that ffmpeg, GStreamer, uStreamer or rpicam-vid has, and the option here.
    ///
    /// - Parameter name: the name without dashes; what follows a colon, as in `c:v`, counts where that is listed.
    static func option(_ name: String) -> String? {
        let name = name.lowercased()
        let stem = name.split(separator: ":").first.map(String.init) ?? name
        return (options.first { $0.words.contains(name) } ?? options.first { $0.words.contains(stem) })?.here
    }

    /// What to do in place of an output that the catalog has not; nil for an unknown name.
    static func output(_ place: String) -> String? {
        let word = place.lowercased()
        let scheme = word.firstIndex(of: ":").map { String(word[..<$0]) }
        let ending = word.lastIndex(of: ".").map { String(word[word.index(after: $0)...]) }
        return [scheme, ending, word].compactMap(\.self).lazy.compactMap { advice($0, outputs) }.first
            ?? (word.hasPrefix("/dev/video") ? advice("v4l2loopback", outputs) : nil)
    }

    /// The sentence for the URL of an input whose scheme no source has.
    static func input(_ scheme: String, _ catalog: ToolCatalog) -> String {
        if let advice = advice(scheme, inputs) { return advice }
        let schemes = catalog.sources.entries.flatMap { $0.inputOption == nil ? [] : $0.schemes }
        return "no source has the scheme \(scheme). There are \(schemes.joined(separator: ", "))."
    }

    /// What to do in place of a server of RTSP or RTMP, for which `rtsp://0.0.0.0:8554/cam` is meant; nil for another output.
    static func server(_ place: String) -> String? {
        guard let scheme = urlScheme(of: place), ["rtsp", "rtsps", "rtmp", "rtmps"].contains(scheme) else { return nil }
        let host = place.dropFirst(scheme.utf8.count + 3).prefix { $0 != "/" }
        guard ["0.0.0.0", "[::]", "*", ""].contains(where: { host == $0 || host.hasPrefix("\($0):") }) else {
            return nil
        }
        if scheme == "rtsp" {
            if place.contains("?listen") { return nil }
            return "to serve RTSP, add ?listen, as in -o '\(place)?listen', or use --serve-rtsp 0.0.0.0:8554."
        }
        return
            "no server of \(scheme.uppercased()) is offered; name one that runs, such as MediaMTX or go2rtc. Recorders can also "
            + "read --serve 0.0.0.0:8080 at /stream, and players -o 'tcp://0.0.0.0:9000?listen'."
    }

    /// Throws for a source, codec, encoder or sound that other programs have, with what to do instead.
    ///
    /// - Parameters:
    ///   - values: the values of the command line, or those behind one output.
    ///   - catalog: what the tool has.
    static func check(_ values: OptionValues, _ catalog: ToolCatalog) throws(OptionError) {
        let known: [(option: String, names: [String], table: [Advice])] = [
            ("source", catalog.sources.names, sources), ("codec", catalog.codecNames, codecs),
            ("encoder", catalog.encoders.map(\.name), codecs), ("size", [], sizes),
        ]
        for (option, names, table) in known {
            guard let text = values[option], !names.contains(text.lowercased()),
                let advice = advice(text.lowercased(), table)
            else { continue }
            throw OptionError(option, text, advice)
        }
    }

    /// What to say of a word that stands alone, such as a format of ffmpeg.
    static func operand(_ word: String) -> String? { advice(word.lowercased(), operands) }

    private typealias Advice = (words: [String], advice: String)

    private static func advice(_ word: String, _ table: [Advice]) -> String? {
        table.first { $0.words.contains(word) }?.advice
    }

    private static let options: [(words: [String], here: String)] = [
        (["serve-password", "passwd", "password", "user"], "--serve-login, or --login for a network camera"),
        (["resolution", "width", "height", "s", "video-size", "video_size"], "--size"),
        (["framerate", "frame-rate", "r"], "--fps"), (["timeout", "time", "t"], "--duration"),
        (["ss", "seek"], "--start, and --end for the end (of a file)"), (["to"], "--end (of a file)"),
        (["stream_loop"], "--loop"), (["re"], "the pace of the file, without an option; --fps max for full speed"),
        (["rotation", "rotate"], "--orientation"), (["b:a", "ab"], "--audio-bitrate"),
        (["c:a", "acodec"], "the codec that the output takes; there is no option for it"),
        (["vcodec", "c"], "--codec; --codec copy passes packets on as they are"),
        (["b"], "--bitrate"), (["crf", "qp", "q:v", "global_quality"], "--quality"),
        (["qmin"], "--min-quantizer"), (["qmax"], "--max-quantizer"),
        (["preset", "cpu-used", "deadline"], "--speed, from 1 (slow and good) to 16 (fast)"),
        (["pix_fmt", "pix-fmt"], "--pixel-format"), (["an"], "--audio none"),
        (["vn"], "an output for sound alone, such as -o voice.wav"), (["vframes", "frames:v"], "--frames"),
        (
            ["vf", "filter", "filter_complex", "lavfi"],
            "--orientation, --overlay, and behind an output: -o a.webm,size=…,crop=…,fit=…,fps=…"
        ),
        (["ar"], "--mic-rate"), (["ac"], "--mic-channels"), (["loglevel", "hide_banner", "nostats"], "--quiet"),
        (["progress"], "--stats json, or --stats-file FILE"), (["segment_time"], "--split TIME"),
        (["intra", "gop", "g"], "--keyframe-interval"), (["host", "port", "p"], "--serve [ADDRESS:]PORT"),
        (["overwrite", "y"], "--force"), (["d"], "--device"), (["timelapse"], "--burst N --burst-interval TIME"),
        (["map"], "--audio none for pictures alone, or an output for sound alone, such as -o voice.m4a"),
        (["movflags"], "not needed: MP4 survives a crash, and has its index at the beginning when it is finished"),
        (["nopreview", "n"], "not needed: nothing is shown without --preview"),
    ]

    private static let outputs: [Advice] = [
        (
            ["v4l2loopback", "video4linux2", "camera"],
            "a camera for other programs is -o v4l2:/dev/video20, by v4l2loopback, or -o pipewire:NAME."
        ),
        (["ndi"], "NDI is not supported. Send SRT, as in -o srt://host:9000, or RTMP, which OBS and vMix take."),
        (
            ["webrtc", "rtc"],
            "name the protocol of the server: -o whip:https://host/room, or -o janus:…; --serve PORT shows a page with WebRTC."
        ),
        (["whep"], "viewers use WHEP: --serve PORT has it at /whep. To publish: -o whip:https://host/room."),
        (["mms", "rtmpt", "rtmpe"], "this protocol is not supported; use -o rtmp://, rtmps:// or srt://."),
        (
            ["hls", "dash", "mpd"],
            "for HLS write a playlist, -o live.m3u8, and serve its folder by HTTP. DASH is not written."
        ),
        (["ftp", "sftp", "s3", "smb"], "write a file, and upload it with rclone, rsync or curl."),
        (
            ["gif", "webp", "apng"],
            "animations are not written. Write -o a.mp4, then ffmpeg -i a.mp4 -vf fps=10,scale=480:-1 a.gif makes one."
        ),
        (
            ["avi", "flv", "mpg", "mpeg", "wmv", "ogv", "3gp"],
            "this format is not written; use .mp4, .mkv, .webm or .ts."
        ),
        (["mp3", "aac", "ogg", "opus", "flac"], "sound alone is written as .m4a (AAC), .weba (Opus) or .wav."),
        (["bmp", "tif", "tiff", "heic", "avif", "ppm"], "images are written as .jpg or .png."),
        (["hevc", "h265", "av1", "vp9"], codecs[0].advice),
    ]

    private static let sources: [Advice] = [
        (
            ["libcamera", "picamera", "rpicam", "libcamerasrc"],
            "use --source camera. For cameras of libcamera, as on a Raspberry Pi, build the tool by LIBCAMERA=1 scripts/tool; or "
                + "run rpicam-vid -t 0 --inline --listen -o tcp://127.0.0.1:8888, and use --input tcp://127.0.0.1:8888."
        ),
        (
            ["wayland", "pipewire", "portal", "pipewiresrc"],
            "use --source screen; in a Wayland session the desktop asks which one. Nodes of PipeWire are --source pipewire-node."
        ),
        (["x11", "x11grab", "desktop", "ximagesrc", "xcbgrab"], "use --source screen."),
        (["v4l2", "v4l2src", "webcam", "usb", "uvc"], "use --source camera."),
        (["lavfi", "testsrc", "videotestsrc", "smpte"], "use --source pattern."),
        (["rtsp", "srt", "rtmp", "udp", "rtp"], "use --input with the URL, as in --input rtsp://host/path."),
        (["http", "https", "ip", "ipcam"], "use --input with the URL, as in --input http://host/stream."),
        (["kms", "kmsgrab", "drm", "fb", "fbdev"], "frame buffers cannot be captured; use --source screen on X11."),
        (["decklink", "blackmagic", "ndi"], "only grabbers with a V4L2 driver can be captured: --source camera."),
        (["mp4", "video", "image"], "use --input FILE."),
        (["mic", "microphone", "audio"], "sound is --audio mic; alone with -o voice.wav."),
    ]

    private static let inputs: [Advice] = [
        (["ndi"], "NDI is not supported; have the sender send SRT, RTMP or RTSP, and read that."),
        (
            ["ftp", "ftps", "sftp", "s3", "smb", "nfs"],
            "files are read from folders of this machine; mount the folder, or save the file, as with curl -O, and give its "
                + "name."
        ),
        (["mms", "rtmpt", "rtmpe", "rtmfp", "rist"], "not supported; use rtsp://, rtmp:// or srt://."),
        (["ws", "wss", "whep", "webrtc"], "WebRTC is not read; use rtsp:// or http:// of the same server."),
    ]

    private static let codecs: [Advice] = [
        (
            ["hevc", "h265", "h.265", "av1", "vp9", "libx265", "libaom-av1", "libsvtav1", "libvpx-vp9", "vvc"],
            "this tool encodes H.264 and VP8 only. Record at a high quality (--quality 15) and convert: "
                + "ffmpeg -i a.mkv -c:v libx265 b.mkv."
        ),
        // Where the tool reads no packets.
        (
            ["copy"],
            "the sources of this tool give frames, which have to be encoded; the whole tool passes on the packets of files."
        ),
        (["libvpx"], "use --encoder vp8."), (["avc", "x264", "h.264"], "use --codec h264, or --encoder libx264."),
        (["mjpeg", "jpeg"], "for MJPEG use --serve PORT, for images -o shot-%03d.jpg --burst N."),
        (["rawvideo", "raw"], "uncompressed video is -o a.y4m or -o a.i420."),
    ]

    private static let sizes: [Advice] = [
        (
            [
                "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow",
                "placebo",
            ],
            "--preset is a size here; the speed of an encoder is --speed, from 1 (slow and good) to 16 (fast)."
        )
    ]

    private static let operands: [Advice] = [
        (["v4l2", "video4linux2"], "ffmpeg's -f v4l2 -i DEVICE is --source camera --device DEVICE"),
        (["x11grab"], "ffmpeg's -f x11grab -i :0 is --source screen --display :0"),
        (["lavfi"], "ffmpeg's -f lavfi -i testsrc is --source pattern"),
        (["alsa", "pulse"], "ffmpeg's -f pulse -i default is --audio mic, or --audio mic:DEVICE"),
        (
            ["mp4", "mov", "matroska", "webm", "mpegts", "flv", "image2", "segment", "rtsp", "null"],
            "the format follows from the output, as in -o film.mp4, or NAME:FILE, as in -o webm:-"
        ),
        (["copy"], "ffmpeg's -c copy is --codec copy, which passes packets on as they are"),
    ]
}
