import CLibAV
import FFmpegSupport
import H264Bitstream
import MediaContainers
import VideoCapturing

/// Decodes H.264 (ITU-T H.264) with libavcodec, without delay: a picture comes out with its own access unit, unless the
/// stream reorders pictures.
///
/// Shows nothing until an IDR picture. A gap in the frames' numbers is loss, which libavcodec itself passes over: it is
/// counted, and nothing is shown until the next IDR picture, since pictures refer to what was lost. The same holds after
/// damage, which throws `corruptData`.
///
/// Pictures in 4:2:0 wrap the decoder's memory without a copy; others are converted as by ``FFmpegReader``.
///
/// Not to be used from two threads at once.
public final class H264Decoder: VideoDecoder {
    /// For readers that are given the codecs a program links.
    public static let factory = VideoDecoderFactory(fourCC: "H264") { try H264Decoder() }

    /// Whether what comes is skipped until an IDR picture: at the beginning, after loss, and after damage.
    public private(set) var isWaitingForKeyFrame = true
    /// The number of frames that are missing in the stream, by the frames' numbers.
    public private(set) var lostFrameCount: UInt64 = 0
    /// The number of access units that were skipped while waiting for an IDR picture.
    public private(set) var skippedUnitCount: UInt64 = 0
    /// Color matrix and range of the last picture.
    public private(set) var color = ColorDescription.assumed(for: .i420)

    private let showsDamage: Bool
    private let pool = FramePool()
    private let maker: PictureMaker
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var numbers = FrameNumberTracker()

    /// - Parameters:
    ///   - configuration: the parameter sets, where packets have none: a track's `avcC`.
    ///   - maximumPixelCount: larger pictures are refused with `corruptData`, so that some damaged bytes cannot ask for half
    ///     a gigabyte.
    ///   - showsDamage: whether pictures are shown after loss and damage, before the next IDR picture; for streams that
    ///     refresh the picture bit by bit and have no other.
    /// - Throws: `CodecError`.
    public init(
        configuration: AVCDecoderConfiguration? = nil, maximumPixelCount: Int = FFmpegReader.maximumPixelCount,
        showsDamage: Bool = false
    ) throws(CodecError) {
        _ = FFmpegLibrary.prepared
        self.showsDamage = showsDamage
        maker = PictureMaker(path: "H.264", isStillCodec: false, frames: pool)
        guard let decoder = avcodec_find_decoder(AV_CODEC_ID_H264) else {
            throw CodecError(
                .library, operation: "set up the decoder", subject: "H.264",
                message: "This FFmpeg has no decoder for H.264; install one that has, as Debian's libavcodec59.")
        }
        var made = avcodec_alloc_context3(decoder)
        var packet = av_packet_alloc()
        guard let context = made, let allocated = packet else {
            avcodec_free_context(&made)
            av_packet_free(&packet)
            throw H264Decoder.outOfMemory("set up the decoder")
        }
        // Frame threads hold a picture back each.
        context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        context.pointee.thread_count = 1
        context.pointee.thread_type = FF_THREAD_SLICE
        context.pointee.max_pixels = Int64(clamping: maximumPixelCount)
        let opened = avcodec_open2(context, decoder, nil)
        guard opened >= 0 else {
            avcodec_free_context(&made)
            av_packet_free(&packet)
            throw CodecError(
                opened == clibav_out_of_memory ? .outOfMemory : .library, operation: "set up the decoder",
                subject: "H.264", libraryCode: opened, message: "FFmpeg cannot decode H.264: \(describeAV(opened)).")
        }
        self.context = context
        self.packet = allocated
        if let configuration {
            configuration.annexB.withUnsafeBytes { sets in
                _ = numbers.add(sets)
                // Without a picture it counts as an error.
                _ = send(sets, time: .zero)
            }
        }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    public func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        try decode(packet, time: .zero) { buffer, _ in try output(buffer) }
    }

