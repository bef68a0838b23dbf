/// Hands sound on as it is, in packets with the codec `pcm`: for WAV files and pipes. Floating-point samples become 16 bits
/// each, rounded and limited to full scale.
///
/// A gap of lost frames becomes silence, so that what follows stays in its place; so does a first chunk after a restart
/// where the times tell how long the pause was. Sound whose format changes cannot go on in the same track: it throws
/// `formatUnsupported`.
///
/// Not to be used from two threads at once.
public final class PCMEncoder: AudioEncoder {
    public private(set) var track: TrackDescription?
    private let pool = PacketBufferPool()
    private var format: AudioFormat?
    private var samples: [Int16] = []
    private var packets: UInt64 = 0
    /// Where the sound written so far ends.
    private var end = (frame: Int64(0), time: MediaTime.zero)
    private let longestSilence: Duration

    /// An encoder.
    ///
    /// - Parameter longestSilence: the longest gap that is filled; a longer one is shortened to it, so that a program that
    ///   was suspended does not fill a disk.
    public init(longestSilence: Duration = .seconds(600)) {
        self.longestSilence = longestSilence
    }

    public func encode(_ chunk: AudioChunk, output: (MediaPacket) throws -> Void) throws {
        let format = self.format ?? chunk.format
        guard format == chunk.format else {
            throw CodecError(
                .formatUnsupported, operation: "write samples", subject: "\(chunk.format)",
                message: "The sound was \(format) before, and cannot change within a track; start another file.")
        }
        if self.format == nil {
            self.format = format
            track = TrackDescription(id: 0, codec: .pcm, media: .audio(format.trackAudio))
        } else if chunk.discontinuity != nil {
            try fillGap(before: chunk, output: output)
        }
        let count = chunk.frameCount * format.channels.count
        if samples.count < count { samples = [Int16](repeating: 0, count: count) }
        switch format.sampleType {
        case .int16:
            chunk.buffer.withSamples(as: Int16.self) { source in
                for index in 0..<count { samples[index] = source[index].littleEndian }
            }
        case .float32:
            chunk.buffer.withSamples(as: Float.self) { source in
                for index in 0..<count { samples[index] = PCMEncoder.int16(source[index]).littleEndian }
            }
        }
        try write(frames: chunk.frameCount, at: chunk.timestamp, format, output: output)
        end = (chunk.endFrame, chunk.endTimestamp)
    }

    /// The nearest 16-bit sample; silence for NaN.
    static func int16(_ sample: Float) -> Int16 {
        let scaled = (sample * 32_768).rounded()
        return scaled >= 32_767 ? .max : scaled <= -32_768 ? .min : scaled.isNaN ? 0 : Int16(scaled)
    }

    private func fillGap(before chunk: AudioChunk, output: (MediaPacket) throws -> Void) throws {
        let format = chunk.format
        let limit = format.frames(in: longestSilence)
        let byTime = format.frames(in: chunk.timestamp - end.time)
        // Over a restart the numbers go on as if there had been no pause.
        let missing =
            chunk.discontinuity == .start ? max(byTime, chunk.firstFrame - end.frame) : chunk.firstFrame - end.frame
        var rest = min(max(0, missing), limit)
        let step = format.sampleRate
        var time = end.time
        while rest > 0 {
            let frames = Int(min(rest, Int64(step)))
            let count = frames * format.channels.count
            if samples.count < count { samples = [Int16](repeating: 0, count: count) }
            for index in 0..<count { samples[index] = 0 }
            try write(frames: frames, at: time, format, output: output)
            time = time.advanced(by: format.duration(ofFrames: Int64(frames)))
            rest -= Int64(frames)
        }
    }

    private func write(
        frames: Int, at time: MediaTime, _ format: AudioFormat, output: (MediaPacket) throws -> Void
    ) throws {
        let data = samples.withUnsafeBytes { bytes in
            pool.makeBuffer(copying: UnsafeRawBufferPointer(rebasing: bytes[..<(frames * format.channels.count * 2)]))
        }
        let packet = MediaPacket(
            data: data, timestamp: time, duration: format.duration(ofFrames: Int64(frames)), sequenceNumber: packets)
        packets += 1
        try output(packet)
    }
}
