import AudioCapturing

/// What a player's callers and its thread share: orders one way, state and status the other. All behind one lock, under
/// which nothing waits and no code of others runs.
final class RadioControl: Sendable {
    struct Contents {
        var state = RadioPlayer.State.initialized
        var stopReason = RadioPlayer.StopReason.none
        var error: RadioError?
        /// Where it is while it is paused.
        var phase = RadioPlayer.State.initialized
        var isPaused = false
        var isStartOrdered = false
        var isStopOrdered = false
        /// A start during a stop, to be obeyed after it.
        var isRestartOrdered = false
        var isCloseOrdered = false
        var seek: Duration?
        var volume: Float = 1
        var isMuted = false
        /// Counts the sessions (start to stop) that have ended.
        var sessionsEnded: UInt64 = 0
        var isThreadAlive = false
        var threadIdentifier: UInt?
        var status = RadioPlayer.Status()
        let changes = ObserverStreams<RadioPlayer.StateChange>()
        let titles = ObserverStreams<RadioPlayer.Title>()

        /// Whether there is a session that is not being stopped.
        var isActive: Bool {
            switch state {
            case .initialized, .stopping, .stopped: false
            default: true
            }
        }

        /// Goes to a state and reports it. Under the lock, so that no observer misses or reorders one.
        mutating func transition(to new: RadioPlayer.State, _ reason: RadioPlayer.StateChange.Reason) {
            guard state != new else { return }
            let change = RadioPlayer.StateChange(old: state, new: new, reason: reason)
            state = new
            status.state = new
            changes.send(change)
        }

        /// The phase of the session, which is the state unless it is paused.
        mutating func advance(to new: RadioPlayer.State, _ reason: RadioPlayer.StateChange.Reason) {
            guard isActive, !isStopOrdered else { return }
            phase = new
            if !isPaused { transition(to: new, reason) }
        }

        /// Ends the session for a reason; the first one counts.
        mutating func beginStop(_ why: RadioPlayer.StopReason, _ failure: RadioError?) {
            guard isActive else { return }
            if error == nil { error = failure }
            stopReason = why
            isPaused = false
            transition(to: .stopping, failure.map { .failure($0) } ?? (why == .userAction ? .requested : .stream))
        }
    }

    let contents = Locked(Contents())
    /// Ends the waits of the thread.
    let wake = WaitEnd()

    /// Changes the contents, and lets the thread and all waiters look.
    func order<Result>(_ body: (inout Contents) -> Result) -> Result {
        let result = contents.withLock(body)
        wake.raise()
        contents.wakeAll()
        return result
    }

    /// From the thread: changes what callers see.
    func update(_ body: (inout Contents) -> Void) {
        contents.withLock(body)
        contents.wakeAll()
    }
}
