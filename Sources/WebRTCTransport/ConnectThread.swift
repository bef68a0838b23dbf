import CNice
import CaptureCore

/// A thread on which peers gather, connect, answer checks and receive: a main loop of GLib. There is one for each processor,
/// and a peer stays with its own.
///
/// They are started with the first peers and stay: an idle one costs its stack. What runs on them must not wait.
///
/// `@unchecked Sendable`: GLib's contexts and sources are safe to use from any thread.
final class ConnectThread: @unchecked Sendable {
    private static let threads = Locked<(all: [ConnectThread], next: Int)>(([], 0))

    /// The threads in turn.
    ///
    /// - Throws: `system` when the machine has no thread left.
    static func next() throws(CaptureError) -> ConnectThread {
        try threads.withLock { (threads) throws(CaptureError) in
            if threads.all.count < Machine.processorCount { threads.all.append(try ConnectThread()) }
            threads.next = (threads.next + 1) % threads.all.count
            return threads.all[threads.next]
        }
    }

    let context: OpaquePointer

    private init() throws(CaptureError) {
        context = g_main_context_new()
        nonisolated(unsafe) let context = self.context
        try CaptureThread(name: "webrtc connect") {
            g_main_context_push_thread_default(context)
            g_main_loop_run(g_main_loop_new(context, 0))
        }
    }

    /// Runs `body` on the thread, in the order of the calls. Safe from any thread, also from this one.
    func perform(_ body: @escaping @Sendable () -> Void) {
        g_source_unref(addSource(every: 0) { body() })
    }

    /// Calls `body` on the thread at an interval, until the timer is cancelled.
    func repeating(every milliseconds: UInt32, _ body: @escaping @Sendable () -> Void) -> Timer {
        Timer(addSource(every: milliseconds, body))
    }

    /// How many tasks were handed over. GLib does that under its own lock, which ThreadSanitizer cannot see;
    /// it sees this one.
    private static let handedOver = Locked(0)

    private func addSource(every milliseconds: UInt32, _ body: @escaping @Sendable () -> Void)
        -> UnsafeMutablePointer<GSource>
    {
        let task = Unmanaged.passRetained(Task(body, repeats: milliseconds > 0))
        ConnectThread.handedOver.withLock { $0 += 1 }
        return nice_shim_add_timer(
            context, milliseconds,
            { argument in
                ConnectThread.handedOver.withLock { _ in }
                let task = Unmanaged<Task>.fromOpaque(argument!).takeUnretainedValue()
                task.body()
                return task.repeats ? 1 : 0
            }, task.toOpaque(), { Unmanaged<Task>.fromOpaque($0!).release() })
    }

    private final class Task: Sendable {
        let body: @Sendable () -> Void
        let repeats: Bool

        init(_ body: @escaping @Sendable () -> Void, repeats: Bool) {
            self.body = body
            self.repeats = repeats
        }
    }

    /// A timer of the thread; cancelled with its last reference.
    final class Timer: @unchecked Sendable {
        private let source: UnsafeMutablePointer<GSource>

        fileprivate init(_ source: UnsafeMutablePointer<GSource>) { self.source = source }

        deinit {
            g_source_destroy(source)
            g_source_unref(source)
        }
    }
}
