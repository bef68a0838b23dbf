import COpus
public import CaptureCore

/// Decodes packets of Opus with libopus, to 48 kHz `float32`.
///
/// Samples before the first encoded one are left out; the track's `OpusHead` states their number. Not to be used from two
/// threads at once.
public final class OpusDecoder {
    /// The number of channels, interleaved.
    public let channelCount: Int

    private let decoder: OpaquePointer
    private let preSkip: Int
    private var skipped = 0
    /// The longest packet has 120 ms.
    private var samples: [Float]
    private static let maximumFrames = 5760

    /// A decoder of a track.
    ///
    /// - Parameter header: the track's decoder configuration, an `OpusHead` (RFC 7845, 5.1) of one or two channels.
    /// - Throws: `CodecError`: `corruptData` for bytes that are not one, `formatUnsupported` for more channels.
    public init(_ header: PacketBuffer) throws(CodecError) {
        let bytes = header.withUnsafeBytes { Array($0) }
        guard bytes.count >= 19, bytes.starts(with: "OpusHead".utf8), bytes[8] < 16 else {
            throw CodecError(
                .corruptData, operation: "open the decoder", subject: "Opus",
                message: "The decoder configuration is not an OpusHead; the file or stream is damaged.")
        }
        guard (1...2).contains(bytes[9]), bytes[18] == 0 else {
            throw CodecError(
                .formatUnsupported, operation: "open the decoder", subject: "Opus",
                message: "\(bytes[9]) channels are not decoded; use mono or stereo.")
        }
        var code: Int32 = 0
        guard let decoder = opus_decoder_create(48_000, Int32(bytes[9]), &code) else {
            throw OpusEncoderLibrary.failure("open the decoder", code)
        }
        self.decoder = decoder
        channelCount = Int(bytes[9])
        preSkip = Int(bytes[10]) | Int(bytes[11]) << 8
        samples = [Float](repeating: 0, count: OpusDecoder.maximumFrames * Int(bytes[9]))
    }

    deinit { opus_decoder_destroy(decoder) }

    /// Decodes a packet.
    ///
    /// - Parameters:
    ///   - packet: its bytes; empty to conceal a lost packet.
    ///   - output: takes the samples, interleaved, which are valid during the call only; none before the
    ///     first encoded one.
    /// - Throws: `CodecError` with the code `corruptData` for damaged bytes; decoding can go on.
    public func decode(
        _ packet: UnsafeRawBufferPointer, output: (UnsafeBufferPointer<Float>) -> Void
    ) throws(CodecError) {
        let frames = samples.withUnsafeMutableBufferPointer { samples in
            opus_decode_float(
                decoder, packet.isEmpty ? nil : packet.bindMemory(to: UInt8.self).baseAddress,
                Int32(clamping: packet.count), samples.baseAddress!,
                // A lost packet is taken to be as long as ours.
                packet.isEmpty ? 960 : Int32(OpusDecoder.maximumFrames), 0)
        }
        guard frames >= 0 else { throw OpusEncoderLibrary.failure("decode sound", frames) }
        let first = min(preSkip - skipped, Int(frames))
        skipped += first
        samples.withUnsafeBufferPointer { samples in
            output(UnsafeBufferPointer(rebasing: samples[first * channelCount..<Int(frames) * channelCount]))
        }
    }

    /// Forgets the packets before, for a jump; the skipped start does not come again.
    public func reset() { _ = copus_reset_decoder(decoder) }
}
