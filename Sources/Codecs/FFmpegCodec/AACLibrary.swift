import AudioCapturing
import CLibAV
import FFmpegSupport

/// An open encoder of libavcodec for AAC. Used by one thread at a time.
final class AACLibrary {
    /// The frames of a packet of AAC-LC, and as many as a decoder gives before the first one that was encoded.
    static let framesPerPacket = 1024
    /// The rates of AAC (ISO/IEC 14496-3, table 1.18) that sound is recorded with.
    private static let sampleRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000,
    ]

    /// What a decoder needs to know (ISO/IEC 14496-3, 1.6.2.1).
    let audioSpecificConfig: PacketBuffer

    private let channels: Int
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var framesSent: Int64 = 0

    init(_ format: AudioFormat, bitrate: Int) throws(CodecError) {
        _ = FFmpegLibrary.prepared
        guard AACLibrary.sampleRates.contains(format.sampleRate), (1...2).contains(format.channels.count) else {
            throw CodecError(
                .formatUnsupported, operation: "encode sound", subject: "AAC",
                message: "AAC is made of mono and stereo at 8 to 96 kHz; convert \(format) with AudioResampling first.")
        }
        guard let codec = avcodec_find_encoder_by_name("aac") else {
            throw CodecError(
                .unavailable, operation: "open the encoder", subject: "AAC",
                message: "This FFmpeg has no encoder of that name; install Debian's libavcodec.")
        }
        guard let context = avcodec_alloc_context3(codec), let frame = av_frame_alloc(), let packet = av_packet_alloc()
        else { throw .encoder("AAC", clibav_out_of_memory, "make the encoder") }
        channels = format.channels.count
        self.context = context
        self.frame = frame
        self.packet = packet
        context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointee.sample_rate = Int32(format.sampleRate)
        context.pointee.time_base = AVRational(num: 1, den: Int32(format.sampleRate))
        context.pointee.bit_rate = Int64(bitrate)
        // The configuration goes into the track, not before each packet.
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointee.ch_layout, Int32(channels))
        var result = avcodec_open2(context, codec, nil)
        if result >= 0 {
            frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
            frame.pointee.sample_rate = context.pointee.sample_rate
            frame.pointee.nb_samples = Int32(AACLibrary.framesPerPacket)
            av_channel_layout_default(&frame.pointee.ch_layout, Int32(channels))
            result = av_frame_get_buffer(frame, 0)
        }
        let header = UnsafeRawBufferPointer(
            start: context.pointee.extradata, count: max(0, Int(context.pointee.extradata_size)))
        audioSpecificConfig = PacketBuffer(copying: header)
        guard result >= 0 else { throw .encoder("AAC", result, "open the encoder") }
        guard !header.isEmpty, Int(context.pointee.frame_size) == AACLibrary.framesPerPacket,
            Int(context.pointee.initial_padding) == AACLibrary.framesPerPacket
        else {
            throw CodecError(
                .library, operation: "open the encoder", subject: "AAC",
                message:
                    "This version of FFmpeg encodes with another delay than 1024 samples, which files would not state; "
                    + "use Opus.")
        }
    }

    deinit {
        var (context, frame, packet) = (Optional(context), Optional(frame), Optional(packet))
        avcodec_free_context(&context)
        av_frame_free(&frame)
        av_packet_free(&packet)
    }

    /// From the next packet on.
    func setBitrate(_ bitrate: Int) { context.pointee.bit_rate = Int64(bitrate) }

    /// Encodes ``framesPerPacket`` frames, interleaved.
    func send(_ samples: [Float]) throws(CodecError) {
        // The encoder may still hold the memory of the frame before.
        var result = av_frame_make_writable(frame)
        guard result >= 0 else { throw .encoder("AAC", result, "encode sound") }
        for (channel, plane) in [frame.pointee.data.0, frame.pointee.data.1].prefix(channels).enumerated() {
            guard let plane else { continue }
            plane.withMemoryRebound(to: Float.self, capacity: AACLibrary.framesPerPacket) { plane in
                for index in 0..<AACLibrary.framesPerPacket {
                    let sample = samples[index * channels + channel]
                    // The library refuses NaN, and values far out of range.
                    plane[index] = abs(sample) < 1e6 ? sample : 0
                }
            }
        }
        frame.pointee.pts = framesSent
        framesSent += Int64(AACLibrary.framesPerPacket)
        result = avcodec_send_frame(context, frame)
        guard result >= 0 else { throw .encoder("AAC", result, "encode sound") }
    }

    /// Signals the end of the samples to the encoder.
    func sendEnd() throws(CodecError) {
        let result = avcodec_send_frame(context, nil)
        guard result >= 0 else { throw .encoder("AAC", result, "encode sound") }
    }

    /// The bytes of the next packet, which are valid during the call; nil without one.
    func receive<Result>(_ body: (UnsafeRawBufferPointer) -> Result) throws(CodecError) -> Result? {
        let result = avcodec_receive_packet(context, packet)
        if result == clibav_again || result == clibav_end { return nil }
        guard result >= 0 else { throw .encoder("AAC", result, "encode sound") }
        defer { av_packet_unref(packet) }
        return body(UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }
}
