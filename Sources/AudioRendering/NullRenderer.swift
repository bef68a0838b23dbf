import AudioCapturing

/// Plays into nothing, at the speed of sound: for servers, tests, and machines without a loudspeaker.
///
/// Safe to use from any thread.
public final class NullRenderer: AudioRenderer {
    private let queue: Locked<PacedQueue>

    public let name = "null"

    /// Creates a renderer.
    ///
    /// - Parameters:
    ///   - clock: the clock by which the sound is played.
    ///   - capacity: how much sound its buffer holds.
    public init(clock: any CaptureClock = MonotonicClock(), capacity: Duration = .milliseconds(400)) {
        queue = Locked(PacedQueue(clock: clock, capacity: capacity))
    }

    public func open(_ wanted: AudioFormat) throws(AudioRendererError) -> AudioFormat {
        queue.withLock { $0.open(wanted) }
        return wanted
    }

    public var bufferFrames: Int { queue.withLock { $0.capacityFrames } }

    public func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        queue.withLock { $0.take(samples) }
    }

    public func queuedFrames() throws(AudioRendererError) -> Int { queue.withLock { $0.queued() } }

    public func pause() throws(AudioRendererError) { queue.withLock { $0.pause() } }

    public func resume() throws(AudioRendererError) { queue.withLock { $0.resume() } }

    public func flush() throws(AudioRendererError) { queue.withLock { $0.flush() } }

    public func close() { queue.withLock { $0.close() } }
}

extension PacedQueue {
    /// As ``take(_:)-(Int)``, of whole frames of samples.
    mutating func take(_ samples: UnsafeRawBufferPointer) -> Int { take(samples.count / bytesPerFrame) }
}
