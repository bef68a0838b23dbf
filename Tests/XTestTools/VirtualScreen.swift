import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A real X server without a screen: Xvfb, on a display number that it picks itself.
///
/// A thread of its own starts it and waits for its end. The kernel ends the server with that thread, so it outlives the
/// tests in no case, however they end.
package final class VirtualScreen: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Life {
        var processID: pid_t?
        var hasEnded = false
    }

    package let width: Int
    package let height: Int
    /// Its number N, as in `:N`.
    package let number: Int
    private let arguments: [String]
    private let life: Locked<Locked<Life>>

    /// - Parameters:
    ///   - authority: a file whose cookies are asked of clients; nil when everyone may connect.
    ///   - options: more of Xvfb's, such as `["-extension", "MIT-SHM"]`.
    package init(
        width: Int = 320, height: Int = 200, depth: Int = 24, authority: String? = nil, options: [String] = []
    ) throws {
        var arguments = ["-screen", "0", "\(width)x\(height)x\(depth)", "-nolisten", "tcp", "-noreset", "-br"]
        if let authority { arguments += ["-auth", authority] }
        arguments += options
        self.width = width
        self.height = height
        self.arguments = arguments
        let (number, life) = try VirtualScreen.startSomewhere(arguments)
        self.number = number
        self.life = Locked(life)
    }

    /// On a number that no other server is likely to take before this one is started again on it: left to itself, Xvfb
    /// takes the lowest.
    private static func startSomewhere(_ arguments: [String]) throws -> (Int, Locked<Life>) {
        for _ in 1...10 {
            let place = ":\(Int.random(in: 100...20_000))"
            if let started = try? start([place] + arguments) { return started }
        }
        return try start(arguments)
    }

    deinit { end(SIGTERM) }

    /// What `DISPLAY` would be.
    package var name: String { ":\(number)" }

    /// Ends the server without a warning, as a crash would.
    package func crash() { end(SIGKILL) }

    /// Has the server hang: it keeps its connections, and does nothing.
    package func hang() { signal(SIGSTOP) }

    /// Lets a server that hangs go on.
    package func resume() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
        life.withLock { $0 }.withLock { life in
            if let processID = life.processID, !life.hasEnded { _ = kill(processID, number) }
        }
    }

    /// Starts the server again, on the same number.
    package func restart() throws {
        end(SIGTERM)
        let (_, life) = try VirtualScreen.start([name] + arguments)
        self.life.withLock { $0 = life }
    }

    /// By force if it does not end when it is told to: a test must not wait for it for ever.
    private func end(_ signal: Int32) { VirtualScreen.end(life.withLock { $0 }, signal) }

    private static func end(_ life: Locked<Life>, _ signal: Int32) {
        for signal in [signal, SIGKILL] {
            life.withLock { life in
                if let processID = life.processID, !life.hasEnded { _ = kill(processID, signal) }
            }
            let limit = MonotonicClock().now.advanced(by: .seconds(2))
            if life.wait(until: limit, for: { $0.hasEnded ? () : nil }) != nil { return }
        }
    }

    /// The number of the display, once the server takes clients.
    private static func start(_ arguments: [String]) throws -> (Int, Locked<Life>) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(description: "no pipe: errno \(errno)") }
        let (beginning, end) = (ends[0], ends[1])
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        defer { close(beginning) }
        let life = Locked(Life())
        try CaptureThread(name: "Xvfb") {
            let processID = spawn(arguments, numberTo: end)
            close(end)
            life.withLock { $0.processID = processID }
            if let processID {
                var information = siginfo_t()
                // The process stays until the lock is held, so its number cannot be another's when a signal is sent.
                while waitid(P_PID, UInt32(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
                life.withLock { life in
                    waitpid(processID, nil, 0)
                    life.hasEnded = true
                }
            } else {
                life.withLock { $0.hasEnded = true }
            }
            life.wakeAll()
        }
        var text = ""
        var byte: UInt8 = 0
        var answer = pollfd(fd: beginning, events: Int16(POLLIN), revents: 0)
        while poll(&answer, 1, 20_000) == 1, read(beginning, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            text.append(Character(UnicodeScalar(byte)))
        }
        guard let number = Int(text) else {
            VirtualScreen.end(life, SIGKILL)
            throw Failure(
                description: "Xvfb \(arguments.joined(separator: " ")) did not start; `make setup-tests` installs it")
        }
        return (number, life)
    }

    private static func spawn(_ arguments: [String], numberTo end: Int32) -> pid_t? {
        let words = ["setpriv", "--pdeathsig", "TERM", "Xvfb", "-displayfd", "3"] + arguments
        var strings = words.map { strdup($0) }
        strings.append(nil)
        defer { for string in strings { free(string) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, end, 3)
        // Capture threads hold signals back, and what they start would do so, too.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var processID = pid_t()
        return posix_spawnp(&processID, "setpriv", &actions, &attributes, strings, environ) == 0 ? processID : nil
    }
}
