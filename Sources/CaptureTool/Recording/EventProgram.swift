import MediaPublishing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Starts the program of `--on-event` for each begin and end of a clip, on separate threads, so that it delays nothing.
///
/// It is started without a shell, with the phase, the reasons and the path of the file as its arguments. Safe to use from any
/// thread.
final class EventProgram: Sendable {
    private struct State {
        var waiting: [RecordingEvent] = []
        var threads = 0
        /// The programs that run, which have not been waited for: so their numbers are theirs.
        var running: Set<pid_t> = []
        var isClosed = false
    }

    /// How many run at once, and how many events wait for that.
    private static let maximumRunning = 4
    private static let maximumWaiting = 100

    private let path: String
    private let onNotice: @Sendable (String) -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - path: the program; a name without a slash is looked for in `PATH`.
    ///   - onNotice: called with a sentence for the user, on any thread.
    /// - Throws: a usage error for what cannot be started.
    init(_ path: String, onNotice: @escaping @Sendable (String) -> Void) throws(ExitError) {
        self.path = path
        self.onNotice = onNotice
        let folders = (environmentVariable("PATH") ?? "").split(separator: ":").map { "\($0)/" }
        let places = path.contains("/") ? [path] : folders.map { $0 + path }
        guard places.contains(where: EventProgram.isProgram) else {
            throw ExitError(
                .usage,
                "--on-event '\(printable(path, limit: 60))': not a program that can be started; give its path, "
                    + "without arguments, and make it executable (chmod +x).")
        }
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// Starts it for an event, or as soon as others have ended.
    func report(_ event: RecordingEvent) {
        let (isTaken, needsThread) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed, state.waiting.count < EventProgram.maximumWaiting else { return (false, false) }
            state.waiting.append(event)
            let needsThread = state.threads < EventProgram.maximumRunning
            if needsThread { state.threads += 1 }
            return (true, needsThread)
        }
        guard isTaken else {
            return onNotice(
                "\(path) was not started for \(event.path), since \(EventProgram.maximumWaiting) events wait for it.")
        }
        guard needsThread else { return }
        do {
            try CaptureThread(name: "on-event") { [self] in run() }
        } catch {
            state.withLock { $0.threads -= 1 }
            onNotice("\(path) was not started: \(error.message)")
        }
    }

    /// Waits for the programs that run or wait, and kills those that take too long.
    func finish(timeout: Duration = .seconds(10)) {
        let deadline = MonotonicClock().now + timeout
        state.withLock { $0.isClosed = true }
        guard state.wait(until: deadline, for: { $0.threads == 0 ? () : nil }) == nil else { return }
        let count = state.withLock { state in
            state.waiting = []
            for process in state.running { kill(process, SIGKILL) }
            return state.running.count
        }
        if count > 0 { onNotice("\(path) had not ended after \(timeout), and was killed.") }
        _ = state.wait(until: MonotonicClock().now + .seconds(10)) { $0.threads == 0 ? () : nil }
    }

    private func run() {
        while true {
            let event = state.withLock { state -> RecordingEvent? in
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.threads -= 1
                return nil
            }
            guard let event else { break }
            run(for: event)
        }
        state.wakeAll()
    }

    private func run(for event: RecordingEvent) {
        var process = pid_t()
        // Under the lock, so that the end knows each one that runs.
        let code = state.withLock { state in
            let code = start(event, &process)
            if code == 0 { state.running.insert(process) }
            return code
        }
        guard code == 0 else {
            return onNotice("\(path) was not started for \(event.path): \(String(cString: strerror(code))).")
        }
        var information = siginfo_t()
        // It keeps its number until it is known here that it has ended.
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let status = state.withLock { state in
            state.running.remove(process)
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            return status
        }
        if status & 0x7F == 0, status >> 8 & 0xFF != 0 {
            onNotice("\(path) ended with the exit code \(status >> 8 & 0xFF) for \(event.path).")
        }
    }

    /// Returns 0 or the `errno`.
    private func start(_ event: RecordingEvent, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        // Standard output may be a recording.
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process blocks and ignores signals, and Ctrl-C is not for the program.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let words = EventProgram.arguments(path, event).map { strdup($0) }
        let variables = EventProgram.variables(event).map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        return posix_spawnp(&process, path, &actions, &attributes, words + [nil], variables + [nil])
    }

    /// The path, the phase, the reasons and the file.
    static func arguments(_ path: String, _ event: RecordingEvent) -> [String] {
        [path, event.phase.rawValue, reasons(event), absolute(event.path)]
    }

    private static func reasons(_ event: RecordingEvent) -> String {
        event.reasons.map(\.rawValue).joined(separator: ",")
    }

    /// The environment of this process without the options of the tool, some of which are secret, and the event.
    static func variables(_ event: RecordingEvent) -> [String] {
        let names = OptionDefaults.environmentNames.filter {
            !$0.hasPrefix("CAPTURER_") && !$0.hasPrefix("RECORDING_")
        }
        return names.compactMap { name in environmentVariable(name).map { "\(name)=\($0)" } } + [
            "RECORDING_EVENT=\(event.phase.rawValue)", "RECORDING_CLIP=\(event.clip)",
            "RECORDING_REASONS=\(reasons(event))", "RECORDING_DETAIL=\(event.detail ?? "")",
            "RECORDING_FILE=\(absolute(event.path))", "RECORDING_TIME=\(utcText(event.date))",
            "RECORDING_STILL=\(event.still.map(absolute) ?? "")",
            "RECORDING_SECONDS=\(fixed(event.duration.seconds, 3))", "RECORDING_BYTES=\(event.bytes)",
            "RECORDING_ERROR=\(event.error.map { "\($0)" } ?? "")",
        ]
    }

    /// A path that no program takes for an option, or looks for elsewhere.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }
}
