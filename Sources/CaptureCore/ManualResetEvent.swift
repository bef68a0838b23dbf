import Synchronization

/// A latch that ends a wait: once raised it stays raised until it is reset.
///
/// A ``CaptureClock`` waits on it, so that stopping a capture never waits for a frame interval.
/// Safe to use from any thread.
public final class ManualResetEvent: Sendable {
    private struct State {
        /// Counts ``pulse()``s, so that a waiter can tell one from a spurious wake-up.
        var pulses: UInt64 = 0
    }

    private let state = Locked(State())
    /// Changed with the state locked, so that no waiter misses it; read without, between frames.
    private let raised = Atomic(false)

    public init() {}

    /// Whether the signal is raised.
    public var isRaised: Bool { raised.load(ordering: .acquiring) }

    /// Ends all waits, those to come as well.
    public func raise() {
        set(true)
        state.wakeAll()
    }

    /// Lets later waits wait again.
    public func reset() {
        set(false)
    }

    private func set(_ isRaised: Bool) {
        state.withLock { _ in raised.store(isRaised, ordering: .releasing) }
    }

    /// Ends the waits that are under way, without raising the signal. For clocks whose time can be
    /// set from outside.
    public func pulse() {
        state.withLock { $0.pulses &+= 1 }
        state.wakeAll()
    }

    /// Blocks until the signal is raised or pulsed, or until `deadline` on `CLOCK_MONOTONIC`; without
    /// a deadline indefinitely.
    public func wait(until deadline: MediaTime? = nil) {
        wait(until: deadline, unless: { false })
    }

    /// As ``wait(until:)``, but returns at once when `isOver` is true. It is called with the signal locked, so a
    /// pulse that follows a change of what it looks at is never missed.
    package func wait(until deadline: MediaTime? = nil, unless isOver: () -> Bool) {
        var pulsesAtStart: UInt64?
        _ = state.wait(until: deadline) { state -> Void? in
            if isOver() { return () }
            let before = pulsesAtStart ?? state.pulses
            pulsesAtStart = before
            return isRaised || state.pulses != before ? () : nil
        }
    }
}
