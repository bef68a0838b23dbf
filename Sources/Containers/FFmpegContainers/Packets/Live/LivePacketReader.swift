import CLibAV
import FFmpegSupport
import MediaContainers
import PacketCapturing
import VideoCapturing

/// One connection: reads the packets of a stream as they arrive, with times on the stream's scale. They begin with a key
/// frame of the video. Not thread-safe.
final class LivePacketReader {
    /// The tracks, complete; of video first.
    var tracks: [TrackDescription] { streams.map(\.description) }
    /// Whether the stream states no times, so that packets have those of their arrival.
    let isUntimed: Bool

    /// From the time of a packet, on the stream's scale, to when it would have come if it had not been held anywhere, by the machine's
    /// clock, in nanoseconds; nil before the first packet.
    var lag: Int64? { (burst.firstLag ?? firstLag).map { $0 &- burst.age } }
    /// Whether the stream comes as fast as it is taken, and not live.
    var isFilm: Bool { burst.isFilm }
    /// When the stream was opened, by the machine's clock.
    let opened: MediaTime

    private let input: LiveInput
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var streams: [PacketStream] = []
    private var indices: [Int32] = []
    private let pool = PacketBufferPool(capacity: 96)
    /// Packets that are read, each with the number of those of its track that are known to be lost before it, and how many
    /// have been returned.
    private var ready: [(packet: MediaPacket, lost: Int)] = []
    private var returned = 0
    private var hasEnded = false
    /// An error that came behind packets that are ready.
    private var pendingError: CaptureError?
    /// From the time of the first packet to the opening.
    private var firstLag: Int64?
    private var burst = Burst()
    /// When the packets of the video begin, on the stream's scale; nil before its first key frame.
    private var start: MediaTime?
    private var untimed: UntimedPackets?
    private var pictures: LivePictures?
    /// The packets of each track that are lost before the next one.
    private var lost: [TrackID: Int] = [:]

    /// Those that state no times.
    private static let rawFormats = ["h264", "hevc", "mjpeg", "mpjpeg", "m4v", "mpegvideo", "obu", "vc1"]
    /// How long sound may take to describe itself, once the video is known.
    private static let soundTimeout = Duration.seconds(5)

