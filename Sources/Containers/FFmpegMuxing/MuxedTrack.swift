import CLibAV
import MediaContainers
import VideoCapturing

/// A track of an output: the description of its stream, and its clock.
struct MuxedTrack {
    let description: TrackDescription
    /// What a decoder needs besides the packets, in the form that goes with the packets' own.
    private(set) var extradata: [UInt8]
    /// Whether the header can be written: for H.264 the first packet has to be seen.
    private(set) var isKnown: Bool
    /// How much earlier than its timestamp the decoded sound of a packet begins. Our timestamps are those of the first
    /// sample that was encoded, the library's those of the first that is decoded.
    let decoderDelay: Duration
    /// How many packets have been written, and how long the last one is presented.
    private(set) var end: (packets: UInt64, duration: Duration) = (0, .zero)
    /// The last decoding time, in units of the stream; `Int64.min` before the first.
    private(set) var lastTime = Int64.min

    /// - Parameter container: the library's muxer of Matroska (5.1) takes the times of Opus as they are written, unlike its
    ///   others: with the delay subtracted, sound is early by it.
    init(_ description: TrackDescription, container: String) {
        self.description = description
        extradata = description.decoderConfiguration?.withUnsafeBytes { Array($0) } ?? []
        // MP4 states the profile of VP9, of which the library asks for the pixels.
        isKnown = description.codec != .h264 && !(description.codec == MuxedTrack.vp9 && container == "mp4")
        let isMatroska = container == "matroska" || container == "webm"
        decoderDelay =
            isMatroska && description.codec == .opus ? .zero : MuxedTrack.decoderDelay(description, extradata)
    }

    private static let vp9 = Codec(rawValue: "vp9")
    /// More than any decoder holds pictures back.
    private static let longestReorder = Duration.seconds(60)

    private static func decoderDelay(_ track: TrackDescription, _ header: [UInt8]) -> Duration {
        guard case .audio(let audio) = track.media else { return .zero }
        let (frames, rate) =
            track.codec == .opus && header.count >= 12
            ? (preSkip(header), 48_000) : (audio.initialPadding, max(1, audio.sampleRate))
        return .nanoseconds(Int64(frames) * 1_000_000_000 / Int64(rate))
    }

    /// The samples to skip, at 48 kHz (RFC 7845, 5.1).
    private static func preSkip(_ header: [UInt8]) -> Int { Int(header[10]) | Int(header[11]) << 8 }

    /// Takes what the header needs from the first packet.
    ///
    /// - Throws: `corruptData` for H.264 that does not begin as such.
    mutating func learn(from packet: MediaPacket, _ name: String) throws(MediaFileError) {
        guard !isKnown else { return }
        guard description.codec == .h264 else {
            // VP9, 6.2: a marker of two bits, and two of the profile.
            let first = packet.data.withUnsafeBytes { $0.first ?? 0 }
            guard first & 0xF0 == 0x80 else {
                throw .muxing(
                    .formatUnsupported, "begin the output", name,
                    "Only VP9 of profile 0, 8 bits and 4:2:0, is written here; choose another container such as mkv.")
            }
            isKnown = true
            return
        }
        let (form, sets) = packet.data.withUnsafeBytes { bytes in
            (H264Form(of: bytes), H264Form.parameterSets(of: bytes, or: extradata))
        }
        switch form {
        case .annexB:
            guard let sets else {
                throw .muxing(
                    .corruptData, "begin the output", name,
                    "The first packet of H.264 has no parameter sets, and the track's configuration neither.")
            }
            extradata = sets
        case .lengthPrefixed where extradata.first == 1: break
        case .lengthPrefixed:
            throw .muxing(
                .corruptData, "begin the output", name,
                "H.264 packets without start codes need avcC as the decoder configuration of their track.")
        case nil:
            throw .muxing(
                .corruptData, "begin the output", name, "The first packet of H.264 does not begin with a NAL unit.")
        }
        isKnown = true
    }

    /// Describes the stream to the library; false when there is no memory.
    func describe(_ stream: UnsafeMutablePointer<AVStream>, isFile: Bool) -> Bool {
        let parameters = stream.pointee.codecpar!
        parameters.pointee.codec_id = ContainerSupport.identifier(of: description.codec)
        // The container's own.
        parameters.pointee.codec_tag = 0
        switch description.media {
        case .video(let video):
            parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            if description.codec == MuxedTrack.vp9 { parameters.pointee.format = AV_PIX_FMT_YUV420P.rawValue }
            parameters.pointee.width = Int32(clamping: video.width)
            parameters.pointee.height = Int32(clamping: video.height)
            parameters.pointee.color_space = video.color.matrix == .bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M
            parameters.pointee.color_range = video.color.range == .full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
            parameters.pointee.color_primaries = AVColorPrimaries(UInt32(video.color.matrix.h273Code))
            parameters.pointee.color_trc = AVColorTransferCharacteristic(UInt32(video.color.matrix.h273Code))
            let aspect = AVRational(
                num: Int32(video.pixelAspect.width), den: Int32(video.pixelAspect.height))
            parameters.pointee.sample_aspect_ratio = aspect
            stream.pointee.sample_aspect_ratio = aspect
            if let rate = video.frameRate {
                stream.pointee.avg_frame_rate = AVRational(num: rate.frames, den: rate.seconds)
            }
            // Divides the usual frame intervals without a rest.
            stream.pointee.time_base = AVRational(num: 1, den: 90_000)
            guard turn(stream, video) else { return false }
        case .audio(let audio):
            parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
            clibav_set_audio(parameters, Int32(clamping: audio.sampleRate), Int32(clamping: audio.channelCount))
            stream.pointee.time_base = AVRational(num: 1, den: Int32(clamping: max(1, audio.sampleRate)))
            describeSound(parameters)
        }
        return copyExtradata(to: parameters)
    }

