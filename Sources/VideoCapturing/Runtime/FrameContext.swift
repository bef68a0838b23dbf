import Synchronization

/// The services for a ``FrameSource`` while it makes a frame. Belongs to the capturer's thread; only ``isStopping``,
/// ``mustReturn`` and the descriptors may be used from elsewhere.
public final class FrameContext: Sendable {
    private let control: VideoControl
    private let pool = PixelBufferPool()
    /// How many losses were counted that the sequence numbers have no room for yet.
    private let losses = Atomic<UInt64>(0)

    init(control: VideoControl) {
        self.control = control
    }

    var waiter: CaptureWaiter { control.waiter }

    /// The time now. The monotonic clock, or a test's.
    public var now: MediaTime { waiter.now }

    /// Whether the capture is being stopped; the source should return soon.
    public var isStopping: Bool { waiter.isStopping }

    /// Whether ``FrameSource/nextFrame(_:)`` should return now, with nil if there is no frame: the capture is being
    /// stopped, or its consumers have new wants, which are handed to ``FrameSource/adapt(to:)`` before the next call.
    public var mustReturn: Bool { waiter.isWoken }

    /// Sleeps until `deadline` or until the capture is being stopped; true when the deadline was reached.
    ///
    /// - Parameters:
    ///   - deadline: by the capture's clock.
    ///   - endsForWants: whether new wants end it as well; see ``mustReturn``.
    @discardableResult
    public func wait(until deadline: MediaTime, endsForWants: Bool = false) -> Bool {
        waiter.wait(until: deadline, endsWhenWoken: endsForWants)
    }

    /// Sleeps until a device, a socket or a pipe has something to read, or ``mustReturn`` is true. For sources with
    /// ``FramePacing/device``; continues after signals, and allocates nothing.
    ///
    /// ```swift
    /// mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
    ///     guard context.waitForInput(device) == .ready else { return nil }
    ///     return try context.makeFrame(settings.format) { pixels in … }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor; a negative one is not waited for.
    ///   - limit: how long at most, by the machine's clock whatever clock the capture has, to the millisecond; nil for
    ///     indefinitely.
    public func waitForInput(_ descriptor: Int32, atMost limit: Duration? = nil) -> InputWait {
        waiter.waitForInput(descriptor, atMost: limit)
    }

    /// A descriptor that `poll` finds readable once the capture is being stopped; never read or close it.
    ///
    /// Made at the first call; -1 when the system has no descriptor left.
    public var stopDescriptor: Int32 { waiter.stopDescriptor }

    /// A descriptor that `poll` finds readable once ``mustReturn`` is true; never read or close it.
    ///
    /// Made at the first call; -1 when the system has no descriptor left.
    public var returnDescriptor: Int32 { waiter.wakeDescriptor }

    /// Sets the handler that is called once the capture is being stopped, on the thread that stops it. It must only wake
    /// what ``FrameSource/nextFrame(_:)`` waits for. For sources that wait for something other than time or a
    /// descriptor; nil removes it.
    public func setStopHandler(_ handler: (@Sendable () -> Void)?) {
        waiter.setStopHandler(handler)
    }

    /// A frame from the capturer's pool, with the pixels that `fill` writes; its memory may hold an earlier image.
    ///
    /// - Throws: `invalidConfiguration` for a size out of range, `outOfMemory`, and the errors of `fill`.
    public func makeFrame(
        _ pixelFormat: PixelFormat, width: Int, height: Int, timestamp: MediaTime? = nil,
        fill: (borrowing PixelWriter) throws -> Void
    ) throws -> SourceFrame {
        SourceFrame(
            try pool.makeBuffer(pixelFormat, width: width, height: height, fill: fill), timestamp: timestamp)
    }

    /// A frame in `format` from the capturer's pool.
    ///
    /// - Throws: as ``makeFrame(_:width:height:timestamp:fill:)``.
    public func makeFrame(
        _ format: VideoFormat, fill: (borrowing PixelWriter) throws -> Void
    ) throws -> SourceFrame {
        try makeFrame(format.pixelFormat, width: format.imageWidth, height: format.imageHeight, fill: fill)
    }

    /// Reports that no frames come for now, and why; the next frame ends the interruption.
    public func reportInterruption(_ reason: CaptureState.InterruptionReason) {
        control.reportInterruption(reason)
    }

    /// Counts losses at once, even if no frame follows to carry their number (``SourceFrame/lostBefore``): before a
    /// stop, at the end of a file, or while every frame is damaged. The next frame's sequence number skips them; it must
    /// not state them again.
    ///
    /// - Parameters:
    ///   - lost: frames that the source or its device has lost.
    ///   - corrupt: frames that came damaged and were left out.
    public func countLosses(lost: UInt64 = 0, corrupt: UInt64 = 0) {
        guard lost | corrupt != 0 else { return }
        losses.wrappingAdd(lost &+ corrupt, ordering: .relaxed)
        control.contents.withLock { contents in
            contents.media.statistics.framesDropped.source &+= lost
            contents.media.statistics.framesDropped.corrupt &+= corrupt
        }
    }

    /// How many losses were counted since the last call.
    func takeLosses() -> UInt64 {
        losses.load(ordering: .relaxed) == 0 ? 0 : losses.exchange(0, ordering: .relaxed)
    }
}
