import CLibAV
import FFmpegSupport
import H264Bitstream
import MediaContainers
import PacketCapturing

/// One stream of a file: its description, the filter that gives its packets the form of the house, and its times.
final class PacketStream {
    private(set) var description: TrackDescription
    /// Whether the description is complete.
    private(set) var isKnown = false

    private let path: String
    private let stream: UnsafeMutablePointer<AVStream>
    private let filter: UnsafeMutablePointer<AVBSFContext>
    private let filtered: UnsafeMutablePointer<AVPacket>
    private let isH264: Bool
    private let needsFirstPacket: Bool
    private var video: TrackDescription.Video?
    private var completer = KeyFrameCompleter()
    /// Of a live stream, whose last packet may be the beginning of a picture.
    private var lone: LoneParameterSets?
    /// The length of a packet that does not state its own, in nanoseconds.
    private var interval: Int64
    /// How many pictures are decoded before the first one is shown.
    private let reorderDepth: Int64
    /// The last decode time, and the length of its packet, in nanoseconds.
    private var last: (time: Int64, length: Int64)?
    /// How much earlier than the first audible sample the decoded sound begins.
    private var decoderDelay = Duration.zero

    /// - Parameters:
    ///   - stream: valid as long as this is used.
    ///   - id: the identifier of the track.
    ///   - pixelAspect: the shape of the pixels of a video.
    ///   - path: for errors.
    ///   - isLive: whether it may end within a picture.
    init(
        _ stream: UnsafeMutablePointer<AVStream>, _ id: TrackID, _ pixelAspect: PixelAspect, _ path: String,
        isLive: Bool = false
    ) throws(MediaFileError) {
        let parameters = stream.pointee.codecpar!
        self.path = path
        self.stream = stream
        isH264 = parameters.pointee.codec_id == AV_CODEC_ID_H264
        needsFirstPacket = parameters.pointee.codec_id == AV_CODEC_ID_AAC
        guard let filtered = av_packet_alloc() else { throw .outOfMemory(path) }
        do {
            filter = try PacketStream.makeFilter(stream, path)
        } catch {
            var filtered: UnsafeMutablePointer<AVPacket>? = filtered
            av_packet_free(&filtered)
            throw error
        }
        self.filtered = filtered
        reorderDepth = Int64(max(0, parameters.pointee.video_delay))
        let rate = FrameRate(stream.pointee.avg_frame_rate)
        interval = (rate?.frameInterval ?? .milliseconds(40)).nanoseconds
        if parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO {
            let display = clibav_stream_matrix(stream).map { DisplayMatrix($0) } ?? .upright
            var video = TrackDescription.Video(
                width: Int(parameters.pointee.width), height: Int(parameters.pointee.height),
                orientation: display.orientation,
                color: PacketStream.color(of: parameters.pointee), pixelAspect: pixelAspect, frameRate: rate)
            video.isMirrored = display.isMirrored
            video.isReordered = reorderDepth > 0
            self.video = video
            description = TrackDescription(
                id: id, codec: PacketStream.codec(of: parameters.pointee.codec_id), media: .video(video))
        } else {
            video = nil
            description = TrackDescription(
                id: id, codec: PacketStream.codec(of: parameters.pointee.codec_id),
                media: .audio(
                    TrackDescription.Audio(
                        sampleRate: Int(parameters.pointee.sample_rate),
                        channelCount: Int(clibav_channels_of(parameters)))))
        }
        if isLive { lone = LoneParameterSets(description.codec) }
        adopt(configuration: PacketStream.bytes(filter.pointee.par_out))
        if !needsFirstPacket { learnDelay(priming: Int(parameters.pointee.initial_padding)) }
    }

    deinit {
        var filter: UnsafeMutablePointer<AVBSFContext>? = filter
        av_bsf_free(&filter)
        var filtered: UnsafeMutablePointer<AVPacket>? = filtered
        av_packet_free(&filtered)
    }

    /// Gives a packet the form of the house.
    ///
    /// - Parameters:
    ///   - packet: of this stream; nil at the end.
    ///   - pool: makes the buffers.
    ///   - made: gets what it gives, with times as in the file.
    func filter(
        _ packet: UnsafeMutablePointer<AVPacket>?, _ pool: PacketBufferPool, into made: inout [MediaPacket]
    ) throws(MediaFileError) {
        if let packet, packet.pointee.size == 0 { return }
        let isPriming = needsFirstPacket && !isKnown
        let priming = isPriming ? packet.map { Int(clibav_skipped_samples($0)) } : nil
        guard av_bsf_send_packet(filter, packet) >= 0 else { throw damaged() }
        while true {
            let result = av_bsf_receive_packet(filter, filtered)
            if result == clibav_again || result == clibav_end { return }
            guard result >= 0 else { throw damaged() }
            defer { av_packet_unref(filtered) }
            if isPriming {
                var count = 0
                if let new = av_packet_get_side_data(filtered, AV_PKT_DATA_NEW_EXTRADATA, &count) {
                    adopt(configuration: Array(UnsafeBufferPointer(start: new, count: count)))
                }
                isKnown = description.decoderConfiguration != nil
                learnDelay(priming: max(priming ?? 0, Int(stream.pointee.codecpar.pointee.initial_padding)))
            }
            if filtered.pointee.size > 0, let packet = try makePacket(pool) { made.append(packet) }
        }
    }

