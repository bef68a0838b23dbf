import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Takes the signals of the process on a thread of its own: the first that asks for an end ends the run in good order,
/// the second ends the process at once.
///
/// Make it before any other thread: they inherit that the signals are blocked, and none is interrupted by one.
final class SignalWatcher: Sendable {
    private struct State {
        var onFirst: (@Sendable () -> Void)?
        /// When the first one came that asks for an end.
        var firstTime: MediaTime?
    }

    /// What follows sooner belongs to the first: `timeout` signals a process, and then its group with the process in it.
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

    /// Holds the signals back until there is a watcher, which takes those that have come meanwhile.
    static func block() {
        var set = watchedSignals
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Leaves the signals to their usual meaning, in a process without a watcher.
    static func unblock() {
        var set = watchedSignals
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    private static var watchedSignals: sigset_t {
        var signals = [SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGCONT]
        // Under nohup the end of the terminal is not the end of the run.
        if !isIgnored(SIGHUP) { signals.append(SIGHUP) }
        return signalSet(signals)
    }

    /// Has `action` called for the first signal that asks for an end: on the thread of signals, or at once when the
    /// signal has come before. A second one ends the process.
    func watch(_ action: @escaping @Sendable () -> Void) {
        let isAsked = state.withLock { state in
            state.onFirst = action
            return state.firstTime != nil
        }
        if isAsked { action() }
    }

    private func handle(_ number: Int32) {
        switch number {
        case SIGTSTP:
            terminal.suspend()
            kill(getpid(), SIGSTOP)
        case SIGCONT:
            // Not right after the stop, which another thread may be the first to obey.
            terminal.resume()
        case SIGQUIT:
            // Its meaning is to end at once, with a core file.
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

/// A set of these signals.
private func signalSet(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in signals { sigaddset(&set, number) }
    return set
}
