#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A separate operating-system thread, for work that blocks: captures, encoders, files.
///
/// The cooperative pool of Swift concurrency has one thread per core and must never be blocked. What the thread takes
/// is released automatically when it ends, whether or not another thread waits for that.
package struct CaptureThread: Sendable {
    private let hasEnded: Locked<Bool>

    /// Starts a thread; its name, cut to the kernel's 15 bytes, is what `top -H` and debuggers show.
    ///
    /// Throws `CaptureError` with the code `system` when the machine has no thread left.
    @discardableResult
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(CaptureError) {
        let hasEnded = Locked(false)
        let start = Unmanaged.passRetained(ThreadStart(name: name, body: body, hasEnded: hasEnded))
        // Detached from its beginning: AddressSanitizer remembers the kernel's number of a thread that could be joined
        // after its end, and looks at no later thread that is given the same, so that what such a one holds counts as
        // leaked.
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var identifier = pthread_t()
        let code = pthread_create(
            &identifier, &attributes,
            { argument in
                let start = Unmanaged<ThreadStart>.fromOpaque(argument!)
                let hasEnded = start.takeUnretainedValue().run()
                // The thread owns the box that `passRetained` left for it. Who waits for the end may rely on it that
                // what `body` held has been released.
                start.release()
                hasEnded.withLock { $0 = true }
                hasEnded.wakeAll()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw CaptureError(
                .system, operation: "start a thread", subject: name, errno: code,
                message: "The system allows no further thread; close other programs or raise `ulimit -u`.")
        }
        self.hasEnded = hasEnded
    }

    /// A number that no other living thread has.
    package static var currentIdentifier: UInt { UInt(pthread_self()) }

    /// Blocks until `body` has returned and what it held has been released. Not for the thread itself.
    package func join() { hasEnded.wait { $0 ? () : nil } }
}

/// How a call on a separate thread has ended.
package enum CallEnd<Answer: Sendable>: Sendable {
    case answer(Answer)
    /// The descriptor that ends the wait could be read.
    case interrupted
    case timedOut
}

extension CaptureThread {
    /// Runs a call that nothing interrupts, of the system's resolver or a sound server's plug-in, on a separate thread. The
    /// thread is abandoned, with all that `call` holds, when the time is over or a stop comes.
    ///
    /// - Parameters:
    ///   - deadline: on the monotonic clock.
    ///   - stop: a descriptor that ends the wait when it can be read; -1 for none.
    /// - Throws: `system` when the machine has no thread left.
    package static func call<Answer>(
        _ name: String, until deadline: MediaTime, interruptedBy stop: Int32 = -1,
        _ call: @escaping @Sendable () -> Answer
    ) throws(CaptureError) -> CallEnd<Answer> {
        let done = WaitEnd()
        let answer = Locked<Answer?>(nil)
        try CaptureThread(name: name) {
            let found = call()
            answer.withLock { $0 = found }
            done.raise()
        }
        while true {
            // When the system has no descriptor left, nothing wakes this thread.
            let look = done.descriptor < 0 ? MonotonicClock().now.advanced(by: .milliseconds(50)) : deadline
            let found = pollInput(done.descriptor, interruptedBy: stop, until: min(look, deadline))
            if let answer = answer.withLock({ $0 }) { return .answer(answer) }
            if found.contains(.interrupted) { return .interrupted }
            if MonotonicClock().now >= deadline { return .timedOut }
        }
    }
}

private final class ThreadStart: Sendable {
    private let name: String
    private let body: @Sendable () -> Void
    private let hasEnded: Locked<Bool>

    init(name: String, body: @escaping @Sendable () -> Void, hasEnded: Locked<Bool>) {
        self.name = name
        self.body = body
        self.hasEnded = hasEnded
    }

    /// Does the work of the thread, and returns the handler to notify of its end.
    func run() -> Locked<Bool> {
        nameThisThread(name)
        blockBrokenPipes()
        body()
        return hasEnded
    }
}

/// Through procfs, since `pthread_setname_np` is not visible to Swift without a C target.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    let bytes = Array(name.utf8.prefix(15))
    _ = write(file, bytes, bytes.count)
    close(file)
}

/// A peer that goes, such as an X server, is an error of the call that finds out, and must not end the program:
/// libraries of the system write to sockets without asking for that.
private func blockBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}
