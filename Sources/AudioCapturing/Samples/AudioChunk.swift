/// One piece of the sound of a capture. A value that holds one reference to its samples. Store the value to keep the
/// chunk.
public struct AudioChunk: Sendable {
    /// The samples.
    public var buffer: AudioBuffer
    /// When the first sample was at the microphone, on the monotonic clock.
    public var timestamp: MediaTime
    /// The number of the first frame. Counts the frames of a capture over all its restarts, including lost ones, so
    /// numbers skip by the number of lost frames.
    public var firstFrame: Int64
    /// The gap between the chunk before and this one; nil if this one continues it.
    public var discontinuity: Discontinuity?
    /// The time from the microphone to the delivery of the chunk's last sample; nil when unknown.
    public var estimatedCaptureDelay: Duration?

    /// A chunk; see the properties.
    public init(
        buffer: AudioBuffer, timestamp: MediaTime, firstFrame: Int64 = 0, discontinuity: Discontinuity? = nil,
        estimatedCaptureDelay: Duration? = nil
    ) {
        self.buffer = buffer
        self.timestamp = timestamp
        self.firstFrame = firstFrame
        self.discontinuity = discontinuity
        self.estimatedCaptureDelay = estimatedCaptureDelay
    }

    /// What the samples are.
    public var format: AudioFormat { buffer.format }
    /// The number of frames.
    public var frameCount: Int { buffer.frameCount }
    /// How long the samples take at the nominal rate.
    public var duration: Duration { buffer.duration }
    /// The number of the frame after the last.
    public var endFrame: Int64 { firstFrame + Int64(frameCount) }
    /// When the frame after the last is due, at the nominal rate.
    public var endTimestamp: MediaTime { timestamp.advanced(by: duration) }
}

extension AudioChunk {
    /// The kind of a gap between two chunks. If several kinds apply, the last one in this list is stated; the numbers of the
    /// frames show a loss in any case.
    public enum Discontinuity: Sendable, Hashable {
        /// The time of the device has run back by this, or was found to be wrong; no frame is missing.
        case resynchronized(by: Duration)
        /// Frames are missing: the device, the source or a queue has lost them.
        case lost(frames: Int64)
        /// The chunk has another format than the one before.
        case formatChanged
        /// The capture has just been started.
        case start
    }
}