    /// Opens a stream and reads ahead until all tracks are described, and the video has a key frame.
    ///
    /// - Parameters:
    ///   - request: what to open.
    ///   - isPulled: whether a server is asked for the stream, which may begin with pictures that it has kept.
    /// - Throws: `CaptureError`: `deviceNotFound`, `permissionDenied`, `formatUnsupported`, `stalled`, `invalidState` once
    ///   the capture is being stopped.
    init(_ request: StreamDemuxerFactory.Request, isPulled: Bool) throws(CaptureError) {
        _ = FFmpegLibrary.prepared
        let input = try LiveInput(request)
        self.input = input
        context = try LiveDemuxer.open(input, for: .packets)
        guard let packet = av_packet_alloc() else {
            var context: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&context)
            throw input.outOfMemory
        }
        self.packet = packet
        opened = MonotonicClock().now
        let format = context.pointee.iformat.map { String(cString: $0.pointee.name) } ?? ""
        isUntimed = LivePacketReader.rawFormats.contains(format)
        try chooseStreams()
        try readAhead()
        if isPulled { try readBurst() }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        // The streams are part of the context.
        streams = []
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
    }

    /// Waits for the next packet.
    ///
    /// - Returns: the packet, and how many of its track are known to be lost before it; nil at the end of the stream.
    /// - Throws: `deviceLost`, `stalled`, `formatUnsupported`; `invalidState` once the capture is being stopped.
    func next() throws(CaptureError) -> (packet: MediaPacket, lost: Int)? {
        while returned == ready.count {
            if let error = pendingError.take() { throw error }
            guard !hasEnded else { return nil }
            ready.removeAll(keepingCapacity: true)
            returned = 0
            try readNext()
        }
        defer { returned += 1 }
        return ready[returned]
    }

    // MARK: Opening

    private func chooseStreams() throws(CaptureError) {
        // An FLV stream may announce tracks that never come.
        let isFlash = context.pointee.iformat.map { String(cString: $0.pointee.name).hasSuffix("flv") } ?? false
        let length = Duration.seconds(isFlash ? 1 : 10)
        context.pointee.max_analyze_duration = length.nanoseconds / 1000
        let isRawH264 = isUntimed && context.pointee.streams[0]?.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_H264
        // In raw H.264 the library would look for a rate, and find none without times.
        if !isRawH264 {
            input.beginLooking(for: length)
            let looked = clibav_find_stream_info(context, "threads=1:max_pixels=\(FFmpegReader.maximumPixelCount)")
            if let error = input.interruption { throw error }
            if looked == clibav_out_of_memory { throw input.outOfMemory }
        }
        for index in [clibav_best_video(context), clibav_best_audio(context)] where index >= 0 {
            guard let stream = context.pointee.streams[Int(index)] else { continue }
            let ratio = av_guess_sample_aspect_ratio(context, stream, nil)
            do throws(MediaFileError) {
                streams.append(
                    try PacketStream(
                        stream, TrackID(rawValue: UInt32(streams.count)),
                        PixelAspect(width: Int(ratio.num), height: Int(ratio.den)) ?? .square,
                        maskingSecrets(inURL: input.request.url), isLive: true))
                indices.append(index)
            } catch {
                throw input.error(.formatUnsupported, error.message)
            }
        }
        guard let first = streams.first else {
            throw input.error(.formatUnsupported, "The stream has no video and no sound; check what the sender sends.")
        }
        for number in 0..<Int32(context.pointee.nb_streams) where !indices.contains(number) {
            context.pointee.streams[Int(number)]?.pointee.discard = AVDISCARD_ALL
        }
        if first.description.isVideo {
            if !isUntimed { untimed = UntimedPackets(index: indices[0]) }
            if first.description.codec == .h264 { pictures = LivePictures(pool, isUntimed: isUntimed) }
        } else {
            start = MediaTime(nanoseconds: .min)
        }
    }

    private func readAhead() throws(CaptureError) {
        let clock = MonotonicClock()
        let began = clock.now
        let keyFrameTimeout = input.request.timeout * 2
        while start == nil || !streams.allSatisfy(\.isKnown), !hasEnded {
            try readNext()
            let time = clock.now - began
            let isSoundMissing = start != nil && streams[0].isKnown && streams.dropFirst().contains { !$0.isKnown }
            if time > LivePacketReader.soundTimeout, isSoundMissing {
                discardSound()
            } else if time > keyFrameTimeout {
                throw input.error(
                    .stalled,
                    "No key frame has come for \(keyFrameTimeout.nanoseconds / 1_000_000_000) s, from which the stream could "
                        + "be passed on; set the sender to one each second or two.")
            }
        }
        guard start != nil, streams.allSatisfy(\.isKnown) else {
            throw input.error(.formatUnsupported, "The stream ends before its first key frame.")
        }
    }

    /// Reads on the packets that a server has sent at once.
    private func readBurst() throws(CaptureError) {
        guard !isUntimed else { return }
        let clock = MonotonicClock()
        burst.begin(at: clock.now)
        while !hasEnded {
            let (began, count) = (clock.now, ready.count)
            do throws(CaptureError) {
                try readNext()
            } catch {
                guard !input.request.isInterrupted() else { throw error }
                pendingError = error
                return burst.end(isEndOfStream: false)
            }
            let bytes = ready[count...].reduce(0) { $0 + $1.packet.data.count }
            guard burst.continues(after: began, at: clock.now, bytes: bytes) else { return }
        }
        burst.end(isEndOfStream: true)
    }

    /// Goes on without sound that was announced and does not come.
    private func discardSound() {
        let id = streams[1].description.id
        context.pointee.streams[Int(indices[1])]?.pointee.discard = AVDISCARD_ALL
        streams.removeLast()
        indices.removeLast()
        ready.removeAll { $0.packet.track == id }
    }

    // MARK: Reading

    private func readNext() throws(CaptureError) {
        input.beginWait()
        var retries = 0
        while true {
            let result = av_read_frame(context, packet)
            if result == clibav_again, retries < 1000 {
                retries += 1
                continue
            }
            guard result >= 0 else { return try end(result) }
            break
        }
        defer { av_packet_unref(packet) }
        guard let number = indices.firstIndex(of: packet.pointee.stream_index) else {
            context.pointee.streams[Int(packet.pointee.stream_index)]?.pointee.discard = AVDISCARD_ALL
            return
        }
        let id = streams[number].description.id
        guard packet.pointee.flags & AV_PKT_FLAG_CORRUPT == 0 else {
            lost[id, default: 0] += 1
            return
        }
        do throws(MediaFileError) {
            guard let first = untimed, number == 0 else { return try filter(packet, number) }
            guard first.hold(packet) else { return }
            untimed = nil
            for held in first.packets { try filter(held, number) }
            try filter(packet, number)
        } catch {
            // A track that cannot be passed on at all, and not a damaged packet.
            if error.code == .formatUnsupported { throw input.error(.formatUnsupported, error.message) }
            lost[id, default: 0] += 1
        }
    }

    /// Gives the form of the house to a packet; nil for the rest of the stream at its end.
    private func filter(_ packet: UnsafeMutablePointer<AVPacket>?, _ number: Int) throws(MediaFileError) {
        var made: [MediaPacket] = []
        try streams[number].filter(packet, pool, into: &made)
        for one in made {
            let one = streams[number].placed(one)
            guard number == 0, pictures != nil else {
                take(one)
                continue
            }
            let (before, picture, missing) = try pictures!.add(one)
            if let before { take(before) }
            if missing > 0 { lost[one.track, default: 0] += missing }
            if let picture { take(picture) }
        }
    }

    private func take(_ packet: MediaPacket) {
        let time = packet.decodeTimestamp ?? packet.timestamp
        let isFirst = streams.first?.description.id == packet.track
        // The first one came when the stream was opened.
        firstLag = firstLag ?? opened.nanoseconds(since: time)
        if isFirst { burst.note(time, opened: opened, readAt: MonotonicClock().now) }
        if start == nil, isFirst, packet.isKeyFrame { start = time }
        // Earlier packets have no picture to be shown with.
        guard let start, isFirst || time >= start || isUntimed else { return }
        ready.append((packet, lost.removeValue(forKey: packet.track) ?? 0))
    }

    private func end(_ code: Int32) throws(CaptureError) {
        if let error = input.interruption { throw error }
        guard code == clibav_end else {
            throw input.error(
                .deviceLost, "The stream is damaged, or the connection lost (\(describeAV(code))); check the sender.")
        }
        hasEnded = true
        for number in streams.indices { try? filter(nil, number) }
        if let last = pictures?.flush() { take(last) }
    }
}

