import AudioCapturing

/// Counts chunks and frames and releases them. Safe to use from any thread.
public final class NullAudioConsumer: AudioCaptureConsumer {
    private let counts = Locked((chunks: UInt64(0), frames: UInt64(0)))

    /// A consumer that has counted nothing.
    public init() {}

    /// The chunks taken so far.
    public var chunkCount: UInt64 { counts.withLock { $0.chunks } }

    /// The frames taken so far.
    public var frameCount: UInt64 { counts.withLock { $0.frames } }

    public func consumeAudio(_ chunk: AudioChunk) {
        counts.withLock { counts in
            counts.chunks += 1
            counts.frames += UInt64(chunk.frameCount)
        }
        counts.wakeAll()
    }

    /// Blocks until `count` chunks have come in all; false when `timeout` has passed before.
    public func waitForChunks(_ count: UInt64, timeout: Duration = .seconds(60)) -> Bool {
        counts.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.chunks >= count ? () : nil } != nil
    }
}

/// Keeps the first chunks of a capture, and counts the rest. Safe to use from any thread.
public final class RecordingAudioConsumer: AudioCaptureConsumer {
    private struct Contents {
        var chunks: [AudioChunk] = []
        var count = 0
    }

    /// The maximum number of chunks that are kept.
    public let limit: Int
    private let contents = Locked(Contents())

    /// A recorder.
    ///
    /// - Parameter limit: the maximum number of chunks that are kept; later ones are only counted.
    public init(limit: Int = 10_000) {
        self.limit = max(0, limit)
    }

    /// The chunks that are kept, in the order in which they came.
    public var chunks: [AudioChunk] { contents.withLock { $0.chunks } }

    /// The chunks that came, kept or not.
    public var count: Int { contents.withLock { $0.count } }

    public func consumeAudio(_ chunk: AudioChunk) {
        contents.withLock { contents in
            contents.count += 1
            if contents.chunks.count < limit { contents.chunks.append(chunk) }
        }
        contents.wakeAll()
    }

    /// Blocks until `count` chunks have come in all; false when `timeout` has passed before.
    public func waitForChunks(_ count: Int, timeout: Duration = .seconds(60)) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.count >= count ? () : nil } != nil
    }

    /// The samples of one channel of all chunks that are kept, as −1 to 1.
    ///
    /// - Parameter channel: the channel; chunks without it are left out.
    public func samples(ofChannel channel: Int = 0) -> [Float] {
        chunks.flatMap { chunk -> [Float] in
            let count = chunk.format.channels.count
            guard channel < count else { return [] }
            return (0..<chunk.frameCount).map { frame in
                switch chunk.format.sampleType {
                case .float32: chunk.buffer.withSamples(as: Float.self) { $0[frame * count + channel] }
                case .int16: chunk.buffer.withSamples(as: Int16.self) { Float($0[frame * count + channel]) / 32_768 }
                }
            }
        }
    }
}
