import CLibAV
import FFmpegSupport
import VideoCapturing

/// Decodes packets of H.265, VP9 and AV1 with libavcodec. Packets have all that a decoder needs, as those of
/// a `PacketCapture` do. A picture comes out with its own packet, unless the stream reorders pictures.
///
/// After damage, which throws `corruptData`, nothing is shown up to the next key frame.
///
/// Not to be used from two threads at once.
public final class FFmpegVideoDecoder: VideoDecoder {
    /// One for each codec, for readers that are given the codecs a program links.
    public static let factories: [VideoDecoderFactory] = [
        factory("HEVC", AV_CODEC_ID_HEVC, "H.265"), factory("VP90", AV_CODEC_ID_VP9, "VP9"),
        factory("AV01", AV_CODEC_ID_AV1, "AV1"),
    ]

    public var isInterlaced: Bool { decoder.isInterlaced }

    private let decoder: CodecDecoder
    private var awaitsKeyFrame = false

    /// As many as a picture of a camera has slices or rows for.
    private static let maximumThreads = 4

    private static func factory(_ fourCC: FourCC, _ codec: AVCodecID, _ name: String) -> VideoDecoderFactory {
        VideoDecoderFactory(fourCC: fourCC) { try FFmpegVideoDecoder(codec, name) }
    }

    private init(_ codec: AVCodecID, _ name: String) throws(CodecError) {
        decoder = try CodecDecoder(
            codec, name, threads: min(Machine.processorCount, FFmpegVideoDecoder.maximumThreads),
            maximumPixelCount: FFmpegReader.maximumPixelCount)
    }

    public func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        try decode(packet, time: .zero) { buffer, _ in try output(buffer) }
    }

    public func decode(
        _ packet: UnsafeRawBufferPointer, time: Duration, output: (PixelBuffer, Duration) throws -> Void
    ) throws {
        let sent = decoder.send(packet, time: time)
        guard sent >= 0 else { throw damage(sent) }
        while try receive(output) {}
    }

    public func flush(output: (PixelBuffer, Duration) throws -> Void) throws {
        defer {
            decoder.reset()
            awaitsKeyFrame = false
        }
        decoder.sendEnd()
        while try receive(output) {}
    }

    /// False when there is no further picture.
    private func receive(_ output: (PixelBuffer, Duration) throws -> Void) throws -> Bool {
        switch try decoder.receive() {
        case .nothing: return false
        case .damage(let code): throw damage(code)
        case .picture(let buffer, let time, let isKey):
            if isKey { awaitsKeyFrame = false }
            if !awaitsKeyFrame { try output(buffer, time) }
            return true
        }
    }

    private func damage(_ code: Int32?) -> CodecError {
        if code != clibav_out_of_memory {
            decoder.reset()
            awaitsKeyFrame = true
        }
        return decoder.error(code)
    }
}