/// The first packets of a video that have no time, as with RTSP before the first report of the sender: they are held until
/// one has a time, from which theirs follow.
private final class UntimedPackets {
    private(set) var packets: [UnsafeMutablePointer<AVPacket>] = []
    private let index: Int32

    private static let maximumCount = 64

    /// - Parameter index: of the stream.
    init(index: Int32) { self.index = index }

    deinit {
        for packet in packets {
            var packet: UnsafeMutablePointer<AVPacket>? = packet
            av_packet_free(&packet)
        }
    }

    /// Takes a packet without a time, and returns false. Returns true with one that has a time, or where too many are held:
    /// the held ones have their times then.
    func hold(_ packet: UnsafeMutablePointer<AVPacket>) -> Bool {
        let known = packet.pointee.dts != clibav_no_time ? packet.pointee.dts : packet.pointee.pts
        guard known == clibav_no_time, packets.count < UntimedPackets.maximumCount, let copy = av_packet_clone(packet)
        else {
            let length = max(1, packet.pointee.duration)
            guard known != clibav_no_time else { return true }
            for (number, held) in packets.enumerated() {
                let time = known.subtractingReportingOverflow(length &* Int64(packets.count - number)).partialValue
                held.pointee.pts = time
                held.pointee.dts = time
            }
            return true
        }
        packets.append(copy)
        return false
    }
}
