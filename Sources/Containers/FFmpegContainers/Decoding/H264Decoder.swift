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
    public var color: ColorDescription { decoder.color }
    public var isInterlaced: Bool { decoder.isInterlaced }

    private let showsDamage: Bool
    private let decoder: CodecDecoder
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
        self.showsDamage = showsDamage
        decoder = try CodecDecoder(AV_CODEC_ID_H264, "H.264", threads: 1, maximumPixelCount: maximumPixelCount)
        decoder.showsDamage = showsDamage
        if let configuration {
            configuration.annexB.withUnsafeBytes { sets in
                _ = numbers.add(sets)
                // Without a picture it counts as an error.
                _ = decoder.send(sets, time: .zero)
            }
        }
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
        let context = decoder.context
        context.pointee.has_b_frames = max(context.pointee.has_b_frames, Int32(picture.reorderedFrames))
        let sent = decoder.send(unit, time: time)
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
        AnnexB.parameterSets(of: unit).withUnsafeBytes { _ = decoder.send($0, time: .zero) }
    }

    /// Nothing is shown until decoding can begin again.
    private func beginWaiting() {
        guard !showsDamage else { return }
        (isWaitingForKeyFrame, isRecovering) = (true, false)
    }

    /// Hands out the pictures that are held back, and makes libavcodec begin again: otherwise it would take what comes for
    /// the continuation of what was lost.
    private func restart(_ output: (PixelBuffer, Duration) throws -> Void) throws {
        decoder.sendEnd()
        while true {
            do {
                guard try receive(output) else { break }
            } catch let error as CodecError where error.code == .corruptData {
                continue
            }
        }
        decoder.reset()
        mustRestart = false
    }

    /// Throws for pictures of which more are kept, to refer to them or to reorder them, than any level allows: some bytes
    /// cannot take a gigabyte so.
    private func checkMemory() throws {
        let context = decoder.context
        let pixels = Int(context.pointee.coded_width) * Int(context.pointee.coded_height)
        let frames = Int(max(context.pointee.refs, context.pointee.has_b_frames))
        guard frames * pixels > H264Decoder.maximumHeldPixels else { return }
        context.pointee.has_b_frames = 0
        throw damage(nil)
    }

    /// Forgets what came so far, as after a lost connection: nothing is shown until decoding can begin.
    public func reset() {
        decoder.reset()
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

    /// False when there is no further picture.
    private func receive(_ output: (PixelBuffer, Duration) throws -> Void) throws -> Bool {
        switch try decoder.receive() {
        case .nothing: return false
        case .damage(let code): throw damage(code)
        case .picture(let buffer, let time, _):
            try output(buffer, time)
            return true
        }
    }

    private func damage(_ code: Int32?) -> CodecError {
        if code != clibav_out_of_memory { beginWaiting() }
        return decoder.error(code)
    }
}
