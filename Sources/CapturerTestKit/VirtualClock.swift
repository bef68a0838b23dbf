import VideoCapturing

/// A clock whose time a test decides, so that an hour of capture takes milliseconds and every timestamp is exact.
///
/// Safe to use from any thread.
public final class VirtualClock: CaptureClock {
    /// How time passes.
    public enum Mode: Sendable, Hashable {
        /// A wait sets the time to its deadline and returns at once.
        case automatic
        /// Time passes only by ``VirtualClock/advance(by:)``; waits block until then.
        case manual
    }

    private struct Waiter {
        var deadline: MediaTime
        var wake: ManualResetEvent
    }

    private struct Contents {
        var now: MediaTime
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
    }

    /// How time passes.
    public let mode: Mode
    private let contents: Locked<Contents>

    /// - Parameters:
    ///   - mode: how time passes.
    ///   - start: the time at the beginning.
    public init(_ mode: Mode = .automatic, start: MediaTime = MediaTime(nanoseconds: 1_000_000_000)) {
        self.mode = mode
        contents = Locked(Contents(now: start))
    }

    public var now: MediaTime { contents.withLock { $0.now } }

    public func wait(until deadline: MediaTime, or wake: ManualResetEvent) {
        guard mode == .manual else {
            if !wake.isRaised { contents.withLock { $0.now = max($0.now, deadline) } }
            return
        }
        let identifier = contents.withLock { contents in
            contents.nextWaiter += 1
            contents.waiters[contents.nextWaiter] = Waiter(deadline: deadline, wake: wake)
            return contents.nextWaiter
        }
        contents.wakeAll()
        // `advance` changes the time first and pulses then, so the check under the signal's lock misses nothing.
        while !wake.isRaised, now < deadline { wake.wait(unless: { self.now >= deadline }) }
        contents.withLock { _ = $0.waiters.removeValue(forKey: identifier) }
    }

    /// Advances time, and wakes the threads that wait. A source under test may call it too, to be slow.
    public func advance(by duration: Duration) {
        let signals = contents.withLock { contents in
            contents.now = contents.now.advanced(by: duration)
            return contents.waiters.values.map(\.wake)
        }
        for signal in signals { signal.pulse() }
    }

    /// Blocks until a thread waits for a time still to come, and returns the nearest of these times; nil when
    /// `timeout` of real time has passed. For tests in ``Mode/manual``, to know that a capture is asleep.
    public func awaitSleeper(timeout: Duration = .seconds(60)) -> MediaTime? {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { contents in
            contents.waiters.values.map(\.deadline).filter { $0 > contents.now }.min()
        }
    }
}