    /// When it begins, in nanoseconds on the time line of its packets.
    var start: Int64? {
        let time = stream.pointee.start_time
        return time == clibav_no_time ? nil : nanoseconds(time) &+ decoderDelay.nanoseconds
    }

    /// The length that the file states for it; nil for none.
    var statedDuration: Duration? {
        let duration = stream.pointee.duration
        return duration == clibav_no_time || duration <= 0 ? nil : .nanoseconds(nanoseconds(duration))
    }

    /// Forgets the packets of before a seek.
    func forget() {
        av_bsf_flush(filter)
        last = nil
    }

    /// A packet with the time of the first sample that was encoded, where the file has that of the first one decoded.
    func placed(_ packet: MediaPacket) -> MediaPacket {
        guard decoderDelay != .zero else { return packet }
        var packet = packet
        packet.timestamp += decoderDelay
        packet.decodeTimestamp = packet.decodeTimestamp?.advanced(by: decoderDelay)
        return packet
    }

    // MARK: Packets

    /// - Returns: nil for parameter sets without a picture.
    private func makePacket(_ pool: PacketBufferPool) throws(MediaFileError) -> MediaPacket? {
        let isKey = filtered.pointee.flags & AV_PKT_FLAG_KEY != 0
        let bytes = UnsafeRawBufferPointer(start: filtered.pointee.data, count: Int(filtered.pointee.size))
        func copy(_ bytes: UnsafeRawBufferPointer) -> PacketBuffer {
            isH264 && isKey ? completer.complete(bytes, pool) : pool.makeBuffer(copying: bytes)
        }
        if lone?.absorb(bytes) == true { return nil }
        let sets = lone?.take() ?? []
        let data = sets.isEmpty ? copy(bytes) : (sets + bytes).withUnsafeBytes { copy($0) }
        if isH264, !isKnown, isKey, let sets = completer.parameterSets {
            description.decoderConfiguration = sets.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
            learnSize(sets)
            isKnown = true
        }
        let (presentation, decode, length) = try times()
        var packet = MediaPacket(
            data: data, track: description.id, timestamp: MediaTime(nanoseconds: presentation),
            duration: .nanoseconds(length), isKeyFrame: isKey || video == nil,
            isDroppable: filtered.pointee.flags & AV_PKT_FLAG_DISPOSABLE != 0, width: video?.width ?? 0,
            height: video?.height ?? 0)
        if decode != presentation { packet.decodeTimestamp = MediaTime(nanoseconds: decode) }
        if let video {
            packet.orientation = video.orientation
            packet.color = video.color
            packet.pixelAspect = video.pixelAspect
        }
        return packet
    }

    /// The times of the filtered packet, in nanoseconds. What the file leaves out follows from the rate and from the
    /// packet before.
    private func times() throws(MediaFileError) -> (presentation: Int64, decode: Int64, length: Int64) {
        let stated = filtered.pointee.duration > 0 ? nanoseconds(filtered.pointee.duration) : nil
        let length = stated ?? (video == nil ? 0 : interval)
        let presentation = filtered.pointee.pts == clibav_no_time ? nil : nanoseconds(filtered.pointee.pts)
        let known = filtered.pointee.dts == clibav_no_time ? nil : nanoseconds(filtered.pointee.dts)
        let following = last.map { $0.time &+ max(1, $0.length) }
        let early = reorderDepth &* interval
        let decode: Int64
        if let known {
            decode = known
        } else if reorderDepth == 0 {
            decode = presentation ?? following ?? 0
        } else {
            decode = following ?? presentation.map { $0.subtractingReportingOverflow(early).partialValue } ?? 0
        }
        last = (decode, length)
        guard let presentation else {
            guard reorderDepth == 0 else {
                throw .unsupported(
                    path,
                    "The file does not say when its pictures are shown, and they are out of order (B-frames), so its "
                        + "packets cannot be passed on; decode and encode them.")
            }
            return (decode, decode, length)
        }
        return (presentation, min(decode, presentation), length)
    }

    private func nanoseconds(_ units: Int64) -> Int64 {
        av_rescale_q(units, stream.pointee.time_base, AVRational(num: 1, den: 1_000_000_000))
    }

    private func damaged() -> MediaFileError {
        .corrupt(
            path,
            "A packet of \(description.codec) is damaged, so that it cannot be passed on; get the file again, or decode and "
                + "encode it.")
    }

