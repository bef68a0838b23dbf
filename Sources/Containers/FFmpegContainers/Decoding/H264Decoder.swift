import CLibAV
import FFmpegSupport
import H264Bitstream
import MediaContainers
import VideoCapturing

/// Decodes H.264 (ITU-T H.264) with libavcodec, without delay: a picture comes out with its own access unit, unless the
/// stream reorders pictures.
///
/// Decoding begins at an IDR picture, or at a recovery point (an SEI message), whose pictures are shown once they are whole
/// again; in a stream that has shown neither also at a picture that refers to no other. A gap in the frames' numbers is
/// loss, which libavcodec itself passes over: it is counted, and nothing is shown until decoding can begin again, since
/// pictures refer to what was lost. The same holds after damage, which throws `corruptData`.
///
/// Pictures in 4:2:0 wrap the decoder's memory without a copy; others are converted as by ``FFmpegReader``.
///
/// Not to be used from two threads at once.
public final class H264Decoder: VideoDecoder {
    /// For readers that are given the codecs a program links.
    public static let factory = VideoDecoderFactory(fourCC: "H264") { try H264Decoder() }

    /// Whether nothing is shown until decoding can begin: at the beginning, after loss, and after damage.
    public private(set) var isWaitingForKeyFrame = true
    /// The number of frames that are missing in the stream, by the frames' numbers.
    public private(set) var lostFrameCount: UInt64 = 0
    /// The number of access units that were not shown while waiting for a picture at which decoding can begin.
    public private(set) var skippedUnitCount: UInt64 = 0
    /// Color matrix and range of the last picture.
    public private(set) var color = ColorDescription.assumed(for: .i420)
    public private(set) var isInterlaced = false

    private let showsDamage: Bool
    private let pool = FramePool()
    private let maker: PictureMaker
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var numbers = FrameNumberTracker()
    /// Whether pictures are decoded from a recovery point on, and not whole yet.
    private var isRecovering = false
    /// Whether pictures were decoded before those that are waited for.
    private var mustRestart = false

    /// The maximum number of pixels of the frames that a decoder holds: those of level 6.2 (MaxDpbMbs; table A-1).
    private static let maximumHeldPixels = 696_320 * 256

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
    ///   - output: takes each picture with its time: mostly one for a unit, and none while waiting for one at which decoding
    ///     can begin. After loss and damage it takes those that were held back.
    /// - Throws: `CodecError` with the code `corruptData` for damaged bytes, `outOfMemory`, and `formatUnsupported` for
    ///   samples that cannot be converted; what `output` throws.
    public func decode(
        _ unit: UnsafeRawBufferPointer, time: Duration, output: (PixelBuffer, Duration) throws -> Void
    ) throws {
        guard let picture = numbers.add(unit) else {
            if AnnexB.units(in: unit).contains(where: { $0.type.isSlice }) { skippedUnitCount += 1 }
            takeParameterSets(of: unit)
            return
        }
        if picture.lostFrames > 0 {
            lostFrameCount += UInt64(picture.lostFrames)
            beginWaiting()
        }
        if mustRestart, isWaitingForKeyFrame, !isRecovering { try restart(output) }
        if picture.isEntry, isWaitingForKeyFrame {
            isRecovering = picture.recoveryFrames > 0
            isWaitingForKeyFrame = isRecovering
        }
        guard !isWaitingForKeyFrame || isRecovering else {
            skippedUnitCount += 1
            takeParameterSets(of: unit)
            return
        }
        mustRestart = true
        // libavcodec finds out by what it has shown too early, and leaves out the rest.
        context.pointee.has_b_frames = max(context.pointee.has_b_frames, Int32(picture.reorderedFrames))
        let sent = send(unit, time: time)
        // What a recovery point's first pictures refer to may never have been there.
        guard sent >= 0 || isRecovering && sent != clibav_out_of_memory else { throw damage(sent) }
        try checkMemory()
        var hasPicture = false
        while try receive({ picture, time in
            hasPicture = true
            try output(picture, time)
        }) {}
        guard isRecovering else { return }
        if hasPicture {
            (isRecovering, isWaitingForKeyFrame) = (false, false)
        } else {
            skippedUnitCount += 1
        }
    }

    /// A picture at which decoding begins may come without those that it needs.
    private func takeParameterSets(of unit: UnsafeRawBufferPointer) {
        // Without a picture libavcodec counts them as an error.
        AnnexB.parameterSets(of: unit).withUnsafeBytes { _ = send($0, time: .zero) }
    }

    /// Nothing is shown until decoding can begin again.
    private func beginWaiting() {
        guard !showsDamage else { return }
        (isWaitingForKeyFrame, isRecovering) = (true, false)
    }

    /// Hands out the pictures that are held back, and makes libavcodec begin again: otherwise it would take what comes for
    /// the continuation of what was lost.
    private func restart(_ output: (PixelBuffer, Duration) throws -> Void) throws {
        _ = avcodec_send_packet(context, nil)
        while true {
            do {
                guard try receive(output) else { break }
            } catch let error as CodecError where error.code == .corruptData {
                continue
            }
        }
        avcodec_flush_buffers(context)
        mustRestart = false
    }

    /// Throws for pictures of which more are kept, to refer to them or to reorder them, than any level allows: some bytes
    /// cannot take a gigabyte so.
    private func checkMemory() throws {
        let pixels = Int(context.pointee.coded_width) * Int(context.pointee.coded_height)
        let frames = Int(max(context.pointee.refs, context.pointee.has_b_frames))
        guard frames * pixels > H264Decoder.maximumHeldPixels else { return }
        context.pointee.has_b_frames = 0
        throw damage(nil)
    }

    /// Forgets what came so far, as after a lost connection: nothing is shown until decoding can begin.
    public func reset() {
        avcodec_flush_buffers(context)
        numbers.reset()
        (isWaitingForKeyFrame, isRecovering, mustRestart) = (true, false, false)
    }

    /// Hands out the pictures that are held back where a stream reorders them, at its end; then resets.
    ///
    /// - Parameter output: takes each picture with its time.
    /// - Throws: as ``decode(_:time:output:)``, but `corruptData`: damaged pictures are left out.
    public func flush(output: (PixelBuffer, Duration) throws -> Void) throws {
        defer { reset() }
        try restart(output)
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
        isInterlaced = clibav_is_interlaced(lent.frame) != 0
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
        beginWaiting()
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
