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
        var count = 0
    }

    private let state = Locked(State())
    private let terminal: Terminal

    init(_ terminal: Terminal) throws(CaptureError) {
        self.terminal = terminal
        // A closed pipe is an error of the write that finds it, and ends nothing else.
        signal(SIGPIPE, SIG_IGN)
        var signals = [SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGCONT]
        // Under nohup the end of the terminal is not the end of the run.
        if !SignalWatcher.isIgnored(SIGHUP) { signals.append(SIGHUP) }
        let watched = signals
        var set = signalSet(watched)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        try CaptureThread(name: "signals") { [self] in
            var set = signalSet(watched)
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                handle(number)
            }
        }
    }

    /// Has `action` called, on the thread of signals, for the first one that asks for an end. Until then such a
    /// signal ends the process: nothing has begun.
    func watch(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onFirst = action }
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
            let action = state.withLock { state in
                state.count += 1
                return state.count == 1 ? state.onFirst : nil
            }
            if let action {
                action()
            } else {
                terminal.restoreForExit()
                _exit(ExitStatus.interrupted.rawValue)
            }
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
