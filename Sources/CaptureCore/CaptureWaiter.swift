#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What ended a wait for input.
public enum InputWait: Sendable, Hashable {
    /// There is something to read, or the descriptor has ended or failed, which a read reports.
    ///
    /// In rare cases (the system has no memory left to wait with) there is nothing yet: use reads that do not block
    /// (`O_NONBLOCK`, `MSG_DONTWAIT`), and wait again after `EAGAIN`.
    case ready
    /// Nothing has come within the limit.
    case timedOut
    /// The capture is being stopped, or its consumers have new wants: return nil from `nextFrame`. Where the capture
    /// goes on, `adapt(to:)` and `nextFrame` are called next; what there is to read stays.
    case cancelled
}

/// The waits of a capture's thread, which end when the capture is being stopped, and some of them when its consumers
/// want something else.
///
/// Waits are for the capture's thread; all else may be used from any.
package final class CaptureWaiter: Sendable {
    package let clock: any CaptureClock
    /// Almost always; then the time is asked for without the detour through the protocol.
    private let isMonotonic: Bool
    private let stop = WaitEnd()
    /// Raised by a stop too.
    private let wake = WaitEnd()
    /// Whether a session is in progress.
    private let state = Locked(false)
    private let stopHandler = Locked<(@Sendable () -> Void)?>(nil)

    package init(clock: any CaptureClock) {
        self.clock = clock
        isMonotonic = clock is MonotonicClock
    }

    /// The time now. The monotonic clock, or a test's.
    package var now: MediaTime { isMonotonic ? MonotonicClock().now : clock.now }

    /// Whether the capture is being stopped.
    package var isStopping: Bool { stop.event.isRaised }

    /// Whether the capture is being stopped, or ``wakeUp()`` was called since ``clearWakeUp()``.
    package var isWoken: Bool { wake.event.isRaised }

    /// Readable once the capture is being stopped; -1 when the system has no descriptor left.
    package var stopDescriptor: Int32 { stop.descriptor }

    /// Readable once ``isWoken``; -1 when the system has no descriptor left.
    package var wakeDescriptor: Int32 { wake.descriptor }

    // MARK: Waits

    /// Sleeps until `deadline`, or until the capture is being stopped; true when the deadline was reached.
    ///
    /// - Parameter endsWhenWoken: whether ``wakeUp()`` ends it as well.
    package func wait(until deadline: MediaTime, endsWhenWoken: Bool = false) -> Bool {
        let event = endsWhenWoken ? wake.event : stop.event
        while !event.isRaised {
            guard clock.now < deadline else { return true }
            clock.wait(until: deadline, or: event)
        }
        return false
    }

    /// Sleeps until `descriptor` can be read, the capture is being stopped, or ``wakeUp()`` is called. Allocates
    /// nothing.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor; a negative one is not waited for.
    ///   - limit: how long at most, by the machine's clock, to the millisecond; nil for indefinitely.
    package func waitForInput(_ descriptor: Int32, atMost limit: Duration?) -> InputWait {
        let deadline = limit.map { MonotonicClock().now.advanced(by: $0) }
        while !isWoken {
            let end = wakeDescriptor
            var look = deadline
            if end < 0 {
                // No descriptor is left, so the flag must be polled.
                let next = MonotonicClock().now.advanced(by: .milliseconds(50))
                look = min(next, deadline ?? next)
            }
            let found = pollInput(descriptor, interruptedBy: end, until: look)
            if found.contains(.interrupted) { break }
            if !found.isEmpty { return .ready }
            if let deadline, MonotonicClock().now >= deadline { return .timedOut }
        }
        return .cancelled
    }

    // MARK: Ends

    /// Ends the waits that a wake-up may end, those to come as well, until ``clearWakeUp()``; outside of a session it does
    /// nothing.
    package func wakeUp() {
        state.withLock { isInSession in
            if isInSession { wake.raise() }
        }
    }

    /// From here on wake-ups are heard.
    package func beginSession() { state.withLock { $0 = true } }

    /// Clears a wake-up. Look for its reason after this call, so that none is missed.
    package func clearWakeUp() {
        state.withLock { _ in
            if !isStopping { wake.reset() }
        }
    }

    /// Ends all waits, those to come as well. With the control locked, so that it cannot come after the stop has been
    /// obeyed.
    package func raiseStop() {
        state.withLock { _ in
            stop.raise()
            wake.raise()
        }
    }

    /// Ends a session, and gets ready for the next.
    package func resetStop() {
        state.withLock { isInSession in
            isInSession = false
            stop.reset()
            wake.reset()
        }
    }

    /// Sets the handler that is called once the capture is being stopped, on the thread that stops it.
    package func setStopHandler(_ handler: (@Sendable () -> Void)?) {
        stopHandler.withLock { $0 = handler }
    }

    /// Without the control locked, because the handler takes other locks. A late call does no harm.
    package func callStopHandler() {
        stopHandler.withLock { $0 }?()
    }
}

/// An event with a descriptor that can be read while it is raised, made when it is first asked for.
package final class WaitEnd: Sendable {
    package let event = ManualResetEvent()
    private let pipe = Locked(SignalPipe())

    package init() {}

    /// -1 when the system has no descriptor left.
    package var descriptor: Int32 {
        pipe.withLock { pipe in
            pipe.openIfNeeded()
            if event.isRaised { pipe.set() }
            return pipe.descriptor
        }
    }

    package func raise() {
        event.raise()
        pipe.withLock { $0.set() }
    }

    package func reset() {
        event.reset()
        pipe.withLock { $0.clear() }
    }
}

/// Holds one byte while the event is raised.
private struct SignalPipe: ~Copyable {
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
