public import AudioCapturing
import COpus

/// Encodes sound as Opus (RFC 6716) with libopus.
///
/// Takes `float32` and `int16`, mono and stereo, at 48, 24, 16, 12 and 8 kHz; other formats throw `formatUnsupported`
/// (convert them with `AudioResampling`). The format of the first chunk stays.
///
/// A packet's timestamp is the time at which its first *input* sample was captured. A decoder gives
/// ``decoderDelay`` before that sample, which containers state; the track's decoder configuration is the `OpusHead`
/// that does. Samples are taken to be contiguous, whatever their timestamps say, up to a gap of
/// ``maximumContinuousGap``, up to which silence replaces missing samples; after a longer one the encoder is
/// reset, and times jump. ``flush(output:)`` encodes the rest, padded with zeros; the last packet's
/// `MediaPacket/duration` ends with the last input sample, so that containers can state the padding.
///
/// No allocation per packet. Not to be used from two threads at once.
public final class OpusEncoder: AudioEncoder {
    /// The largest gap in the timestamps that is filled with silence; after a longer one the encoder is reset.
    public static let maximumContinuousGap = SampleFramer.maximumContinuousGap

    private let configuration: OpusEncoder.Configuration
    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var library: OpusEncoderLibrary?
    @exclusivity(unchecked) private var framer: SampleFramer?
    @exclusivity(unchecked) private var bitrate: Int?

    /// Describes the packets; nil before the first chunk unless the configuration states the format.
    @exclusivity(unchecked) public private(set) var track: TrackDescription?

    /// An encoder. Where the configuration states the format, everything that can fail does so here.
    ///
    /// - Parameter configuration: how to encode.
    /// - Throws: `CodecError` with the code `invalidConfiguration` or `formatUnsupported`.
    public init(_ configuration: OpusEncoder.Configuration = Configuration()) throws(CodecError) {
        try configuration.validate()
        self.configuration = configuration
        if let format = configuration.format { try prepare(format) }
    }

    /// How much a decoder gives before the first sample that was encoded: zero before the format is known.
    public var decoderDelay: Duration {
        .nanoseconds(Int64(library?.preSkip ?? 0) * 1_000_000_000 / 48_000)
    }

    public func setBitrate(_ bitrate: Int) throws(CodecError) {
        try OpusEncoder.Configuration(bitrate: bitrate).validate()
        self.bitrate = bitrate
    }

    // MARK: Encoding

    public func encode(_ chunk: AudioChunk, output: (MediaPacket) throws -> Void) throws {
        let (library, framer) = try prepare(chunk.format)
        if let bitrate = bitrate.take() { try library.setBitrate(bitrate) }
        try framer.add(
            chunk, restart: { try flush(output: output) }, encode: { try encode($0, library, framer, output) })
    }

    public func flush(output: (MediaPacket) throws -> Void) throws {
        guard let library, let framer else { return }
        let hasEnded = try framer.finish(lookahead: library.lookahead) { stretch in
            try encode(stretch, library, framer, output)
        }
        if hasEnded { try library.reset() }
    }

    private func encode(
        _ stretch: SampleFramer.Stretch, _ library: OpusEncoderLibrary, _ framer: SampleFramer,
        _ output: (MediaPacket) throws -> Void
    ) throws {
        let data = try library.encode(framer.samples) { packets.makeBuffer(copying: $0) }
        try output(
            MediaPacket(
                data: data, timestamp: stretch.timestamp, duration: stretch.duration, sequenceNumber: stretch.number))
    }

    @discardableResult
    private func prepare(_ format: AudioFormat) throws(CodecError) -> (OpusEncoderLibrary, SampleFramer) {
        if let library, let framer {
            guard library.format.channels == format.channels, library.format.sampleRate == format.sampleRate else {
                throw CodecError(
                    .formatUnsupported, operation: "encode sound", subject: "Opus",
                    message: "A track of Opus keeps its format, \(library.format); convert \(format) with "
                        + "AudioResampling, or begin another track.")
            }
            return (library, framer)
        }
        let made = try OpusEncoderLibrary(configuration, format)
        let framer = SampleFramer(format, framesPerStretch: made.framesPerPacket)
        self.framer = framer
        library = made
        track = TrackDescription(
            id: 0, codec: .opus,
            media: .audio(.init(sampleRate: 48_000, channelCount: format.channels.count)),
            decoderConfiguration: made.header)
        return (made, framer)
    }
}
