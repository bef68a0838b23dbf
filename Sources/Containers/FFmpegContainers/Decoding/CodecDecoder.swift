import CLibAV
import FFmpegSupport
import MediaContainers
import VideoCapturing

/// A decoder of libavcodec for packets without a container. Not to be used from two threads at once.
final class CodecDecoder {
    /// A result.
    enum Output {
        /// Nothing more, before another packet or for good.
        case nothing
        /// A picture that is cut off or damaged, with the library's code, if it has one.
        case damage(Int32?)
        /// A picture, with the time of its packet.
        case picture(PixelBuffer, Duration, isKey: Bool)
    }

    let context: UnsafeMutablePointer<AVCodecContext>
    /// Whether damaged pictures come out as others do.
    var showsDamage = false
    /// Color matrix and range of the last picture.
    private(set) var color = ColorDescription.assumed(for: .i420)
    /// Whether the last picture has two fields of different times.
    private(set) var isInterlaced = false

    private let name: String
    private let pool = FramePool()
    private let maker: PictureMaker
    private let packet: UnsafeMutablePointer<AVPacket>

    /// - Parameters:
    ///   - codec: what the packets are.
    ///   - name: of the codec, for errors.
    ///   - threads: how many work on one picture.
    ///   - maximumPixelCount: larger pictures count as damage.
    /// - Throws: `library` where this FFmpeg has no such decoder, `outOfMemory`.
    init(_ codec: AVCodecID, _ name: String, threads: Int, maximumPixelCount: Int) throws(CodecError) {
        _ = FFmpegLibrary.prepared
        self.name = name
        maker = PictureMaker(path: name, isStillCodec: false, frames: pool)
        guard let decoder = avcodec_find_decoder(codec) else {
            throw CodecError(
                .library, operation: "set up the decoder", subject: name,
                message: "This FFmpeg has no decoder for \(name); install one that has, as Debian's libavcodec59.")
        }
        var made = avcodec_alloc_context3(decoder)
        var packet = av_packet_alloc()
        guard let context = made, let allocated = packet else {
            avcodec_free_context(&made)
            av_packet_free(&packet)
            throw CodecDecoder.outOfMemory("set up the decoder", name)
        }
        // Frame threads hold a picture back each.
        context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        context.pointee.thread_count = Int32(threads)
        context.pointee.thread_type = FF_THREAD_SLICE
        context.pointee.max_pixels = Int64(clamping: maximumPixelCount)
        let opened = avcodec_open2(context, decoder, nil)
        guard opened >= 0 else {
            avcodec_free_context(&made)
            av_packet_free(&packet)
            throw CodecError(
                opened == clibav_out_of_memory ? .outOfMemory : .library, operation: "set up the decoder",
                subject: name, libraryCode: opened, message: "FFmpeg cannot decode \(name): \(describeAV(opened)).")
        }
        self.context = context
        self.packet = allocated
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// Hands bytes to the library, which copies them, since they are not its own.
    ///
    /// - Returns: the library's code; negative for an error.
    func send(_ bytes: UnsafeRawBufferPointer, time: Duration) -> Int32 {
        // An empty packet would be the end of the stream.
        guard !bytes.isEmpty, let size = Int32(exactly: bytes.count) else { return 0 }
        packet.pointee.data = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        packet.pointee.size = size
        packet.pointee.pts = time.nanoseconds
        return avcodec_send_packet(context, packet)
    }

    /// Has the library give what it holds back; ``reset()`` is to follow.
    func sendEnd() { _ = avcodec_send_packet(context, nil) }

    /// Forgets the packets so far.
    func reset() { avcodec_flush_buffers(context) }

    /// The next picture.
    ///
    /// - Throws: `CodecError` with the code `outOfMemory`, or `formatUnsupported` for samples that cannot be converted.
    func receive() throws -> Output {
        guard let lent = pool.take() else { throw CodecDecoder.outOfMemory("decode a packet", name) }
        let result = avcodec_receive_frame(context, lent.frame)
        guard result >= 0 else {
            pool.restore(lent)
            return result == clibav_again || result == clibav_end ? .nothing : .damage(result)
        }
        let frame = lent.frame.pointee
        let isDamaged = frame.flags & AV_FRAME_FLAG_CORRUPT != 0 || frame.decode_error_flags != 0
        guard !isDamaged || showsDamage else {
            pool.restore(lent)
            return .damage(nil)
        }
        isInterlaced = clibav_is_interlaced(lent.frame) != 0
        let isKey = clibav_is_key(lent.frame) != 0
        do {
            let picture = try maker.makePicture(lent)
            color = picture.color
            return .picture(picture.buffer, .nanoseconds(frame.pts == clibav_no_time ? 0 : frame.pts), isKey: isKey)
        } catch let error as MediaFileError {
            throw CodecError(.formatUnsupported, operation: "decode a packet", subject: name, message: error.message)
        }
    }

    /// The error of a damaged packet, or of memory that is missing.
    func error(_ code: Int32?) -> CodecError {
        if code == clibav_out_of_memory { return CodecDecoder.outOfMemory("decode a packet", name) }
        return CodecError(
            .corruptData, operation: "decode a packet", subject: name, libraryCode: code,
            message: "The packet is cut off or damaged; pictures are shown again from the next key frame.")
    }

    private static func outOfMemory(_ operation: String, _ name: String) -> CodecError {
        CodecError(
            .outOfMemory, operation: operation, subject: name,
            message: "The machine has no memory left for the pictures; close other programs or use a smaller size.")
    }
}