    /// Decodes one access unit with its time, which is that of the picture that comes out, also where the stream reorders
    /// pictures.
    ///
    /// - Parameters:
    ///   - unit: an access unit as a byte stream (annex B).
    ///   - time: its presentation time.
    ///   - output: takes each picture with its time: at most one for a unit, and none while waiting for an IDR picture.
    /// - Throws: `CodecError` with the code `corruptData` for damaged bytes, `outOfMemory`, and `formatUnsupported` for
    ///   samples that cannot be converted; what `output` throws.
    public func decode(
        _ unit: UnsafeRawBufferPointer, time: Duration, output: (PixelBuffer, Duration) throws -> Void
    ) throws {
        guard let picture = numbers.add(unit) else {
            let types = AnnexB.units(in: unit).lazy.map(\.type)
            if types.contains(where: \.isSlice) {
                skippedUnitCount += 1
            } else if types.contains(where: { $0 == .sps || $0 == .pps }) {
                _ = send(unit, time: time)
            }
            return
        }
        if picture.lostFrames > 0 {
            lostFrameCount += UInt64(picture.lostFrames)
            if !showsDamage { isWaitingForKeyFrame = true }
        }
        if picture.isIDR { isWaitingForKeyFrame = false }
        guard !isWaitingForKeyFrame else {
            skippedUnitCount += 1
            return
        }
        let sent = send(unit, time: time)
        guard sent >= 0 else { throw damage(sent) }
        while try receive(output) {}
    }

    /// Forgets what came so far, as after a lost connection: nothing is shown until an IDR picture.
    public func reset() {
        avcodec_flush_buffers(context)
        numbers.reset()
        isWaitingForKeyFrame = true
    }

    /// Hands out the pictures that are held back where a stream reorders them, at its end; then resets.
    ///
    /// - Parameter output: takes each picture with its time.
    /// - Throws: as ``decode(_:time:output:)``.
    public func flush(output: (PixelBuffer, Duration) throws -> Void) throws {
        defer { reset() }
        _ = avcodec_send_packet(context, nil)
        while try receive(output) {}
    }

    /// libavcodec copies the bytes, since they are not its own.
    private func send(_ bytes: UnsafeRawBufferPointer, time: Duration) -> Int32 {
        // An empty packet would be the end of the stream.
        guard !bytes.isEmpty, let size = Int32(exactly: bytes.count) else { return 0 }
        packet.pointee.data = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        packet.pointee.size = size
        packet.pointee.pts = time.nanoseconds
        return avcodec_send_packet(context, packet)
    }

    /// False when there is no further picture.
    private func receive(_ output: (PixelBuffer, Duration) throws -> Void) throws -> Bool {
        guard let lent = pool.take() else { throw H264Decoder.outOfMemory("decode a packet") }
        let result = avcodec_receive_frame(context, lent.frame)
        guard result >= 0 else {
            pool.restore(lent)
            if result == clibav_again || result == clibav_end { return false }
            throw damage(result)
        }
        let frame = lent.frame.pointee
        let isDamaged = frame.flags & AV_FRAME_FLAG_CORRUPT != 0 || frame.decode_error_flags != 0
        guard !isDamaged || showsDamage else {
            pool.restore(lent)
            throw damage(nil)
        }
        let picture: (buffer: PixelBuffer, color: ColorDescription)
        do {
            picture = try maker.makePicture(lent)
        } catch let error as MediaFileError {
            throw CodecError(
                .formatUnsupported, operation: "decode a packet", subject: "H.264", message: error.message)
        }
        color = picture.color
        try output(picture.buffer, .nanoseconds(frame.pts == clibav_no_time ? 0 : frame.pts))
        return true
    }

    private func damage(_ code: Int32?) -> CodecError {
        if code == clibav_out_of_memory { return H264Decoder.outOfMemory("decode a packet") }
        if !showsDamage { isWaitingForKeyFrame = true }
        return CodecError(
            .corruptData, operation: "decode a packet", subject: "H.264", libraryCode: code,
            message: "The packet is cut off or damaged; pictures are shown again from the next key frame.")
    }

    private static func outOfMemory(_ operation: String) -> CodecError {
        CodecError(
            .outOfMemory, operation: operation, subject: "H.264",
            message: "The machine has no memory left for the pictures; close other programs or use a smaller size.")
    }
}
