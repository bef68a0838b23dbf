import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The keys of the terminal, each at once and without its echo, while a capture runs. Ctrl-C and Ctrl-Z stay signals.
///
/// Safe to use from any thread.
final class Keyboard: Sendable {
    private struct State {
        /// The settings of the terminal before; nil while no keys are read.
        var usual: termios?
        var waiter: CaptureWaiter?
        var isSuspended = false
        var handlers: [Handler] = []
    }

    private struct Handler {
        var takesSequences: Bool
        var onKey: @Sendable (UInt8) -> Void
    }

    private let descriptor: Int32
    private let state = Locked(State())

    init(descriptor: Int32 = STDIN_FILENO) { self.descriptor = descriptor }

    /// Reads keys from now on; does nothing where standard input is no terminal, or one that belongs to another program.
    ///
    /// - Parameters:
    ///   - takesSequences: whether it takes the keys that send several bytes as well, such as arrows, of which the first is
    ///     escape.
    ///   - onKey: called with each byte that a key sends, on a separate thread, as those of earlier calls are.
    func begin(takesSequences: Bool = false, _ onKey: @escaping @Sendable (UInt8) -> Void) {
        var usual = termios()
        guard isOurs, tcgetattr(descriptor, &usual) == 0 else { return }
        let waiter = CaptureWaiter(clock: MonotonicClock())
        let isFirst = state.withLock { state in
            state.handlers.append(Handler(takesSequences: takesSequences, onKey: onKey))
            guard state.usual == nil else { return false }
            state.usual = usual
            state.waiter = waiter
            return true
        }
        guard isFirst else { return }
        guard setSingleKeys(usual) else { return end() }
        do throws(CaptureError) {
            try CaptureThread(name: "keyboard") { [self] in
                Keyboard.read(descriptor, waiter) { keys in
                    let isSequence = keys.first == 0x1B
                    for handler in state.withLock({ $0.handlers }) where handler.takesSequences || !isSequence {
                        keys.forEach(handler.onKey)
                    }
                }
            }
        } catch {
            // Without a thread there are no keys.
            end()
        }
    }

    /// Whether keys are read.
    var isReading: Bool { state.withLock { $0.usual != nil } }

    /// Restores the terminal. Does nothing when no keys are read.
    func end() {
        state.withLock { state in
            if let usual = state.usual, !state.isSuspended { restore(usual) }
            state.waiter?.raiseStop()
            state = State()
        }
    }

    /// Gives the terminal back to the shell, until ``resume()``.
    func suspend() {
        state.withLock { state in
            guard let usual = state.usual, !state.isSuspended else { return }
            state.isSuspended = true
            restore(usual)
        }
    }

    /// Reads keys again, unless the process continues in the background.
    func resume() {
        state.withLock { state in
            guard let usual = state.usual, state.isSuspended, isOurs, setSingleKeys(usual) else { return }
            state.isSuspended = false
        }
    }

    /// Whether it is a terminal that this process may change: in the background the kernel would stop the process for it.
    private var isOurs: Bool {
        guard isatty(descriptor) == 1 else { return false }
        let group = tcgetpgrp(descriptor)
        // It is not the terminal of this session: nothing is in the foreground or the background there.
        return group < 0 || group == getpgrp()
    }

    private func setSingleKeys(_ usual: termios) -> Bool {
        var settings = usual
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        return tcsetattr(descriptor, TCSANOW, &settings) == 0
    }

    private func restore(_ usual: termios) {
        guard isOurs else { return }
        var settings = usual
        tcsetattr(descriptor, TCSANOW, &settings)
    }

    private static func read(_ descriptor: Int32, _ waiter: CaptureWaiter, _ onKeys: (UnsafeRawBufferPointer) -> Void) {
        // In the background a read fails then, rather than stopping the process.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTTIN)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var bytes: (UInt64, UInt64) = (0, 0)
        while waiter.waitForInput(descriptor, atMost: nil) == .ready, !waiter.isStopping {
            let count = withUnsafeMutableBytes(of: &bytes) { buffer in
                #if canImport(Glibc)
                    Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                #else
                    Musl.read(descriptor, buffer.baseAddress, buffer.count)
                #endif
            }
            guard count > 0 else {
                // The terminal was closed, or is another program's for now.
                guard count < 0, errno == EIO || errno == EINTR || errno == EAGAIN,
                    waiter.wait(until: waiter.now.advanced(by: .milliseconds(500)))
                else { return }
                continue
            }
            withUnsafeBytes(of: bytes) { onKeys(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
        }
    }
}
