import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Handles the signals of the process on a separate thread: the first one that asks for an end ends the run in an
/// orderly way, the second one ends the process immediately.
///
/// Create it before any other thread: threads inherit the blocked signals, so that none is interrupted by a signal.
final class SignalWatcher: Sendable {
    private struct State {
        var onFirst: (@Sendable () -> Void)?
        /// When the first signal that asks for an end arrived.
        var firstTime: MediaTime?
        var onUserSignal: (@Sendable () -> Void)?
        var onHangup: (@Sendable () -> Void)?
        /// Whether SIGUSR1 has come before its action was known.
        var hasUserSignal = false
    }

    /// Signals within this interval count as one: `timeout` signals a process, and then its group, which includes it.
    private static let repeatInterval = Duration.milliseconds(200)

    private let state = Locked(State())
    private let terminal: Terminal

    init(_ terminal: Terminal) throws(CaptureError) {
        self.terminal = terminal
        SignalWatcher.block()
        try CaptureThread(name: "signals") { [self] in
            var set = SignalWatcher.watchedSignals
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                handle(number)
            }
        }
    }

    /// Blocks the signals until there is a watcher, which handles those that have arrived meanwhile.
    static func block() {
        var set = watchedSignals
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Restores the usual handling of the signals, for a process without a watcher.
    static func unblock() {
        var set = watchedSignals
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    private static var watchedSignals: sigset_t {
        var signals = [SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1]
        // Under nohup the run outlives its terminal.
        if !isIgnored(SIGHUP) { signals.append(SIGHUP) }
        return signalSet(signals)
    }

    /// Sets the action for the first signal that asks for an end. It is called on the signal thread, or immediately
    /// when the signal has already arrived. A second signal ends the process.
    func watch(_ action: @escaping @Sendable () -> Void) {
        let isAsked = state.withLock { state in
            state.onFirst = action
            return state.firstTime != nil
        }
        if isAsked { action() }
    }

    /// Sets the action for each SIGUSR1, which has none otherwise. It is called on the signal thread, or immediately when the
    /// signal has already arrived.
    func watchUserSignal(_ action: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.onUserSignal = action
            return state.hasUserSignal
        }
        if hasCome { action() }
    }

    /// Sets the action for each SIGHUP, which asks for an end otherwise. It is called on the signal thread.
    func watchHangup(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onHangup = action } }

    private func handle(_ number: Int32) {
        if number == SIGHUP, let action = state.withLock({ $0.onHangup }) { return action() }
        switch number {
        case SIGUSR1:
            let action = state.withLock { state in
                state.hasUserSignal = true
                return state.onUserSignal
            }
            action?()
        case SIGTSTP:
            terminal.suspend()
            kill(getpid(), SIGSTOP)
        case SIGCONT:
            // Not right after `kill`, which may return before the process is stopped.
            terminal.resume()
        case SIGQUIT:
            // It ends a process immediately, with a core file.
            terminal.restoreForExit()
            signal(SIGQUIT, SIG_DFL)
            var set = signalSet([SIGQUIT])
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            kill(getpid(), SIGQUIT)
        default:
            let now = MonotonicClock().now
            let (first, action) = state.withLock { state in
                let first = state.firstTime
                state.firstTime = first ?? now
                return (first, state.onFirst)
            }
            guard let first else {
                action?()
                return
            }
            guard now - first >= SignalWatcher.repeatInterval else { return }
            terminal.restoreForExit()
            _exit(ExitStatus.interrupted.rawValue)
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        return handler == 1  // SIG_IGN
    }
}

/// The set of some signals.
private func signalSet(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in signals { sigaddset(&set, number) }
    return set
}
