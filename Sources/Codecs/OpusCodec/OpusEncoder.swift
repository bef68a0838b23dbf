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
/// ``maximumContinuousGap``, up to which silence is encoded in place of what is missing; after a longer one the encoder is
/// reset, and times jump. ``flush(output:)`` encodes what is left, with zeros behind it; the last packet's
/// `MediaPacket/duration` ends with the last input sample, so that containers can state the padding.
///
/// No allocation per packet. Not to be used from two threads at once.
public final class OpusEncoder: AudioEncoder {
    /// The largest gap in the timestamps that is filled with silence; after a longer one the encoder is reset.
    public static let maximumContinuousGap = Duration.seconds(1)
    /// Deviations of a chunk's timestamp up to this are the drift of a clock, not a gap.
    static let tolerance = Duration.milliseconds(20)

    private let configuration: OpusEncoder.Configuration
    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var library: OpusEncoderLibrary?
    @exclusivity(unchecked) private var bitrate: Int?
    /// The samples of the packet that is being filled, and the frames of them that are.
    @exclusivity(unchecked) private var pending: [Float] = []
    @exclusivity(unchecked) private var pendingFrames = 0
    /// When the first pending frame was captured, and when the one after the last is due.
    @exclusivity(unchecked) private var pendingTime = MediaTime.zero
    @exclusivity(unchecked) private var nextTime: MediaTime?
    @exclusivity(unchecked) private var lastPacketTime: MediaTime?
    /// Frames since the last reset that went into packets, and packets.
    @exclusivity(unchecked) private var packetNumber: UInt64 = 0

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
        let library = try prepare(chunk.format)
        if let bitrate = bitrate.take() { try library.setBitrate(bitrate) }
        let skipped = try bridgeGap(before: chunk, library, output)
        let frames = chunk.frameCount
        guard frames > skipped else { return }
        let begin = chunk.timestamp.advanced(by: library.format.duration(ofFrames: Int64(skipped)))
        switch chunk.format.sampleType {
        case .float32:
            try chunk.buffer.withSamples(as: Float.self) { (samples: Span<Float>) throws in
                try append(frames: skipped..<frames, at: begin, library, output) { samples[$0] }
            }
        case .int16:
            try chunk.buffer.withSamples(as: Int16.self) { (samples: Span<Int16>) throws in
                try append(frames: skipped..<frames, at: begin, library, output) { Float(samples[$0]) * (1 / 32_768) }
            }
        }
        nextTime = chunk.endTimestamp
    }

    public func flush(output: (MediaPacket) throws -> Void) throws {
        guard let library, nextTime != nil else { return }
        // The decoder gives each sample `preSkip` later than it went in.
        var rest = pendingFrames + library.lookahead
        while rest > 0 {
            let frames = min(rest, library.framesPerPacket)
            fillPending(library)
            try encodePending(library, frames: frames, output)
            rest -= frames
        }
        try restart(library)
    }

    /// Encodes silence in place of what is missing before a chunk, or resets.
    ///
    /// - Returns: the number of the chunk's frames whose time was encoded already.
    private func bridgeGap(
        before chunk: AudioChunk, _ library: OpusEncoderLibrary, _ output: (MediaPacket) throws -> Void
    ) throws -> Int {
        guard let nextTime else { return 0 }
        let gap = chunk.timestamp - nextTime
        if gap > OpusEncoder.maximumContinuousGap {
            try flush(output: output)
            return 0
        }
        let frames = Int(library.format.frames(in: gap))
        if gap > OpusEncoder.tolerance {
            try append(frames: 0..<frames, at: nextTime, library, output) { _ in 0 }
            return 0
        }
        return gap < .zero - OpusEncoder.tolerance ? -frames : 0
    }

    /// Adds frames to the pending ones and encodes each packet that is full. Inlined, so that there is a loop for each
    /// type of sample.
    @inline(__always)
    private func append(
        frames: Range<Int>, at begin: MediaTime, _ library: OpusEncoderLibrary,
        _ output: (MediaPacket) throws -> Void, sample: (Int) -> Float
    ) throws {
        let channels = library.format.channels.count
        var next = frames.lowerBound
        while next < frames.upperBound {
            if pendingFrames == 0 {
                let offset = library.format.duration(ofFrames: Int64(next - frames.lowerBound))
                pendingTime = begin.advanced(by: offset)
            }
            let count = min(frames.upperBound - next, library.framesPerPacket - pendingFrames)
            pending.withUnsafeMutableBufferPointer { pending in
                for index in 0..<count * channels {
                    pending[pendingFrames * channels + index] = sample(next * channels + index)
                }
            }
            pendingFrames += count
            next += count
            if pendingFrames == library.framesPerPacket {
                try encodePending(library, frames: library.framesPerPacket, output)
            }
        }
    }

    private func fillPending(_ library: OpusEncoderLibrary) {
        let channels = library.format.channels.count
        for index in pendingFrames * channels..<library.framesPerPacket * channels { pending[index] = 0 }
    }

    /// Encodes the pending frames, of which the first ones are to be heard.
    private func encodePending(
        _ library: OpusEncoderLibrary, frames: Int, _ output: (MediaPacket) throws -> Void
    ) throws {
        let timestamp = pendingTime.increasing(after: lastPacketTime)
        pendingFrames = 0
        pendingTime = timestamp.advanced(by: library.format.duration(ofFrames: Int64(library.framesPerPacket)))
        let data = try library.encode(pending) { packets.makeBuffer(copying: $0) }
        lastPacketTime = timestamp
        packetNumber += 1
        try output(
            MediaPacket(
                data: data, timestamp: timestamp, duration: library.format.duration(ofFrames: Int64(frames)),
                sequenceNumber: packetNumber - 1))
    }

    private func restart(_ library: OpusEncoderLibrary) throws(CodecError) {
        try library.reset()
        pendingFrames = 0
        nextTime = nil
    }

    @discardableResult
    private func prepare(_ format: AudioFormat) throws(CodecError) -> OpusEncoderLibrary {
        if let library {
            guard library.format.channels == format.channels, library.format.sampleRate == format.sampleRate else {
                throw CodecError(
                    .formatUnsupported, operation: "encode sound", subject: "Opus",
                    message: "A track of Opus keeps its format, \(library.format); convert \(format) with "
                        + "AudioResampling, or begin another track.")
            }
            return library
        }
        let made = try OpusEncoderLibrary(configuration, format)
        pending = [Float](repeating: 0, count: made.framesPerPacket * format.channels.count)
        library = made
        track = TrackDescription(
            id: 0, codec: .opus,
            media: .audio(.init(sampleRate: 48_000, channelCount: format.channels.count)),
            decoderConfiguration: made.header)
        return made
    }
}
