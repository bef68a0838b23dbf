import AudioCapturing
import AudioResampling
import CLibAV
import FFmpegSupport
import MediaContainers

/// Reads the sound of any file that FFmpeg can read: the stream that the library takes for the best one.
///
/// Times are those of the file, which count from its first picture, so that sound that begins before it has negative ones.
/// More than two channels are mixed down to two. A change of format in the middle is converted to the first one.
final class FFmpegSoundReader: SoundReader {
    let channelCount: Int
    let sampleRate: Int

    private let path: String
    private let demuxer: Demuxer
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let frame: UnsafeMutablePointer<AVFrame>
    /// When the pictures begin, in nanoseconds on the scale of the streams.
    private let origin: Int64
    private var resampler: AudioResampler?
    private var decoded: [Float] = []
    private var converted: [Float] = []
    /// When the next frame of sound is due, where the file does not say.
    private var nextTime: Duration?
    /// What is added to the times of the file, since they have gone back or jumped.
    private var offset = Duration.zero
    private var hasRead = false
    /// What comes before is left out.
    private var floor: Duration?

    /// - Parameter request: the file to open.
    /// - Throws: `formatUnsupported` for a file without sound or a decoder for it, `corruptData`.
    init(_ request: FrameReaderFactory.Request) throws(MediaFileError) {
        path = request.file?.path ?? request.path
        demuxer = try Demuxer(request, .sound)
        let stream = demuxer.stream.pointee
        let parameters = stream.codecpar!
        let channels = Int(clibav_channels_of(parameters))
        let rate = Int(parameters.pointee.sample_rate)
        guard let decoder = avcodec_find_decoder(parameters.pointee.codec_id), (1...8).contains(channels),
            (1...768_000).contains(rate)
        else {
            throw .unsupported(
                path,
                "The sound is in a format for which there is no decoder here; convert it with a program that has one.")
        }
        channelCount = min(channels, 2)
        sampleRate = rate
        let start = stream.start_time == clibav_no_time ? 0 : FFmpegSoundReader.nanoseconds(stream.start_time, stream)
        origin = demuxer.videoStart ?? start
        guard let packet = av_packet_alloc(), let frame = av_frame_alloc(),
            let context = avcodec_alloc_context3(decoder)
        else { throw .outOfMemory(path) }
        self.packet = packet
        self.frame = frame
        self.context = context
        // From here on the deinitializer frees.
        context.pointee.pkt_timebase = stream.time_base
        guard avcodec_parameters_to_context(context, parameters) >= 0, avcodec_open2(context, decoder, nil) >= 0 else {
            throw .unsupported(path, "The sound cannot be decoded; get the file again.")
        }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    func readSamples(_ body: (_ samples: UnsafeBufferPointer<Float>, _ time: Duration) -> Void) throws -> Bool {
        var failures = 0
        while true {
            switch avcodec_receive_frame(context, frame) {
            case 0:
                defer { av_frame_unref(frame) }
                if try deliver(body) { return true }
            case clibav_again: try feed()
            case clibav_end: return false
            case clibav_out_of_memory: throw MediaFileError.outOfMemory(path)
            default:
                // Damage; a decoder that never asks for a packet would loop forever.
                failures += 1
                if failures > 1000 { throw MediaFileError.corrupt(path, "The decoder of the sound gives up.") }
            }
        }
    }

    func seek(to time: Duration) throws {
        // In recordings that were joined the library may find the beginning of a later one.
        guard hasRead || time > .zero else {
            floor = time
            return
        }
        let stream = demuxer.stream
        let target = av_rescale_q(
            time.nanoseconds &+ origin, AVRational(num: 1, den: 1_000_000_000), stream.pointee.time_base)
        guard av_seek_frame(demuxer.context, stream.pointee.index, target, AVSEEK_FLAG_BACKWARD) >= 0 else {
            throw MediaFileError(
                .formatUnsupported, operation: "seek", subject: path,
                message: "The sound of this file cannot be sought in; convert it to MP4 or Matroska.")
        }
        demuxer.forgetReadError()
        avcodec_flush_buffers(context)
        nextTime = nil
        offset = .zero
        floor = time
        try resampler?.reset()
    }

    /// Hands over the samples of the frame; false where none of them are wanted.
    private func deliver(_ body: (UnsafeBufferPointer<Float>, Duration) -> Void) throws -> Bool {
        let count = Int(frame.pointee.nb_samples)
        let channels = Int(clibav_channel_count(frame))
        let rate = Int(frame.pointee.sample_rate)
        guard count > 0, (1...8).contains(channels), (1...768_000).contains(rate) else { return false }
        if decoded.count < count * channels { decoded = [Float](repeating: 0, count: count * channels) }
        guard decoded.withUnsafeMutableBufferPointer({ clibav_interleave(frame, $0.baseAddress!) }) != 0 else {
            return false
        }
        let stated = frame.pointee.best_effort_timestamp
        let time =
            stated == clibav_no_time
            ? nextTime ?? .zero
            : continuous(.nanoseconds(FFmpegSoundReader.nanoseconds(stated, demuxer.stream.pointee) &- origin))
        nextTime = time + .nanoseconds(Int64(count) * 1_000_000_000 / Int64(rate))
        let given = try converted(count, channels, rate)
        // In frames of the output, from the time that was sought.
        let early = floor.map { ($0 - time).nanoseconds } ?? 0
        let skipped = early > 0 ? Int(Int128(early) * Int128(sampleRate) / 1_000_000_000) : 0
        guard skipped < given.count / channelCount else { return false }
        floor = nil
        let begin = time + .nanoseconds(Int64(skipped) * 1_000_000_000 / Int64(sampleRate))
        given.withUnsafeBufferPointer { samples in
            body(UnsafeBufferPointer(rebasing: samples[(skipped * channelCount)...]), begin)
        }
        return true
    }

    /// A time of the file, as the pictures' times go on where recordings were joined; see `ContinuousTime`.
    private func continuous(_ stated: Duration) -> Duration {
        guard let nextTime else { return stated + offset }
        let step = stated + offset - nextTime
        let isTooFar = AllowedFormats.largestStep(demuxer.name).map { step > $0 } ?? false
        if isTooFar || .zero - step > FFmpegSoundReader.longestOverlap { offset -= step }
        return stated + offset
    }

    /// How far sound may begin before the end of that before it.
    private static let longestOverlap = Duration.milliseconds(100)

    /// The decoded samples in the format of this reader.
    private func converted(_ count: Int, _ channels: Int, _ rate: Int) throws -> ArraySlice<Float> {
        guard channels != channelCount || rate != sampleRate else { return decoded[..<(count * channels)] }
        let input = AudioFormat(.float32, ChannelLayout(count: channels), sampleRate: rate)
        if resampler?.input != input {
            resampler = try AudioResampler(
                from: input, to: AudioFormat(.float32, ChannelLayout(count: channelCount), sampleRate: sampleRate))
        }
        guard let resampler else { return [] }
        let room = resampler.outputCapacity(forInput: count) * channelCount
        if converted.count < room { converted = [Float](repeating: 0, count: room) }
        let frames = try decoded.withUnsafeBytes { input in
            try converted.withUnsafeMutableBytes { output in
                try resampler.convert(
                    UnsafeRawBufferPointer(rebasing: input[..<(count * channels * MemoryLayout<Float>.stride)]),
                    into: output)
            }
        }
        return converted[..<(frames * channelCount)]
    }

    /// Sends the decoder one packet, or the end of the stream.
    private func feed() throws(MediaFileError) {
        var retries = 0
        hasRead = true
        while true {
            let result = try demuxer.read(into: packet)
            if result == clibav_again, retries < 1000 {
                retries += 1
                continue
            }
            guard result >= 0 else {
                if let error = demuxer.readError { throw error }
                _ = avcodec_send_packet(context, nil)
                return
            }
            defer { av_packet_unref(packet) }
            // An empty packet would signal the end of the stream.
            guard packet.pointee.size > 0, packet.pointee.flags & AV_PKT_FLAG_CORRUPT == 0 else { continue }
            if avcodec_send_packet(context, packet) == clibav_out_of_memory { throw .outOfMemory(path) }
            return
        }
    }

    private static func nanoseconds(_ units: Int64, _ stream: AVStream) -> Int64 {
        av_rescale_q(units, stream.time_base, AVRational(num: 1, den: 1_000_000_000))
    }
}
