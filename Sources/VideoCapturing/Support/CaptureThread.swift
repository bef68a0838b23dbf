#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An operating-system thread of its own, for work that blocks: captures, encoders, files.
///
/// The cooperative pool of Swift concurrency has one thread per core and must never be blocked.
package struct CaptureThread: Sendable {
    private let identifier: pthread_t

    /// Starts a thread; its name, cut to the kernel's 15 bytes, is what `top -H` and debuggers show.
    ///
    /// Throws `CaptureError` with the code `system` when the machine has no thread left.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(CaptureError) {
        let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var identifier = pthread_t()
        let code = pthread_create(
            &identifier, nil,
            { argument in
                // The thread owns the box that `passRetained` left for it.
                let start = Unmanaged<ThreadStart>.fromOpaque(argument!).takeRetainedValue()
                nameThisThread(start.name)
                blockBrokenPipes()
                start.body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw CaptureError(
                .system, operation: "start a thread", subject: name, errno: code,
                message: "The system allows no further thread; close other programs or raise `ulimit -u`.")
        }
        self.identifier = identifier
    }

    /// A number that no other living thread has.
    package static var currentIdentifier: UInt { UInt(pthread_self()) }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { pthread_equal(pthread_self(), identifier) != 0 }

    /// Blocks until the thread has ended. Call once, from another thread.
    package func join() { pthread_join(identifier, nil) }

    /// Lets the thread's memory go by itself when it ends; in place of ``join()``.
    package func detach() { pthread_detach(identifier) }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
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