    /// The packet with the times at which its decoded sound begins.
    func placed(_ packet: MediaPacket) -> MediaPacket {
        var packet = packet
        packet.timestamp = packet.timestamp.advanced(by: .zero - decoderDelay)
        packet.decodeTimestamp = packet.decodeTimestamp?.advanced(by: .zero - decoderDelay)
        return packet
    }

    /// Notes that a packet has been written.
    mutating func didWrite(_ packet: MediaPacket) { end = (end.packets + 1, packet.duration) }

    /// How many frames at the end of a packet are not to be heard: at the end of the sound, where silence fills the packet.
    func padding(of packet: MediaPacket) -> Int {
        guard case .audio(let audio) = description.media, description.codec == .opus || description.codec == .aac
        else { return 0 }
        let rest = (end.duration - packet.duration).seconds * Double(audio.sampleRate)
        return end.packets > 0 && rest > 0 ? Int(rest.rounded()) : 0
    }

    /// The times of a placed packet in units of the stream; the decoding time is later than that of the packet before.
    mutating func times(
        of packet: MediaPacket, since epoch: MediaTime, _ unit: AVRational
    ) -> (presentation: Int64, decoding: Int64, duration: Int64) {
        func scaled(_ nanoseconds: Int64) -> Int64 {
            av_rescale_q(nanoseconds, AVRational(num: 1, den: 1_000_000_000), unit)
        }
        var decoding = scaled((packet.decodeTimestamp ?? packet.timestamp).nanoseconds(since: epoch))
        let presentation = scaled(packet.timestamp.nanoseconds(since: epoch))
        // With B-frames, pictures that are shown after a pause of hours are decoded before it. MP4 has 31 bits for that distance.
        if presentation - decoding > Int64(Int32.max) {
            decoding = presentation - scaled(MuxedTrack.longestReorder.nanoseconds)
        }
        // An encoder's delay lies before the beginning; of a track that comes late, packets may be older.
        lastTime = max(decoding, lastTime == .min ? scaled(-1_000_000_000) : lastTime + 1)
        return (max(presentation, lastTime), lastTime, max(0, scaled(packet.duration.nanoseconds)))
    }

    private func describeSound(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
        switch description.codec {
        case .opus:
            if extradata.count >= 12 {
                parameters.pointee.initial_padding = Int32(MuxedTrack.preSkip(extradata))
            }
            // RFC 7845, 4.6: the packets to decode before a jump's target.
            parameters.pointee.seek_preroll = 3840
        case .pcm:
            parameters.pointee.bits_per_coded_sample = 16
            parameters.pointee.block_align = Int32(clamping: 2 * Int(parameters.pointee.ch_layout.nb_channels))
        case .aac: parameters.pointee.frame_size = 1024
        default: break
        }
    }

    private func copyExtradata(to parameters: UnsafeMutablePointer<AVCodecParameters>) -> Bool {
        guard !extradata.isEmpty else { return true }
        guard let copy = av_mallocz(extradata.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return false }
        extradata.withUnsafeBytes { copy.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
        parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(extradata.count)
        return true
    }

    /// The matrix of ISO/IEC 14496-12, 6.2.2: x' = a·x + c·y, y' = b·x + d·y, with y down. Mirroring comes after the rotation.
    private func turn(_ stream: UnsafeMutablePointer<AVStream>, _ video: TrackDescription.Video) -> Bool {
        let one: Int32 = 1 << 16
        var (a, b, c, d): (Int32, Int32, Int32, Int32)
        switch video.orientation {
        case .up where !video.isMirrored: return true
        case .up: (a, b, c, d) = (one, 0, 0, one)
        case .left: (a, b, c, d) = (0, one, -one, 0)
        case .down: (a, b, c, d) = (-one, 0, 0, -one)
        case .right: (a, b, c, d) = (0, -one, one, 0)
        }
        if video.isMirrored { (a, c) = (-a, -c) }
        return clibav_set_stream_matrix(stream, [a, b, 0, c, d, 0, 0, 0, 1 << 30]) >= 0
    }
}
