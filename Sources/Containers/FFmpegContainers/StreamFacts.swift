import CLibAV
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The properties of a video that its file states.
struct StreamFacts {
    var rate: FrameRate?
    var duration: Duration?
    var frameCount: Int64?
    var display: DisplayMatrix
    var description: String

    init(_ demuxer: Demuxer, _ first: UnsafePointer<AVFrame>, path: String) {
        let context = demuxer.context.pointee
        let stream = demuxer.stream.pointee
        rate = FrameRate(stream.avg_frame_rate)
        let unit = FrameClock(timeBase: stream.time_base, start: nil, rate: nil)
        if stream.duration != clibav_no_time, stream.duration > 0 {
            duration = unit.duration(of: Int128(stream.duration))
        } else if context.duration != clibav_no_time, context.duration > 0,
            context.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE
        {
            duration = .nanoseconds(Duration.microseconds(context.duration).nanoseconds)
        }
        if stream.nb_frames > 0 {
            frameCount = stream.nb_frames
        } else if let rate, let duration {
            // To the nearest: containers round the duration.
            frameCount = rate.frameIndex(at: duration + rate.frameInterval / 2)
        }
        let numbers = clibav_stream_matrix(demuxer.stream) ?? clibav_frame_matrix(first)
        display = numbers.map { DisplayMatrix($0) } ?? .upright
        let brand = av_dict_get(context.metadata, "major_brand", nil, 0).map { String(cString: $0.pointee.value) }
        description = SourceDescription.describe(
            codec: stream.codecpar.pointee.codec_id, container: demuxer.name, brand: brand, path: path)
    }
}

/// Names for display, as in `H.264 in MP4`.
enum SourceDescription {
    static func describe(codec: AVCodecID, container: String, brand: String?, path: String) -> String {
        let codec = codecName(codec)
        guard let container = containerName(container, brand: brand, path: path) else { return codec }
        return codec == container ? codec : "\(codec) in \(container)"
    }

    /// As in the file, where the library does not know it.
    static func codecName(_ parameters: AVCodecParameters) -> String {
        guard parameters.codec_id == AV_CODEC_ID_NONE else { return codecName(parameters.codec_id) }
        let code = FourCC(rawValue: parameters.codec_tag)
        return parameters.codec_tag == 0 ? "a codec that it does not know" : "\(code)"
    }

    static func codecName(_ codec: AVCodecID) -> String {
        let name = String(cString: avcodec_get_name(codec))
        return codecNames[name] ?? name.uppercased()
    }

    /// Nil for images and streams without a container.
    private static func containerName(_ name: String, brand: String?, path: String) -> String? {
        switch name {
        case let name where name.hasPrefix("mov,"): brand?.hasPrefix("qt") == true ? "QuickTime" : "MP4"
        case let name where name.hasPrefix("matroska"): path.lowercased().hasSuffix(".webm") ? "WebM" : "Matroska"
        case let name where name.hasSuffix("_pipe") || elementary.contains(name): nil
        default: containerNames[name] ?? name.uppercased()
        }
    }

    private static let elementary: Set<String> = [
        "image2", "h264", "hevc", "m4v", "mpegvideo", "mjpeg", "mjpeg_2000", "obu", "vc1", "apng",
    ]

    private static let codecNames = [
        "h264": "H.264", "hevc": "H.265", "mpeg4": "MPEG-4", "mpeg1video": "MPEG-1", "mpeg2video": "MPEG-2",
        "mjpeg": "JPEG", "rawvideo": "raw video", "theora": "Theora", "prores": "ProRes", "dnxhd": "DNxHD",
        "webp": "WebP", "jpeg2000": "JPEG 2000",
    ]

    private static let containerNames = [
        "mpegts": "MPEG-TS", "mpeg": "MPEG-PS", "flv": "FLV", "ogg": "Ogg", "yuv4mpegpipe": "Y4M",
        "mpjpeg": "multipart JPEG",
    ]
}

/// The rotation and mirroring to apply for display (ISO/IEC 14496-12, 6.2.2): x' = a·x + c·y,
/// y' = b·x + d·y, with y down.
struct DisplayMatrix: Equatable {
    var orientation: VideoOrientation
    /// Horizontally, after the rotation.
    var isMirrored: Bool

    static let upright = DisplayMatrix(orientation: .up, isMirrored: false)

    private init(orientation: VideoOrientation, isMirrored: Bool) {
        self.orientation = orientation
        self.isMirrored = isMirrored
    }

    /// The nearest rotation by a multiple of 90° is taken from the nine numbers; scaling and skewing are ignored.
    init(_ numbers: UnsafePointer<Int32>) {
        let (a, b, c, d) = (Double(numbers[0]), Double(numbers[1]), Double(numbers[3]), Double(numbers[4]))
        // A mirrored frame is rotated first and then mirrored, so the mirroring is removed: it negates a and c.
        isMirrored = a * d - b * c < 0
        let quarters = atan2(b, isMirrored ? -a : a) / (.pi / 2)
        let degrees = quarters.isFinite ? Int(quarters.rounded()) * 90 : 0
        orientation = VideoOrientation(clockwiseDegrees: degrees) ?? .up
    }
}