    // MARK: The description

    /// Takes what a decoder needs.
    private func adopt(configuration bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            isKnown = !isH264 && !needsFirstPacket
            return
        }
        var bytes = bytes
        if isH264 {
            // The library's filter has made a byte stream of it.
            let sets = bytes.withUnsafeBytes { bytes in
                _ = completer.slice(in: bytes)
                return try? AVCDecoderConfiguration(annexB: bytes)
            }
            guard let sets else { return }
            bytes = sets.bytes
        }
        description.decoderConfiguration = bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
        isKnown = !needsFirstPacket
    }

    /// Takes the size of a stream that was joined between two key frames.
    private func learnSize(_ sets: AVCDecoderConfiguration) {
        guard var video, video.width == 0, let parameters = sets.parameters else { return }
        (video.width, video.height) = (parameters.width, parameters.height)
        if video.frameRate == nil, let rate = parameters.frameRate {
            video.frameRate = rate
            interval = rate.frameInterval.nanoseconds
        }
        video.pixelAspect = parameters.videoUsability?.pixelAspect ?? video.pixelAspect
        self.video = video
        description.media = .video(video)
    }

    /// Takes the number of samples that a decoder gives before the first audible one.
    private func learnDelay(priming: Int) {
        guard case .audio(var audio) = description.media, audio.sampleRate > 0 else { return }
        var frames = max(0, priming)
        if description.codec == .opus {
            // In its header (RFC 7845, 5.1), at 48 kHz.
            let header = description.decoderConfiguration?.withUnsafeBytes { Array($0.prefix(12)) } ?? []
            frames = header.count == 12 ? Int(header[10]) | Int(header[11]) << 8 : 0
            decoderDelay = .nanoseconds(Int64(frames) * 1_000_000_000 / 48_000)
            return
        }
        audio.initialPadding = frames
        description.media = .audio(audio)
        decoderDelay = .nanoseconds(Int64(frames) * 1_000_000_000 / Int64(audio.sampleRate))
    }

    private static func makeFilter(
        _ stream: UnsafeMutablePointer<AVStream>, _ path: String
    ) throws(MediaFileError) -> UnsafeMutablePointer<AVBSFContext> {
        let parameters = stream.pointee.codecpar!
        let header = bytes(parameters)
        let name: String?
        switch parameters.pointee.codec_id {
        // 1 is the version of avcC and hvcC; what begins with zeros is a byte stream.
        case AV_CODEC_ID_H264: name = header.first == 1 ? "h264_mp4toannexb" : nil
        case AV_CODEC_ID_HEVC: name = header.first == 1 ? "hevc_mp4toannexb" : nil
        case AV_CODEC_ID_AAC: name = header.isEmpty ? "aac_adtstoasc" : nil
        default: name = nil
        }
        var made: UnsafeMutablePointer<AVBSFContext>?
        let result: Int32
        if let name {
            guard let filter = av_bsf_get_by_name(name) else {
                throw .unsupported(path, "This FFmpeg lacks the filter \(name); install a complete one.")
            }
            result = av_bsf_alloc(filter, &made)
        } else {
            result = av_bsf_get_null_filter(&made)
        }
        guard result >= 0, let filter = made else { throw .outOfMemory(path) }
        filter.pointee.time_base_in = stream.pointee.time_base
        guard avcodec_parameters_copy(filter.pointee.par_in, parameters) >= 0, av_bsf_init(filter) >= 0 else {
            av_bsf_free(&made)
            throw .corrupt(path, "The description of a track is damaged; get the file again.")
        }
        return filter
    }

    private static func bytes(_ parameters: UnsafeMutablePointer<AVCodecParameters>) -> [UInt8] {
        guard let start = parameters.pointee.extradata, parameters.pointee.extradata_size > 0 else { return [] }
        return Array(UnsafeBufferPointer(start: start, count: Int(parameters.pointee.extradata_size)))
    }

    private static func codec(of identifier: AVCodecID) -> Codec {
        switch identifier {
        case AV_CODEC_ID_MJPEG: .jpeg
        case AV_CODEC_ID_PCM_S16LE: .pcm
        default: Codec(rawValue: String(cString: avcodec_get_name(identifier)))
        }
    }

    /// What players take for the colors of a stream that does not state them: of high definition BT.709.
    private static func color(of parameters: AVCodecParameters) -> ColorDescription {
        let matrix: ColorDescription.Matrix
        switch parameters.color_space {
        case AVCOL_SPC_BT709, AVCOL_SPC_SMPTE240M, AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: matrix = .bt709
        case AVCOL_SPC_UNSPECIFIED: matrix = parameters.height >= 720 ? .bt709 : .bt601
        default: matrix = .bt601
        }
        return ColorDescription(matrix: matrix, range: parameters.color_range == AVCOL_RANGE_JPEG ? .full : .limited)
    }
}
