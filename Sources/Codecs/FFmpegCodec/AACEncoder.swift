public import AudioCapturing
import FFmpegSupport

/// Encodes sound as AAC-LC (ISO/IEC 14496-3) with the encoder of FFmpeg's libavcodec.
///
/// Takes `float32` and `int16`, mono and stereo, at the rates of AAC from 8 to 96 kHz; other formats throw `formatUnsupported`
/// (convert them with `AudioResampling`). The format of the first chunk stays.
///
/// A packet has 1024 frames. Its timestamp is the time at which its first *input* sample was captured; a decoder gives
/// ``decoderDelay`` before that sample, which the track states (`TrackDescription/Audio/initialPadding`). Packets have no
/// headers: the track's decoder configuration is the `AudioSpecificConfig`. Gaps up to ``maximumContinuousGap`` are filled
/// with silence; after a longer one the encoder is opened again, and times jump. ``flush(output:)`` encodes the rest; the
/// last packet's `MediaPacket/duration` ends with the last input sample.
///
/// Not to be used from two threads at once.
public final class AACEncoder: AudioEncoder {
    /// How to encode.
    public struct Configuration: Sendable, Hashable {
        /// The samples that will come; nil to take it from the first chunk. Where it is stated, the track is described
        /// before any sound.
        public var format: AudioFormat?
        /// Bits per second; nil for 128,000 in stereo and 64,000 in mono.
        public var bitrate: Int?

        /// A configuration; see the properties.
        public init(format: AudioFormat? = nil, bitrate: Int? = nil) {
            self.format = format
            self.bitrate = bitrate
        }

        /// Throws `invalidConfiguration` for what the library would change silently.
        func validate() throws(CodecError) {
            guard let bitrate, !(8000...512_000).contains(bitrate) else { return }
            throw CodecError(
                .invalidConfiguration, operation: "configure the encoder", subject: "AAC",
                message: "A bitrate of \(bitrate) is out of range; use 8000 to 512000 bits per second.")
        }
    }

    /// The largest gap in the timestamps that is filled with silence; after a longer one the encoder is opened again.
    public static let maximumContinuousGap = SampleFramer.maximumContinuousGap

    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var configuration: AACEncoder.Configuration
    @exclusivity(unchecked) private var library: AACLibrary?
    @exclusivity(unchecked) private var framer: SampleFramer?
    /// The stretches whose packets the library has not handed out.
    @exclusivity(unchecked) private var pending: [SampleFramer.Stretch] = []

    /// Describes the packets; nil before the first chunk unless the configuration states the format.
    @exclusivity(unchecked) public private(set) var track: TrackDescription?

    /// An encoder. Where the configuration states the format, everything that can fail does so here.
    ///
    /// - Parameter configuration: how to encode.
    /// - Throws: `CodecError` with the code `invalidConfiguration`, `formatUnsupported`, or `unavailable` for an FFmpeg
    ///   without AAC.
    public init(_ configuration: AACEncoder.Configuration = Configuration()) throws(CodecError) {
        try configuration.validate()
        self.configuration = configuration
        if let format = configuration.format { try prepare(format) }
    }

    /// How much a decoder gives before the first sample that was encoded: zero before the format is known.
    public var decoderDelay: Duration {
        guard let format = framer?.format else { return .zero }
        return format.duration(ofFrames: Int64(AACLibrary.framesPerPacket))
    }

    public func setBitrate(_ bitrate: Int) throws(CodecError) {
        try AACEncoder.Configuration(bitrate: bitrate).validate()
        configuration.bitrate = bitrate
        library?.setBitrate(bitrate)
    }

    // MARK: Encoding

    public func encode(_ chunk: AudioChunk, output: (MediaPacket) throws -> Void) throws {
        let framer = try prepare(chunk.format)
        try framer.add(
            chunk, restart: { try flush(output: output) }, encode: { try encode($0, framer, output) })
    }

    public func flush(output: (MediaPacket) throws -> Void) throws {
        guard let framer,
            try framer.finish(lookahead: AACLibrary.framesPerPacket, encode: { try encode($0, framer, output) })
        else { return }
        // After the end was signalled it takes no more samples.
        guard let library = library.take() else { return }
        try library.sendEnd()
        try takePackets(library, output)
        pending.removeAll(keepingCapacity: true)
    }

    private func encode(
        _ stretch: SampleFramer.Stretch, _ framer: SampleFramer, _ output: (MediaPacket) throws -> Void
    ) throws {
        let library = try openLibrary(framer.format)
        pending.append(stretch)
        try library.send(framer.samples)
        try takePackets(library, output)
    }

    /// Packets come in the order of the samples; the last one, of silence alone, belongs to no stretch.
    private func takePackets(_ library: AACLibrary, _ output: (MediaPacket) throws -> Void) throws {
        while let data = try library.receive({ packets.makeBuffer(copying: $0) }) {
            guard !pending.isEmpty else { continue }
            let stretch = pending.removeFirst()
            try output(
                MediaPacket(
                    data: data, timestamp: stretch.timestamp, duration: stretch.duration,
                    sequenceNumber: stretch.number))
        }
    }

    @discardableResult
    private func prepare(_ format: AudioFormat) throws(CodecError) -> SampleFramer {
        if let framer {
            guard framer.format.channels == format.channels, framer.format.sampleRate == format.sampleRate else {
                throw CodecError(
                    .formatUnsupported, operation: "encode sound", subject: "AAC",
                    message: "A track of AAC keeps its format, \(framer.format); convert \(format) with "
                        + "AudioResampling, or begin another track.")
            }
            return framer
        }
        let library = try openLibrary(format)
        let made = SampleFramer(format, framesPerStretch: AACLibrary.framesPerPacket)
        track = TrackDescription(
            id: 0, codec: .aac,
            media: .audio(
                .init(
                    sampleRate: format.sampleRate, channelCount: format.channels.count,
                    initialPadding: AACLibrary.framesPerPacket)),
            decoderConfiguration: library.audioSpecificConfig)
        framer = made
        return made
    }

    private func openLibrary(_ format: AudioFormat) throws(CodecError) -> AACLibrary {
        if let library { return library }
        let made = try AACLibrary(format, bitrate: configuration.bitrate ?? 64_000 * format.channels.count)
        library = made
        return made
    }
}

extension AudioEncoderEntry {
    /// AAC by FFmpeg, for MP4, QuickTime, MPEG-TS, HLS and RTMP.
    public static let aac = AudioEncoderEntry(
        name: "aac", codec: .aac, summary: "AAC by FFmpeg, in software",
        make: { request in
            guard request.format.channels.count <= 2 else {
                throw OptionError(
                    "audio", nil,
                    "AAC is made of one or two channels, and the source gives \(request.format.channels.count); record "
                        + "two, or all of them as samples, as in -o voice.wav.")
            }
            return try AACEncoder(
                AACEncoder.Configuration(format: request.format, bitrate: request.settings.bitrate))
        })
}

extension Finding {
    /// Whether FFmpeg's encoder of AAC works on this machine.
    package static func aac() -> Finding {
        do {
            _ = try AACEncoder(AACEncoder.Configuration(format: .float48kStereo))
            return Finding("libraries", "AAC", .ok, "FFmpeg encodes it")
        } catch {
            return Finding(
                "libraries", "AAC", .broken, "AAC does not work: \(error)",
                remedy: "sudo apt-get install --reinstall libavcodec59, and run this again.")
        }
    }
}
