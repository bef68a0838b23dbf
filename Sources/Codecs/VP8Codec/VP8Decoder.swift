import CLibVPX
import VideoCapturing

/// Decodes VP8 (RFC 6386) to I420 with libvpx.
///
/// Not to be used from two threads at once. Damaged packets throw `corruptData`; the decoder goes on with the next
/// packet, and shows whole pictures again from the next key frame.
public final class VP8Decoder: VideoDecoder {
    /// For readers that are given the codecs a program links; VP8's code is `VP80`.
    public static let factory = VideoDecoderFactory(fourCC: "VP80") { try VP8Decoder() }

    /// The most pixels of a picture that are decoded unless told otherwise: 8192 × 4320.
    public static let defaultMaximumPixelCount = 8192 * 4320

    private let maximumPixelCount: Int
    private let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    private let pool = PixelBufferPool()
    /// libvpx needs a key frame as the first packet, and its state after an error is unreliable.
    private var needsKeyFrame = true

    /// - Parameters:
    ///   - threads: libvpx's threads for decoding; of use from about 1280 × 720 on.
    ///   - maximumPixelCount: larger pictures are refused with `corruptData`, so that a few damaged bytes cannot ask for
    ///     half a gigabyte.
    /// - Throws: `CodecError`.
    public init(threads: Int = 1, maximumPixelCount: Int = VP8Decoder.defaultMaximumPixelCount) throws(CodecError) {
        self.maximumPixelCount = maximumPixelCount
        context.initialize(to: vpx_codec_ctx_t())
        var settings = vpx_codec_dec_cfg_t(threads: UInt32(min(max(threads, 1), 16)), w: 0, h: 0)
        let result = vpx_codec_dec_init_ver(
            context, vpx_codec_vp8_dx(), &settings, 0, clibvpx_decoder_abi_version)
        guard result == VPX_CODEC_OK else {
            throw CodecError(vpx: result, context: nil, operation: "set up the decoder")
        }
    }

    deinit {
        vpx_codec_destroy(context)
        context.deallocate()
    }

    public func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        // RFC 6386, 9.1: bit 0 of the first byte is clear in key frames, which are at least 10 bytes long.
        guard packet.count >= 3 else { throw corrupt("The packet has only \(packet.count) bytes.") }
        let isKeyFrame = packet[0] & 1 == 0
        if needsKeyFrame, !isKeyFrame { throw corrupt("The packet needs a key frame that is missing or damaged.") }
        if isKeyFrame { try checkKeyFrame(packet) }
        let result = vpx_codec_decode(
            context, packet.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(clamping: packet.count), nil, 0)
        guard result == VPX_CODEC_OK else {
            needsKeyFrame = true
            var error = CodecError(vpx: result, context: context, operation: "decode a packet")
            if error.code != .outOfMemory { error.code = .corruptData }
            throw error
        }
        var isCorrupted: Int32 = 0
        _ = clibvpx_control_pointer(context, Int32(VP8D_GET_FRAME_CORRUPTED.rawValue), &isCorrupted)
        guard isCorrupted == 0 else {
            needsKeyFrame = true
            throw corrupt("The packet is cut off or damaged.")
        }
        needsKeyFrame = false
        var iterator: vpx_codec_iter_t?
        while let image = vpx_codec_get_frame(context, &iterator) {
            try output(try copy(image.pointee))
        }
    }

    /// RFC 6386, 9.1: three bytes of frame tag, a start code, and 14 bits each of width and height.
    private func checkKeyFrame(_ packet: UnsafeRawBufferPointer) throws(CodecError) {
        guard packet.count >= 10, packet[3] == 0x9d, packet[4] == 0x01, packet[5] == 0x2a else {
            needsKeyFrame = true
            throw corrupt("The key frame does not begin as one.")
        }
        let width = Int(packet[6]) | Int(packet[7] & 0x3f) << 8
        let height = Int(packet[8]) | Int(packet[9] & 0x3f) << 8
        guard width > 0, height > 0, width * height <= maximumPixelCount else {
            needsKeyFrame = true
            throw corrupt(
                "The picture claims to have \(width)x\(height) pixels; at most \(maximumPixelCount) are decoded.")
        }
    }

    /// Out of libvpx's memory, which the next packet overwrites.
    private func copy(_ image: vpx_image_t) throws -> PixelBuffer {
        let planes = [image.planes.0, image.planes.1, image.planes.2]
        let strides = [image.stride.0, image.stride.1, image.stride.2]
        return try pool.makeBuffer(.i420, width: Int(image.d_w), height: Int(image.d_h)) { pixels in
            for plane in 0..<3 {
                guard let source = planes[plane] else { throw corrupt("The picture has no plane \(plane).") }
                for row in 0..<pixels.planes[plane].rows {
                    pixels.withRow(row, ofPlane: plane) { bytes in
                        bytes.copyMemory(
                            from: UnsafeRawBufferPointer(start: source + row * Int(strides[plane]), count: bytes.count))
                    }
                }
            }
        }
    }

    private func corrupt(_ message: String) -> CodecError {
        CodecError(.corruptData, operation: "decode a packet", subject: "VP8", message: message)
    }
}
