import Synchronization

/// What an ``AudioSource`` may use while it makes samples. Belongs to the capturer's thread; only ``isStopping`` and
/// ``stopDescriptor`` may be used from elsewhere.
public final class AudioContext: Sendable {
    private let control: AudioControl
    private let pool = AudioBufferPool()
    private let storedNextFrame = Atomic<Int64>(0)
    private let storedNextTimestamp = Atomic<Int64>(0)
    private let wasInterrupted = Atomic(false)

    init(control: AudioControl) {
        self.control = control
    }

    var waiter: CaptureWaiter { control.waiter }

    /// The time now. The monotonic clock, or a test's.
    public var now: MediaTime { waiter.now }

    /// Whether the capture is being stopped; the source should return soon.
    public var isStopping: Bool { waiter.isStopping }

    /// The number of the frame with which the next chunk begins, if nothing is lost before it.
    public var nextFrame: Int64 { storedNextFrame.load(ordering: .relaxed) }

    /// When that frame is due, with ``AudioPacing/clock`` and ``AudioPacing/unpaced``; with others where the chunk before
    /// ended.
    public var nextTimestamp: MediaTime { MediaTime(nanoseconds: storedNextTimestamp.load(ordering: .relaxed)) }

    func setNext(frame: Int64, timestamp: MediaTime) {
        storedNextFrame.store(frame, ordering: .relaxed)
        storedNextTimestamp.store(timestamp.nanoseconds, ordering: .relaxed)
    }

    /// Whether the source has reported an interruption since the last call.
    func takeInterruption() -> Bool { wasInterrupted.exchange(false, ordering: .relaxed) }

    // MARK: Waits

    /// Sleeps until `deadline`, by the capture's clock, or until the capture is being stopped; true when the deadline was
    /// reached.
    @discardableResult
    public func wait(until deadline: MediaTime) -> Bool { waiter.wait(until: deadline) }

    /// Sleeps until a device, a socket or a pipe has something to read, or ``isStopping`` is true (`cancelled`).
    /// Continues after signals, and allocates nothing.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor; a negative one is not waited for.
    ///   - limit: how long at most, by the machine's clock whatever clock the capture has, to the millisecond; nil for
    ///     indefinitely.
    /// - Returns: what ended the wait.
    public func waitForInput(_ descriptor: Int32, atMost limit: Duration? = nil) -> InputWait {
        waiter.waitForInput(descriptor, atMost: limit)
    }

    /// A descriptor that `poll` finds readable once the capture is being stopped; never read or close it.
    ///
    /// Made at the first call; -1 when the system has no descriptor left.
    public var stopDescriptor: Int32 { waiter.stopDescriptor }

    /// Sets the handler that is called once the capture is being stopped, on the thread that stops it. It must only wake
    /// what ``AudioSource/nextChunk(_:)`` waits for. For sources that wait for something other than time or a
    /// descriptor; nil removes it.
    public func setStopHandler(_ handler: (@Sendable () -> Void)?) { waiter.setStopHandler(handler) }

    // MARK: Samples

    /// Samples in the capturer's recycled memory.
    ///
    /// - Parameters:
    ///   - format: what the samples are.
    ///   - frameCapacity: the maximum number of frames that `fill` may write.
    ///   - timestamp: when the first one was at the microphone; see ``SourceAudio/timestamp``.
    ///   - fill: writes samples from the first frame on, and returns the number of frames.
    /// - Returns: the samples, to be returned from ``AudioSource/nextChunk(_:)``.
    /// - Throws: `invalidConfiguration` for a format out of range, `outOfMemory`, and what `fill` throws.
    public func makeAudio(
        _ format: AudioFormat, frameCapacity: Int, timestamp: MediaTime? = nil,
        fill: (borrowing SampleWriter) throws -> Int
    ) throws -> SourceAudio {
        SourceAudio(try pool.makeBuffer(format, frameCapacity: frameCapacity, fill: fill), timestamp: timestamp)
    }

    /// The chunk of the usual length that begins at ``nextFrame``: for generators.
    ///
    /// - Parameters:
    ///   - settings: the source's.
    ///   - fill: writes all frames that there is room for.
    /// - Returns: the samples, to be returned from ``AudioSource/nextChunk(_:)``.
    /// - Throws: as ``makeAudio(_:frameCapacity:timestamp:fill:)``.
    public func makeAudio(
        _ settings: AudioSettings, fill: (borrowing SampleWriter) throws -> Void
    ) throws -> SourceAudio {
        try makeAudio(settings.format, frameCapacity: settings.framesPerChunk) { samples in
            try fill(samples)
            return samples.frameCapacity
        }
    }

    /// Reports that no sound comes for now, and why; the next chunk ends the interruption.
    public func reportInterruption(_ reason: CaptureState.InterruptionReason) {
        wasInterrupted.store(true, ordering: .relaxed)
        control.reportInterruption(reason)
    }
}
