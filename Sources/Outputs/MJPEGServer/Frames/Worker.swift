import VideoCapturing

/// A thread that does what is due, sleeps until more is, and can be woken. Safe to use from any thread.
final class Worker: Sendable {
    private struct State {
        var isWoken = false
        var isStopping = false
        /// A thread runs; until it has ended.
        var hasThread = false
        var thread: UInt?
    }

    private let state = Locked(State())

    var isRunning: Bool { state.withLock { $0.hasThread && !$0.isStopping } }

    /// Starts the thread.
    ///
    /// - Parameter work: called again and again; returns when it is to be called next, nil for when it is woken.
    func start(_ work: @escaping @Sendable () -> MediaTime?) throws(CaptureError) {
        // A worker that was stopped by its own thread may still be on its way out.
        _ = state.wait { $0.hasThread ? nil : () }
        state.withLock { $0 = State(isWoken: true, hasThread: true) }
        do {
            try CaptureThread(name: "mjpeg-server") { [state] in
                state.withLock { $0.thread = CaptureThread.currentIdentifier }
                var deadline: MediaTime?
                while true {
                    let isOver = state.wait(until: deadline) { state -> Bool? in
                        guard state.isWoken || state.isStopping else { return nil }
                        state.isWoken = false
                        return state.isStopping
                    }
                    if isOver == true { break }
                    deadline = work()
                }
                state.withLock { state in
                    state.hasThread = false
                    state.thread = nil
                }
                state.wakeAll()
            }
        } catch {
            state.withLock { $0.hasThread = false }
            throw error
        }
    }

    /// Lets it look for work now.
    func wake() {
        state.withLock { $0.isWoken = true }
        state.wakeAll()
    }

    /// Ends the thread and waits for it; called on that thread it ends once the work that calls has returned.
    func stop() {
        state.withLock { $0.isStopping = true }
        state.wakeAll()
        let isOwn = state.withLock { $0.thread == CaptureThread.currentIdentifier }
        if !isOwn { _ = state.wait { $0.hasThread ? nil : () } }
    }
}
