import CLibAV
import FFmpegSupport
import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A decoded frame with its time.
struct DecodedFrame {
    var lent: BorrowedFrame
    var time: Duration
    /// How long it is shown.
    var length: Duration
}

/// An open file and its decoder: returns the frames in order of their times. Not thread-safe.
final class StreamDecoder {
    private(set) var demuxer: Demuxer
    /// Damaged packets and frames that were skipped.
    private(set) var damaged: UInt64 = 0

    /// Whether frames may be missing because the decoder began at a key frame of an open group of pictures: damage was
    /// found, and no second key frame since.
    private(set) var isSuspect = false
    /// Whether there was a second key frame since a jump: from there on no frame is missing.
    private(set) var isSettled = false
    private var hasShownKey = false

    private let request: FrameReaderFactory.Request
    private let path: String
    private let pool: FramePool
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var suspects = SuspectPackets()
    /// The place in a sequence of pictures: the lowest number, and that of the next picture.
    private var sequence: (first: Int, next: Int)?
    /// How the packets have ended, once they have.
    private var end: Int32?
    private(set) var clock: FrameClock
    /// Why reading ended before the file did; thrown after the frames before it.
    private var failure: MediaFileError?
    /// Whether the last packet was truncated: then the file is.
    private var endsWithinPacket = false
    /// The value of `damaged` when a transport stream ended within a packet; nil otherwise.
    private var damagedBeforeCut: UInt64?
    private var picturesRead: Int64 = 0
    /// Of the last frame.
    private var pictureSize: PixelSize?
    private var hasJumped = false

    /// - Throws: `formatUnsupported` without a decoder, `limitExceeded` for frames that are too large.
    init(_ request: FrameReaderFactory.Request, pool: FramePool) throws(MediaFileError) {
        self.request = request
        path = request.file?.path ?? request.path
        self.pool = pool
        if request.file == nil, let pictures = PictureSequence(path), let first = pictures.firstNumber {
            let next = pictures.skippingEmpty(from: first)
            sequence = (first, next)
            damaged = UInt64(next - first)
            demuxer = try Demuxer(request, firstNumber: pictures.contains(next) ? next : nil)
        } else {
            demuxer = try Demuxer(request)
        }
        let stream = demuxer.stream
        try FFmpegReader.checkSize(
            width: stream.pointee.codecpar.pointee.width, height: stream.pointee.codecpar.pointee.height, path)
        context = try StreamDecoder.openDecoder(stream, request.threads, path)
        guard let packet = av_packet_alloc() else {
            var context: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&context)
            throw .outOfMemory(path)
        }
        self.packet = packet
        let start = stream.pointee.start_time
        clock = FrameClock(
            timeBase: stream.pointee.time_base, start: start == clibav_no_time ? nil : start,
            rate: FrameRate(stream.pointee.avg_frame_rate) ?? request.frameRate,
            largestStep: AllowedFormats.largestStep(demuxer.name))
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// Whether the codec has only intra-coded frames.
    var isStillCodec: Bool {
        guard let codec = avcodec_descriptor_get(context.pointee.codec_id) else { return false }
        return codec.pointee.props & AV_CODEC_PROP_INTRA_ONLY != 0
    }

    /// Returns the next frame; nil at the end.
    ///
    /// - Throws: `corruptData` when the file is truncated, after the complete frames.
    func next() throws(MediaFileError) -> DecodedFrame? {
        guard let lent = pool.take() else { throw .outOfMemory(path) }
        var failures = 0
        while true {
            let result = avcodec_receive_frame(context, lent.frame)
            switch result {
            case 0:
                let frame = lent.frame.pointee
                guard frame.flags & AV_FRAME_FLAG_CORRUPT == 0, frame.decode_error_flags == 0 else {
                    recordDamage()
                    av_frame_unref(lent.frame)
                    continue
                }
                if clibav_is_key(lent.frame) != 0 {
                    isSettled = hasShownKey
                    hasShownKey = true
                    if isSettled { isSuspect = false }
                }
                if picturesRead > 0, isSecondOfPhotograph(frame) {
                    av_frame_unref(lent.frame)
                    pool.restore(lent)
                    return nil
                }
                picturesRead += 1
                pictureSize = PixelSize(width: Int(frame.width), height: Int(frame.height))
                let timestamp = frame.best_effort_timestamp
                let units = clibav_frame_duration(lent.frame)
                return DecodedFrame(
                    lent: lent, time: clock.time(of: timestamp == clibav_no_time ? nil : timestamp, length: units),
                    length: clock.length(of: units))
            case clibav_again:
                try feed()
            case clibav_end:
                pool.restore(lent)
                countCutPacket()
                if let failure = failure.take() ?? unshownPictures() { throw failure }
                return nil
            case clibav_out_of_memory:
                throw .outOfMemory(path)
            default:
                recordDamage()
                failures += 1
                // The decoder should request a packet after each; one that never does would loop forever.
                if failures > 1000 { throw .corrupt(path, "The decoder gives up: \(describeAV(result)).") }
            }
        }
    }

