import CLibAV
import FFmpegSupport
import MediaContainers
import VideoCapturing

/// An open file, and the selected stream.
final class Demuxer {
    /// What is selected of a file.
    enum Media {
        case video
        case sound
        /// Pictures and sound, where there are both.
        case all
    }

    let context: UnsafeMutablePointer<AVFormatContext>
    /// The library's name of the format.
    let name: String
    /// The error of the last read of the file.
    var readError: MediaFileError? { source?.error }

    /// For a seek: what is read after it may be in order.
    func forgetReadError() { source?.forgetError() }

    private let file: InputFile?
    private let path: String
    private let source: ByteSource?
    private let statedEnd: StatedEnd?
    /// The selected streams; the first one is ``stream``.
    let indices: [Int32]

    /// Opens the file and analyzes its streams.
    ///
    /// - Parameters:
    ///   - request: the file, or the sequence of pictures.
    ///   - media: which stream is selected.
    ///   - firstNumber: the first picture of a sequence; nil for the lowest number.
    /// - Throws: `formatUnsupported` for a file without the media or of an unknown format, `corruptData` for one that
    ///   cannot be parsed.
    init(
        _ request: FrameReaderFactory.Request, _ media: Media = .video, firstNumber: Int? = nil
    ) throws(MediaFileError) {
        _ = FFmpegLibrary.prepared
        file = request.file
        path = request.file?.path ?? request.path
        let demuxer = try Demuxer.chooseDemuxer(request)
        name = InputProbe.name(of: demuxer)
        statedEnd = if let file = request.file { try StatedEnd(of: file, demuxer: name) } else { nil }
        source = if let file = request.file { try ByteSource(file) } else { nil }
        context = try Demuxer.open(request, demuxer, source, firstNumber)
        do {
            indices = try Demuxer.chooseStreams(context, path, source, media)
        } catch {
            var context: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&context)
            throw error
        }
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
    }

    var stream: UnsafeMutablePointer<AVStream> { context.pointee.streams[Int(indices[0])]! }

    /// The shape of a frame's pixels: what the container states, or else the frame; square where neither does.
    func pixelAspect(of frame: UnsafeMutablePointer<AVFrame>) -> PixelAspect {
        let ratio = av_guess_sample_aspect_ratio(context, stream, frame)
        return PixelAspect(width: Int(ratio.num), height: Int(ratio.den)) ?? .square
    }

    /// The shape of the pixels that a stream states; square where it states none.
    func pixelAspect(of stream: UnsafeMutablePointer<AVStream>) -> PixelAspect {
        let ratio = av_guess_sample_aspect_ratio(context, stream, nil)
        return PixelAspect(width: Int(ratio.num), height: Int(ratio.den)) ?? .square
    }

    /// When the pictures of the file begin, in nanoseconds on the scale of its streams; nil without pictures.
    var videoStart: Int64? {
        let index = clibav_best_video(context)
        guard index >= 0, let video = context.pointee.streams[Int(index)], video.pointee.start_time != clibav_no_time,
            video.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
        else { return nil }
        return av_rescale_q(video.pointee.start_time, video.pointee.time_base, AVRational(num: 1, den: 1_000_000_000))
    }

    /// Reads the next packet of the selected streams; returns the library's error code.
    ///
    /// - Throws: `interrupted` when the wait for a pipe was. The next call goes on; a packet that had arrived in part
    ///   may be damaged.
    func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaFileError) -> Int32 {
        while true {
            // One that the library has not passed on, since it had a packet left.
            _ = source?.takeInterruption()
            let result = av_read_frame(context, packet)
            if result < 0, let interruption = source?.takeInterruption() { throw interruption }
            guard result >= 0, !indices.contains(packet.pointee.stream_index) else { return result }
            // A stream that was detected only now.
            context.pointee.streams[Int(packet.pointee.stream_index)]?.pointee.discard = AVDISCARD_ALL
            av_packet_unref(packet)
        }
    }

    /// Whether the file has sound, as far as its streams are known.
    var hasSound: Bool {
        (0..<Int(context.pointee.nb_streams)).contains { index in
            context.pointee.streams[index]?.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
        }
    }

    /// Whether this is an MP4 or QuickTime file without a time scale, for which the library assumes seconds.
    var hasNoTimeScale: Bool { name.hasPrefix("mov") && stream.pointee.time_base.den == 1 }

    /// Whether the file has ended after a part of a multipart stream, where the library expects another one.
    var endsWithBoundary: Bool { name == "mpjpeg" && context.pointee.pb?.pointee.eof_reached != 0 }

    /// Whether a transport stream has ended within one of its packets.
    var endsWithinPacket: Bool {
        guard let packetSize = statedEnd?.packetSize, let size = finalSize else { return false }
        return size % packetSize != 0
    }

    /// The error for a missing part, at the end of reading; nil when the file has its stated end, or states none.
    func missingPart() -> MediaFileError? {
        // The library's demuxer of Matroska ends for good.
        if source?.isLeftAlone == true {
            return .corrupt(
                path,
                "The capture was stopped while it waited for more of the pipe, and this format cannot be read on from "
                    + "there; start the program that writes it again.")
        }
        guard file != nil else {
            return PictureSequence(path)?.firstGap.map { gap in
                .corrupt(
                    path,
                    "\(gap.missing) is missing, so \(gap.countAfter) after it \(gap.countAfter == 1 ? "is" : "are") not "
                        + "read; add it, or number the pictures without a gap.")
            }
        }
        guard let size = finalSize else { return nil }
        if name.hasPrefix("mov") {
            var count: Int32 = 0
            let missing = clibav_packets_beyond(stream, size, &count)
            if missing > 0 { return cutOff("\(missing) of its \(count) pictures are") }
        } else if let stated = statedEnd?.size, stated > size {
            return cutOff("\(stated - size) of its \(stated) bytes are")
        }
        return nil
    }

    private func cutOff(_ missing: String) -> MediaFileError {
        .corrupt(path, "The file is cut off: \(missing) missing; the pictures before that are whole.")
    }

    /// The size of the file; of a pipe known after it has been read.
    private var finalSize: Int64? {
        guard let file else { return nil }
        return file.size ?? (context.pointee.pb.pointee.eof_reached != 0 ? file.position : nil)
    }

    private static func chooseDemuxer(
        _ request: FrameReaderFactory.Request
    ) throws(MediaFileError) -> UnsafePointer<AVInputFormat> {
        guard let file = request.file else {
            guard let sequence = av_find_input_format("image2") else {
                throw .unsupported(request.path, "This FFmpeg reads no sequences of pictures; install a complete one.")
            }
            return sequence
        }
        guard let found = try InputProbe.demuxer(for: file) else {
            guard try file.peek(1, { $0.count }) > 0 else {
                throw MediaFileError(
                    .corruptData, operation: "open the file", subject: file.path,
                    message: "The file is empty; check that it was written to its end.")
            }
            throw .unsupported(file.path, "The file is no video and no picture that is known; check that it is one.")
        }
        guard AllowedFormats.contain(InputProbe.name(of: found)) else {
            let kind = found.pointee.long_name.map { String(cString: $0) } ?? InputProbe.name(of: found)
            throw .unsupported(
                file.path, "The file looks like \(kind), which holds no pictures of its own; name the video itself.")
        }
        return found
    }

    private static func open(
        _ request: FrameReaderFactory.Request, _ demuxer: UnsafePointer<AVInputFormat>, _ source: ByteSource?,
        _ firstNumber: Int?
    ) throws(MediaFileError) -> UnsafeMutablePointer<AVFormatContext> {
        var context = avformat_alloc_context()
        guard let made = context else { throw .outOfMemory(request.path) }
        made.pointee.probesize = 5_000_000
        made.pointee.max_analyze_duration = 5_000_000
        made.pointee.max_streams = 100
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "framerate", (request.frameRate ?? 25).description, 0)
        // Demuxers ignore options that they do not know.
        let url: String
        if let source {
            made.pointee.pb = source.context
            clibav_contain(made)
            av_dict_set(&options, "format_whitelist", AllowedFormats.list, 0)
            av_dict_set(&options, "protocol_whitelist", "none", 0)
            url = ""
        } else {
            av_dict_set(&options, "format_whitelist", "image2", 0)
            av_dict_set(&options, "protocol_whitelist", "file", 0)
            av_dict_set(&options, "pattern_type", "sequence", 0)
            // The first file may have any number up to this.
            av_dict_set(&options, "start_number_range", "1000", 0)
            if let firstNumber { av_dict_set(&options, "start_number", "\(firstNumber)", 0) }
            // So that no name is interpreted as a protocol.
            url = "file:" + request.path
        }
        let result = avformat_open_input(&context, url, demuxer, &options)
        guard result >= 0, let context else {
            throw source?.error ?? Demuxer.openError(result, request)
        }
        return context
    }

    private static func openError(_ code: Int32, _ request: FrameReaderFactory.Request) -> MediaFileError {
        if code == clibav_out_of_memory { return .outOfMemory(request.path) }
        guard let file = request.file else {
            return MediaFileError(
                .notFound, operation: "open the file", subject: request.path,
                message: "There is no picture of this name with a number up to 1000; check the folder and the pattern.")
        }
        if !file.isSeekable {
            return .corrupt(
                file.path,
                "The data make no sense (\(describeAV(code))). An MP4 file with its index at the end cannot be read "
                    + "from a pipe: save it as a file, or make it with `-movflags +faststart`.")
        }
        return .corrupt(
            file.path, "The file is damaged or was not written to its end (\(describeAV(code))); get it again.")
    }

    private static func chooseStreams(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ path: String, _ source: ByteSource?, _ media: Media
    ) throws(MediaFileError) -> [Int32] {
        let looked = clibav_find_stream_info(context, "threads=1:max_pixels=\(FFmpegReader.maximumPixelCount)")
        if let error = source?.error { throw error }
        if looked == clibav_out_of_memory { throw .outOfMemory(path) }
        let streams = (0..<Int(context.pointee.nb_streams)).compactMap { context.pointee.streams[$0] }
        let pictures = media == .sound ? [] : [clibav_best_video(context)]
        let best = pictures + (media == .video ? [] : [clibav_best_audio(context)])
        let chosen = best.filter { index in
            index >= 0 && streams.indices.contains(Int(index))
                && streams[Int(index)].pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
        }
        guard !chosen.isEmpty else {
            guard media != .sound else { throw .unsupported(path, "The file holds no sound; choose one that does.") }
            if streams.contains(where: { $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO }) {
                throw .unsupported(
                    path,
                    "The file holds sound but no video; choose one with pictures, or play it with a player of sound, such "
                        + "as ffplay.")
            }
            throw looked < 0
                ? .corrupt(
                    path, "The file is damaged: nothing in it makes sense (\(describeAV(looked))); get it again.")
                : .corrupt(path, "The file holds no video; check that it was written to its end.")
        }
        for (number, stream) in streams.enumerated() where !chosen.contains(Int32(number)) {
            stream.pointee.discard = AVDISCARD_ALL
        }
        return chosen
    }
}
