import Synchronization
import VideoCapturing

/// Ends the capture thread's wait in `VIDIOC_DQBUF` when the capture is being stopped, and when the camera has
/// delivered nothing for too long.
///
/// A blocking `VIDIOC_DQBUF` saves a `poll` before each frame, but it has neither a timeout nor a stop descriptor.
/// `VIDIOC_STREAMOFF` from another thread ends it (`vb2_streamoff` wakes the waiting thread, and the queue's lock is
/// free meanwhile), and makes a wait that has not begun yet fail at once; so no stop comes too early. This is that
/// thread. It checks the clock once per stall limit, which is twice a second for most cameras.
///
/// The limit counts from the last frame on: as long as the driver has buffers, a wait means that none came since.
///
/// ``beginWait()`` to ``end()`` are for the capture thread, ``stop()`` is for any.
final class DequeueWatchdog: Sendable {
    private enum Order {
        case stop, end
    }

    /// How long an overdue wait is observed before it is ended, so as not to end one that has only just begun.
    private static let grace = Duration.milliseconds(50)

    private let order = Locked<Order?>(nil)
    /// Odd while the capture thread waits; only it writes.
    private let waits = Atomic<UInt64>(0)
    /// The time at which the camera counts as stalled, in nanoseconds of the monotonic clock, and the stall limit.
    private let deadline: Atomic<Int64>
    private let limit: Atomic<Int64>
    private let stalled = Atomic(false)
    private let thread = Locked<CaptureThread?>(nil)

    /// Starts the watchdog's thread.
    ///
    /// - Parameters:
    ///   - deadline: the end of the first wait.
    ///   - limit: the stall limit.
    ///   - streamOff: `VIDIOC_STREAMOFF`; false when the driver has refused it. Called on the watchdog's thread, no
    ///     longer after ``end()``.
    /// - Throws: `system` when the machine has no thread left.
    init(deadline: MediaTime, limit: Duration, streamOff: @escaping @Sendable () -> Bool) throws(CaptureError) {
        self.deadline = Atomic(deadline.nanoseconds)
        self.limit = Atomic(limit.nanoseconds)
        let thread = try CaptureThread(name: "camera-watchdog") { [self] in
            guard watch() else { return }
            // After a refusal the wait continues, so the request is repeated.
            while !streamOff(), order.wait(until: soon(), for: { $0 == .end ? () : nil }) == nil {}
        }
        self.thread.withLock { $0 = thread }
    }

    /// Whether it has ended a wait, or is about to, because the camera is stalled.
    var hasFoundStall: Bool { stalled.load(ordering: .acquiring) }

    /// The capture thread is about to wait.
    func beginWait() { countWait() }

    /// The capture thread waits no longer.
    func endWait() { countWait() }

    /// A frame was captured.
    func recordFrame(at now: MediaTime, limitNanoseconds: Int64) {
        deadline.store(now.nanoseconds &+ limitNanoseconds, ordering: .releasing)
        limit.store(limitNanoseconds, ordering: .relaxed)
    }

    /// The capture is being stopped.
    func stop() {
        order.withLock { if $0 == nil { $0 = .stop } }
        order.wakeAll()
    }

    /// Ends the thread; blocks while a `VIDIOC_STREAMOFF` is in progress. Call it only once.
    func end() {
        order.withLock { $0 = .end }
        order.wakeAll()
        thread.withLock { $0.take() }?.join()
    }

    private func countWait() {
        waits.store(waits.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private func soon() -> MediaTime { MonotonicClock().now.advanced(by: DequeueWatchdog.grace) }

    /// Returns true when the wait must be ended, false when the watchdog must end.
    private func watch() -> Bool {
        var next = MediaTime(nanoseconds: deadline.load(ordering: .acquiring))
        var overdue: UInt64?
        while true {
            if let order = order.wait(until: next, for: { $0 }) { return order == .stop }
            let now = MonotonicClock().now
            let wait = waits.load(ordering: .acquiring)
            let deadline = MediaTime(nanoseconds: deadline.load(ordering: .acquiring))
            if now < deadline {
                overdue = nil
                next = deadline
            } else if wait % 2 == 0 {
                // The consumer takes long; the camera is checked again after another limit.
                overdue = nil
                next = now.advanced(by: .nanoseconds(limit.load(ordering: .relaxed)))
            } else if overdue == wait {
                stalled.store(true, ordering: .releasing)
                return true
            } else {
                overdue = wait
                next = now.advanced(by: DequeueWatchdog.grace)
            }
        }
    }
}
