import CLibAV

/// Names for people, as in `H.264 in MP4`.
enum SourceDescription {
    static func describe(codec: AVCodecID, container: String, brand: String?, path: String) -> String {
        let codec = codecName(codec)
        guard let container = containerName(container, brand: brand, path: path) else { return codec }
        return codec == container ? codec : "\(codec) in \(container)"
    }

    static func codecName(_ codec: AVCodecID) -> String {
        let name = String(cString: avcodec_get_name(codec))
        return codecNames[name] ?? name.uppercased()
    }

    /// Nil for pictures and streams without a container.
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
