#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a ``FrameSource`` may use while it makes a frame. Belongs to the capturer's thread; only
/// ``isStopping`` and ``stopDescriptor`` may be used from elsewhere.
public final class FrameContext: Sendable {
    /// The time now. The monotonic clock, or a test's.
    public var now: MediaTime { isMonotonic ? MonotonicClock().now : clock.now }

    let clock: any CaptureClock
    /// Almost always; then the time is asked for without the way through the protocol.
    private let isMonotonic: Bool
    let stop = WakeSignal()
    private let pool = PixelBufferPool()
    private let stopEvent = Locked(StopEvent())
    private let stopHandler = Locked<(@Sendable () -> Void)?>(nil)
    private let control: SourceControl

    init(clock: any CaptureClock, control: SourceControl) {
        self.clock = clock
        isMonotonic = clock is MonotonicClock
        self.control = control
    }

    /// Whether the capture is being stopped; the source should return soon.
    public var isStopping: Bool { stop.isRaised }

    /// Sleeps until `deadline` or until the capture is being stopped; true when the deadline was reached.
    @discardableResult
    public func wait(until deadline: MediaTime) -> Bool {
        while !stop.isRaised {
            guard clock.now < deadline else { return true }
            clock.wait(until: deadline, or: stop)
        }
        return false
    }

    /// A descriptor that `poll` finds readable once the capture is being stopped; never read or close it.
    ///
    /// Made at the first call; -1 when the system has no descriptor left.
    public var stopDescriptor: Int32 {
        stopEvent.withLock { event in
            event.openIfNeeded()
            if stop.isRaised { event.set() }
            return event.descriptor
        }
    }

    /// A frame from the capturer's pool, with the pixels that `fill` writes; its memory may hold an earlier
    /// picture. Throws `invalidConfiguration` for a size out of range, `outOfMemory`, and what `fill`
    /// throws.
    public func makeFrame(
        _ pixelFormat: PixelFormat, width: Int, height: Int, timestamp: MediaTime? = nil,
        fill: (borrowing PixelWriter) throws -> Void
    ) throws -> SourceFrame {
        SourceFrame(
            try pool.makeBuffer(pixelFormat, width: width, height: height, fill: fill), timestamp: timestamp)
    }

    /// A frame in `format` from the capturer's pool.
    public func makeFrame(
        _ format: VideoFormat, fill: (borrowing PixelWriter) throws -> Void
    ) throws -> SourceFrame {
        try makeFrame(format.pixelFormat, width: format.imageWidth, height: format.imageHeight, fill: fill)
    }

    /// Tells that no frames come for now, and why; the next frame ends the interruption.
    public func reportInterruption(_ reason: InterruptionReason) {
        control.noteInterruption(reason)
    }

    /// Counts damaged frames after which there is none that could carry the number (``SourceFrame/corruptBefore``): at the
    /// end of a file.
    package func countDamaged(_ count: UInt64) {
        control.contents.withLock { $0.statistics.framesDropped.corrupt &+= count }
    }

    /// Has `handler` called, on the thread that stops, once the capture is being stopped; it must only wake
    /// whoever ``FrameSource/nextFrame(_:)`` waits for. For sources that wait for something other than time
    /// or a descriptor.
    package func setStopHandler(_ handler: (@Sendable () -> Void)?) {
        stopHandler.withLock { $0 = handler }
    }

    /// With the control locked, so that it cannot come after the stop has been obeyed.
    func raiseStop() {
        stop.raise()
        stopEvent.withLock { $0.set() }
    }

    /// Without the control locked, since the handler takes locks of its own. Too late it does no harm.
    func callStopHandler() {
        stopHandler.withLock { $0 }?()
    }

    func resetStop() {
        stop.reset()
        stopEvent.withLock { $0.clear() }
    }
}

/// A pipe that holds one byte while the capture is being stopped.
private struct StopEvent: ~Copyable {
    private var ends: (read: Int32, write: Int32) = (-1, -1)
    private var isSet = false

    var descriptor: Int32 { ends.read }

    mutating func openIfNeeded() {
        guard ends.read < 0 else { return }
        var made: (read: Int32, write: Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &made) { bytes in
            pipe(bytes.baseAddress!.assumingMemoryBound(to: Int32.self))
        }
        guard result == 0 else { return }
        for end in [made.read, made.write] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        ends = made
    }

    mutating func set() {
        guard !isSet, ends.write >= 0 else { return }
        var byte: UInt8 = 1
        isSet = write(ends.write, &byte, 1) == 1
    }

    mutating func clear() {
        guard isSet else { return }
        var byte: UInt8 = 0
        _ = read(ends.read, &byte, 1)
        isSet = false
    }

    deinit {
        if ends.read >= 0 {
            close(ends.read)
            close(ends.write)
        }
    }
}
