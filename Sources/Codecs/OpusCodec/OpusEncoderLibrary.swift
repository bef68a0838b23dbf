import AudioCapturing
import COpus

/// libopus's encoder for one format, and the header that belongs to it. Used by one thread at a time.
final class OpusEncoderLibrary {
    /// The input format; the type of the samples is always `float32`.
    let format: AudioFormat
    let framesPerPacket: Int
    /// What a decoder gives before the first sample, in frames of the input.
    let lookahead: Int
    /// The same at 48 kHz.
    let preSkip: Int
    /// `OpusHead` (RFC 7845, 5.1).
    let header: PacketBuffer

    private let encoder: OpaquePointer
    private var packet: [UInt8]

    /// The rates that libopus takes.
    private static let sampleRates = [48_000, 24_000, 16_000, 12_000, 8000]
    /// The largest frame has 1275 bytes, and the longest packet three of them.
    private static let maximumPacketBytes = 3 * 1275 + 7

    init(_ configuration: OpusEncoder.Configuration, _ format: AudioFormat) throws(CodecError) {
        guard OpusEncoderLibrary.sampleRates.contains(format.sampleRate), [1, 2].contains(format.channels.count) else {
            throw CodecError(
                .formatUnsupported, operation: "encode sound", subject: "Opus",
                message: "Opus encodes mono and stereo at 48, 24, 16, 12 and 8 kHz; convert \(format) with "
                    + "AudioResampling first.")
        }
        var code: Int32 = 0
        let application =
            switch configuration.application {
            case .audio: OPUS_APPLICATION_AUDIO
            case .voice: OPUS_APPLICATION_VOIP
            case .lowDelay: OPUS_APPLICATION_RESTRICTED_LOWDELAY
            }
        let channels = format.channels.count
        guard
            let encoder = opus_encoder_create(Int32(format.sampleRate), Int32(channels), application, &code)
        else { throw OpusEncoderLibrary.failure("create the encoder", code) }
        let settings: [(Int32, Int)] = [
            (OPUS_SET_BITRATE_REQUEST, configuration.bitrate ?? OpusEncoderLibrary.defaultBitrate(channels)),
            (OPUS_SET_VBR_REQUEST, configuration.rateControl == .constant ? 0 : 1),
            (OPUS_SET_VBR_CONSTRAINT_REQUEST, configuration.rateControl == .constrained ? 1 : 0),
            (OPUS_SET_COMPLEXITY_REQUEST, configuration.complexity),
            // In the mode for anything it would turn all packets into the hybrid mode, for three times the cost.
            (
                OPUS_SET_INBAND_FEC_REQUEST,
                configuration.application == .voice && configuration.expectedPacketLoss > 0 ? 1 : 0
            ),
            (OPUS_SET_PACKET_LOSS_PERC_REQUEST, configuration.expectedPacketLoss),
        ]
        var lookahead: Int32 = 0
        do throws(CodecError) {
            for (request, value) in settings {
                try OpusEncoderLibrary.check("configure the encoder", copus_set(encoder, request, Int32(value)))
            }
            try OpusEncoderLibrary.check(
                "read the look-ahead", copus_get(encoder, OPUS_GET_LOOKAHEAD_REQUEST, &lookahead))
        } catch {
            opus_encoder_destroy(encoder)
            throw error
        }
        self.encoder = encoder
        self.format = AudioFormat(.float32, format.channels, sampleRate: format.sampleRate)
        self.lookahead = Int(lookahead)
        framesPerPacket = Int(self.format.frames(in: configuration.packetDuration))
        preSkip = Int(lookahead) * 48_000 / format.sampleRate
        packet = [UInt8](repeating: 0, count: OpusEncoderLibrary.maximumPacketBytes)
        header = OpusEncoderLibrary.makeHeader(channels: channels, preSkip: preSkip, sampleRate: format.sampleRate)
    }

    deinit { opus_encoder_destroy(encoder) }

    /// 64 kbit/s for each channel: transparent to nearly everyone.
    static func defaultBitrate(_ channels: Int) -> Int { 64_000 * channels }

    /// Encodes ``framesPerPacket`` frames, and hands the packet to `take`.
    func encode<Result>(_ samples: [Float], take: (UnsafeRawBufferPointer) -> Result) throws(CodecError) -> Result {
        let count = samples.withUnsafeBufferPointer { samples in
            packet.withUnsafeMutableBufferPointer { packet in
                opus_encode_float(
                    encoder, samples.baseAddress!, Int32(framesPerPacket), packet.baseAddress!, Int32(packet.count))
            }
        }
        guard count > 0 else { throw OpusEncoderLibrary.failure("encode sound", count) }
        return packet.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[..<Int(count)])) }
    }

    func setBitrate(_ bitrate: Int) throws(CodecError) {
        try OpusEncoderLibrary.check("set the bitrate", copus_set(encoder, OPUS_SET_BITRATE_REQUEST, Int32(bitrate)))
    }

    /// Forgets the samples before, for sound that does not continue them.
    func reset() throws(CodecError) {
        try OpusEncoderLibrary.check("reset the encoder", copus_reset_encoder(encoder))
    }

    private static func makeHeader(channels: Int, preSkip: Int, sampleRate: Int) -> PacketBuffer {
        var bytes = Array("OpusHead".utf8) + [1, UInt8(channels)]
        bytes += [UInt8(truncatingIfNeeded: preSkip), UInt8(truncatingIfNeeded: preSkip >> 8)]
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: sampleRate >> (8 * $0)) }
        // No gain; the mapping of one and two channels.
        bytes += [0, 0, 0]
        return bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
    }

    static func check(_ operation: String, _ code: Int32) throws(CodecError) {
        guard code == OPUS_OK else { throw failure(operation, code) }
    }

    static func failure(_ operation: String, _ code: Int32) -> CodecError {
        CodecError(
            code == OPUS_ALLOC_FAIL ? .outOfMemory : code == OPUS_INVALID_PACKET ? .corruptData : .library,
            operation: operation, subject: "Opus", libraryCode: code,
            message: code == OPUS_ALLOC_FAIL
                ? "The machine has no memory left; close other programs."
                : code == OPUS_INVALID_PACKET
                    ? "The packet is damaged."
                    : "libopus has refused: \(String(cString: opus_strerror(code))).")
    }
}