    /// Whether a JPEG belongs to the photograph before it, as a gain map or a preview does, and is not to be shown.
    private func isSecondOfPhotograph(_ frame: AVFrame) -> Bool {
        // A stream of JPEGs may change its size; the library takes a large photograph for a picture.
        let hasOtherSize = pictureSize != PixelSize(width: Int(frame.width), height: Int(frame.height))
        let name = request.path.lowercased()
        return demuxer.name == "jpeg_pipe" && hasOtherSize
            || ["jpeg_pipe", "mjpeg"].contains(demuxer.name)
                && [".jpg", ".jpeg", ".jpe", ".jfif"].contains(where: name.hasSuffix)
    }

    /// Goes to a key frame at or before `time`, by the file's index; false when that is not possible.
    func jump(to time: Duration) -> Bool {
        guard clock.isSeekable, AllowedFormats.haveIndex(demuxer.name), let target = clock.timestamp(at: time),
            av_seek_frame(demuxer.context, demuxer.stream.pointee.index, target, AVSEEK_FLAG_BACKWARD) >= 0
        else { return false }
        demuxer.forgetReadError()
        avcodec_flush_buffers(context)
        clock.forgetLast()
        failure = nil
        endsWithinPacket = false
        suspects = SuspectPackets()
        end = nil
        damagedBeforeCut = nil
        hasJumped = true
        isSuspect = false
        isSettled = false
        hasShownKey = false
        return true
    }

    /// Discards damage that was counted since, because it resulted from a jump.
    func forgetDamage(since earlier: UInt64) { damaged = min(damaged, earlier) }

    private func recordDamage(_ count: UInt64 = 1) {
        guard count > 0 else { return }
        damaged += count
        isSuspect = true
    }

    /// Counts a frame that was lost at the end within a packet, unless the decoder has reported it.
    private func countCutPacket() {
        if damagedBeforeCut.take() == damaged { recordDamage() }
    }

    /// Sends the decoder one packet, or the end of the stream.
    private func feed() throws(MediaFileError) {
        var retries = 0
        while true {
            if suspects.takeReady(into: packet) { return try send() }
            if let end {
                failure = endOfReading(end)
                // Fails only when the end was sent already.
                _ = avcodec_send_packet(context, nil)
                return
            }
            let result = try demuxer.read(into: packet)
            if result == clibav_again, retries < 1000 {
                retries += 1
                continue
            }
            guard result >= 0 else {
                if try skipEmptyPictures() { continue }
                end = result
                var rejected: UInt64 = 0
                endsWithinPacket = suspects.end(rejected: &rejected)
                recordDamage(rejected)
                continue
            }
            placeInSequence()
            if clibav_is_encrypted(packet) != 0 {
                av_packet_unref(packet)
                throw .unsupported(path, "The video is encrypted; decrypt it first, with the program it is meant for.")
            }
            // An empty packet would signal the end of the stream.
            guard packet.pointee.size > 0 || SuspectPackets.isMarked(packet) else {
                av_packet_unref(packet)
                continue
            }
            var rejected: UInt64 = 0
            let isHeld = try suspects.hold(packet, rejected: &rejected, path: path)
            recordDamage(rejected)
            if !isHeld { return try send() }
        }
    }

    private func send() throws(MediaFileError) {
        defer { av_packet_unref(packet) }
        guard packet.pointee.size > 0 else { return recordDamage() }
        let sent = avcodec_send_packet(context, packet)
        if sent == clibav_out_of_memory { throw .outOfMemory(path) }
        if sent < 0 { recordDamage() }
    }

