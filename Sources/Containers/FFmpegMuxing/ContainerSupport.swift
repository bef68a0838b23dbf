import CLibAV
import MediaContainers
import VideoCapturing

/// What each container can carry.
enum ContainerSupport {
    /// The library's number of a codec; `AV_CODEC_ID_NONE` for an unknown one.
    static func identifier(of codec: Codec) -> AVCodecID {
        switch codec {
        case .jpeg: AV_CODEC_ID_MJPEG
        case .pcm: AV_CODEC_ID_PCM_S16LE
        default: avcodec_descriptor_get_by_name(codec.rawValue)?.pointee.id ?? AV_CODEC_ID_NONE
        }
    }

    /// Throws `formatUnsupported` unless the container can carry these tracks together.
    static func check(_ tracks: [TrackDescription], _ target: OutputTarget) throws(MediaFileError) {
        func refuse(_ message: String) -> MediaFileError {
            .muxing(.formatUnsupported, "begin the output", target.name, message)
        }
        let container = target.containerName
        guard !tracks.isEmpty else { throw refuse("There is no track to write.") }
        guard Set(tracks.map(\.id)).count == tracks.count else {
            throw refuse("Two tracks have the same identifier; give each its own.")
        }
        for track in tracks {
            let codec = identifier(of: track.codec)
            let type = avcodec_get_type(codec)
            guard codec != AV_CODEC_ID_NONE, type == (track.isVideo ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO) else {
                throw refuse(
                    "FFmpeg has no \(track.isVideo ? "video" : "audio") codec \(track.codec), the codec of track "
                        + "\(track.id.rawValue).")
            }
            guard canCarry(codec, named: track.codec.rawValue, container: target.container, container) else {
                throw refuse(
                    "\(container) does not carry \(track.codec), the codec of track \(track.id.rawValue); choose another "
                        + "codec, or another container such as mkv.")
            }
        }
        let limits = trackLimits(container, target.container)
        let videoCount = tracks.count(where: \.isVideo)
        guard videoCount <= limits.video, tracks.count - videoCount <= limits.audio, tracks.count <= limits.all else {
            throw refuse(
                "\(container) does not carry \(videoCount) tracks of video and \(tracks.count - videoCount) of sound "
                    + "together; leave some out, or choose another container such as mkv.")
        }
    }

    private static func canCarry(
        _ codec: AVCodecID, named name: String, container: UnsafePointer<AVOutputFormat>, _ containerName: String
    ) -> Bool {
        if let carried = listed[containerName] { return carried.contains(name) }
        if refused[containerName]?.contains(name) ?? false { return false }
        switch avformat_query_codec(container, codec, FF_COMPLIANCE_NORMAL) {
        case 0: return false
        case 1...: return true
        // The library does not know. An elementary stream is one of its own codec; other muxers refuse when they are begun,
        // or take anything.
        default:
            return !isElementary(container)
                || [container.pointee.video_codec, container.pointee.audio_codec].contains(codec)
        }
    }

    private static func isElementary(_ container: UnsafePointer<AVOutputFormat>) -> Bool {
        container.pointee.flags & AVFMT_NOTIMESTAMPS != 0 && String(cString: container.pointee.name) != "null"
    }

    /// The maximum numbers of tracks. The muxers of the library refuse what is beyond them too late.
    private static func trackLimits(
        _ container: String, _ description: UnsafePointer<AVOutputFormat>
    ) -> (video: Int, audio: Int, all: Int) {
        switch container {
        case "flv": return (1, 1, 2)
        case "rtp": return (1, 1, 1)
        // Elementary streams have no room for a second one.
        case _ where isElementary(description): return (1, 1, 1)
        default: return (64, 64, 64)
        }
    }

    /// What the library refuses only when the file is begun.
    private static let refused: [String: Set<String>] = ["mov": ["vp8", "vp9", "av1", "opus", "flac", "truehd"]]

    /// Containers for which the library does not say what they carry: MPEG-TS takes everything as private data that no
    /// player reads, RTP and RTSP refuse only after the peer was connected.
    private static let listed: [String: Set<String>] = {
        let stream: Set<String> = [
            "h264", "hevc", "mpeg1video", "mpeg2video", "mpeg4", "aac", "ac3", "eac3", "mp2", "mp3", "opus",
        ]
        let packets: Set<String> = [
            "h264", "hevc", "mpeg4", "vp8", "aac", "ac3", "mp2", "mp3", "opus", "vorbis", "pcm_alaw",
            "pcm_mulaw",
            "pcm_s16be", "adpcm_g722",
        ]
        // Of others servers of RTMP know little.
        let flash: Set<String> = ["h264", "aac", "mp3", "pcm_alaw", "pcm_mulaw"]
        return ["flv": flash, "mpegts": stream, "hls": stream, "rtp_mpegts": stream, "rtp": packets, "rtsp": packets]
    }()
}

extension TrackDescription {
    var isVideo: Bool {
        if case .video = media { return true }
        return false
    }
}
