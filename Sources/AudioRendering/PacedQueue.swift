import AudioCapturing

/// The level of a sink without a clock: written frames are played at their rate by a ``CaptureClock``.
struct PacedQueue: Sendable {
    private let clock: any CaptureClock
    private let capacity: Duration
    private var format: AudioFormat?
    /// Frames written since it was opened or flushed.
    private var written: Int64 = 0
    /// Frames played up to ``anchor``; since then the clock counts, unless it is paused.
    private var played: Int64 = 0
    private var anchor = MediaTime.zero
    private var isPaused = false

    init(clock: any CaptureClock, capacity: Duration) {
        self.clock = clock
        self.capacity = capacity
    }

    var isOpen: Bool { format != nil }
    var bytesPerFrame: Int { format?.bytesPerFrame ?? .max }
    var capacityFrames: Int { Int(format?.frames(in: capacity) ?? 0) }

    mutating func open(_ format: AudioFormat) {
        self.format = format
        isPaused = false
        flush()
    }

    mutating func close() { format = nil }

    /// The frames that are not played yet.
    mutating func queued() -> Int {
        settle()
        return Int(written - played)
    }

    /// The frames that it takes of a number of frames, which are written then.
    mutating func take(_ frames: Int) -> Int {
        let taken = min(frames, capacityFrames - queued())
        guard taken > 0 else { return 0 }
        written += Int64(taken)
        return taken
    }

    mutating func pause() {
        settle()
        isPaused = true
    }

    mutating func resume() {
        settle()
        isPaused = false
        anchor = clock.now
    }

    mutating func flush() {
        written = 0
        played = 0
        anchor = clock.now
    }

    /// Counts the frames played since the anchor. An empty queue waits for its next frame, which is played at once.
    private mutating func settle() {
        guard let format, !isPaused else { return }
        let now = clock.now
        guard written > played else {
            anchor = now
            return
        }
        let elapsed = format.frames(in: now - anchor)
        guard elapsed > 0 else { return }
        if played + elapsed >= written {
            played = written
            anchor = now
        } else {
            played += elapsed
            // Not the time now: the part of a frame would be lost at each look.
            anchor = anchor.advanced(by: format.duration(ofFrames: elapsed))
        }
    }
}
