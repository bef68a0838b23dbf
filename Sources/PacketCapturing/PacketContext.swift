/// What a ``PacketSource`` may use while it makes packets. Belongs to the capturer's thread; only ``isStopping`` and
/// ``stopDescriptor`` may be used from elsewhere.
public final class PacketContext: Sendable {
    private let control: PacketControl
    private let pool = PacketBufferPool(capacity: 96)
    private let losses = Locked<[(track: TrackID, count: UInt64)]>([])

    init(control: PacketControl) {
        self.control = control
    }

    var waiter: CaptureWaiter { control.waiter }

    /// The time now. The monotonic clock, or a test's.
    public var now: MediaTime { waiter.now }

    /// Whether the capture is being stopped; the source should return soon.
    public var isStopping: Bool { waiter.isStopping }

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
    /// what ``PacketSource/nextPacket(_:)`` waits for; nil removes it.
    public func setStopHandler(_ handler: (@Sendable () -> Void)?) { waiter.setStopHandler(handler) }

    // MARK: Packets

    /// A buffer of recycled memory with a copy of encoded bytes.
    public func makeBuffer(copying bytes: UnsafeRawBufferPointer) -> PacketBuffer { pool.makeBuffer(copying: bytes) }

    /// A buffer of recycled memory with a copy of encoded bytes.
    public func makeBuffer(copying bytes: [UInt8]) -> PacketBuffer {
        bytes.withUnsafeBytes { pool.makeBuffer(copying: $0) }
    }

    /// Reports packets of a track that were lost before the next one. On a track of video, packets up to the next key frame
    /// are left out then, and counted.
    ///
    /// - Parameters:
    ///   - count: how many, as far as is known; at least one.
    ///   - track: the track.
    public func reportLoss(_ count: Int = 1, of track: TrackID) {
        losses.withLock { $0.append((track, UInt64(max(1, count)))) }
    }

    /// The losses since the last call.
    func takeLosses() -> [(track: TrackID, count: UInt64)] {
        losses.withLock { losses in
            guard !losses.isEmpty else { return [] }
            defer { losses = [] }
            return losses
        }
    }

    /// Reports that no packets come for now, and why; the next packet ends the interruption.
    public func reportInterruption(_ reason: CaptureState.InterruptionReason) { control.reportInterruption(reason) }
}