    /// The library counts the pictures of a sequence from where it was opened.
    private func placeInSequence() {
        guard let place = sequence else { return }
        packet.pointee.pts = Int64(place.next - place.first)
        packet.pointee.dts = packet.pointee.pts
        sequence?.next += 1
    }

    /// Goes on after empty files of a sequence, where the library ends; false when the next file is not empty.
    private func skipEmptyPictures() throws(MediaFileError) -> Bool {
        guard let place = sequence, let pictures = PictureSequence(path) else { return false }
        let next = pictures.skippingEmpty(from: place.next)
        guard next > place.next else { return false }
        recordDamage(UInt64(next - place.next))
        sequence?.next = next
        guard pictures.contains(next) else { return false }
        demuxer = try Demuxer(request, firstNumber: next)
        return true
    }

    /// The error for frames of a file without a time scale that the library skips, since they are after the stated end.
    private func unshownPictures() -> MediaFileError? {
        let count = demuxer.stream.pointee.nb_frames
        guard demuxer.hasNoTimeScale, !hasJumped, picturesRead < count else { return nil }
        return .corrupt(
            path,
            "The file states no usable time scale, so \(count - picturesRead) of its \(count) pictures have no time and are "
                + "left out; make it again.")
    }

    /// What the end of the packets means; nil when it is the file's.
    private func endOfReading(_ code: Int32) -> MediaFileError? {
        if let error = demuxer.readError { return error }
        if let missing = demuxer.missingPart() { return missing }
        if demuxer.endsWithinPacket { damagedBeforeCut = damaged }
        if code == clibav_end || demuxer.endsWithBoundary {
            guard endsWithinPacket || demuxer.endsWithinPacket else { return nil }
            return .corrupt(path, "The file ends within a picture; the pictures before it are whole.")
        }
        if demuxer.name.hasPrefix("mov"), demuxer.context.pointee.pb.pointee.seekable == 0 {
            return .corrupt(
                path,
                "An MP4 or MOV whose index lies at its end cannot be read from a pipe; save it as a file, or write "
                    + "it with `ffmpeg … -movflags +faststart`.")
        }
        return .corrupt(
            path, "The file is damaged or cut off (\(describeAV(code))); the pictures before that are whole.")
    }

    private static func openDecoder(
        _ stream: UnsafeMutablePointer<AVStream>, _ threads: Int?, _ path: String
    ) throws(MediaFileError) -> UnsafeMutablePointer<AVCodecContext> {
        let parameters = stream.pointee.codecpar!
        let name = SourceDescription.codecName(parameters.pointee)
        guard let decoder = avcodec_find_decoder(parameters.pointee.codec_id) else {
            throw .unsupported(
                path,
                "The video is in \(name), for which this FFmpeg has no decoder; convert it with a program that has.")
        }
        guard let made = avcodec_alloc_context3(decoder) else { throw .outOfMemory(path) }
        var opened: Int32 = avcodec_parameters_to_context(made, parameters)
        if opened >= 0 {
            made.pointee.pkt_timebase = stream.pointee.time_base
            made.pointee.max_pixels = Int64(FFmpegReader.maximumPixelCount)
            made.pointee.thread_count = Int32(threadCount(threads))
            made.pointee.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE
            made.pointee.err_recognition = AV_EF_CRCCHECK
            // Otherwise half a JPEG counts as a frame; other decoders would fail for harmless errors.
            if parameters.pointee.codec_id == AV_CODEC_ID_MJPEG { made.pointee.err_recognition |= AV_EF_EXPLODE }
            opened = avcodec_open2(made, decoder, nil)
        }
        guard opened >= 0 else {
            var made: UnsafeMutablePointer<AVCodecContext>? = made
            avcodec_free_context(&made)
            if opened == clibav_out_of_memory { throw .outOfMemory(path) }
            throw .corrupt(path, "The \(name) video cannot be decoded (\(describeAV(opened))); get the file again.")
        }
        return made
    }

    /// More than eight threads cost memory and gain little.
    private static func threadCount(_ asked: Int?) -> Int {
        min(max(asked ?? min(Machine.processorCount, 8), 1), 16)
    }
}

extension FrameRate {
    /// The same rate; nil when it is not valid.
    init?(_ rate: AVRational) {
        self.init(rate.num, per: rate.den)
    }
}
