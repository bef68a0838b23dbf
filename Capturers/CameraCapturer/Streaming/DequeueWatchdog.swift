import Synchronization
import VideoCapturing

/// Ends the capture thread's wait in `VIDIOC_DQBUF` when the capture is being stopped, and when the camera has been
/// silent for too long.
///
/// To have the driver wait for the frame that it then gives spares a `poll` before each; but such a wait knows neither
/// stop nor time. `VIDIOC_STREAMOFF` from another thread ends it (`vb2_streamoff` wakes who waits, and the queue's lock
/// is free meanwhile), and lets one that has not begun yet fail at once; so no stop comes too early. This is that
/// thread. It looks at the clock once in each limit of the camera's silence, twice a second for most.
///
/// The silence counts from the last frame on: as long as the driver has buffers, a wait says that none came since.
///
/// ``beginWait()`` to ``end()`` are for the capture thread, ``stop()`` is for any.
final class DequeueWatchdog: Sendable {
    private enum Order {
        case stop, end
    }

    /// How long a wait that is overdue is looked at, so as not to end one that has only just begun.
    private static let grace = Duration.milliseconds(50)

    private let order = Locked<Order?>(nil)
    /// Odd while the capture thread waits; only it writes.
    private let waits = Atomic<UInt64>(0)
    /// When the camera is to be taken for stalled, in nanoseconds of the monotonic clock, and how long it may be silent.
    private let deadline: Atomic<Int64>
    private let limit: Atomic<Int64>
    private let stalled = Atomic(false)
    private let thread = Locked<CaptureThread?>(nil)

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - deadline: until when the first wait may last.
    ///   - streamOff: `VIDIOC_STREAMOFF`; false when the driver has refused it. Called on the watchdog's thread, not any
    ///     more after ``end()``.
    ///
    /// Throws `system` when the machine has no thread left.
    init(deadline: MediaTime, limit: Duration, streamOff: @escaping @Sendable () -> Bool) throws(CaptureError) {
        self.deadline = Atomic(deadline.nanoseconds)
        self.limit = Atomic(limit.nanoseconds)
        let thread = try CaptureThread(name: "camera-watchdog") { [self] in
            guard watch() else { return }
            // Refused, the wait goes on, and with it whoever waits for its end.
            while !streamOff(), order.wait(until: soon(), for: { $0 == .end ? () : nil }) == nil {}
        }
        self.thread.withLock { $0 = thread }
    }

    /// Whether it has ended a wait, or is about to, because of the camera's silence.
    var hasFoundStall: Bool { stalled.load(ordering: .acquiring) }

    /// The capture thread is about to wait.
    func beginWait() { countWait() }

    /// It waits no longer.
    func endWait() { countWait() }

    /// A frame has come.
    func noteFrame(at now: MediaTime, limitNanoseconds: Int64) {
        deadline.store(now.nanoseconds &+ limitNanoseconds, ordering: .releasing)
        limit.store(limitNanoseconds, ordering: .relaxed)
    }

    /// The capture is being stopped.
    func stop() {
        order.withLock { if $0 == nil { $0 = .stop } }
        order.wakeAll()
    }

    /// Ends the thread; blocks for as long as a `VIDIOC_STREAMOFF` that is under way. Only once.
    func end() {
        order.withLock { $0 = .end }
        order.wakeAll()
        thread.withLock { $0.take() }?.join()
    }

    private func countWait() {
        waits.store(waits.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private func soon() -> MediaTime { MonotonicClock().now.advanced(by: DequeueWatchdog.grace) }

    /// Returns when the wait is to be ended; false when the watching is.
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
                // It is the consumer that takes long; and the camera, if anything is wrong with it, has time until then.
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
