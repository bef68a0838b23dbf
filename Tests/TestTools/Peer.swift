import Glibc
import VideoCapturing

/// Another program, from its start to the end of the test; what it prints can be waited for.
package final class Peer {
    private let identifier: pid_t
    private let output: Int32
    private var printed: [UInt8] = []

    /// Nil when the program is not there. Its standard output is read, its standard input empty.
    package init?(_ program: String, _ arguments: [String]) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier = pid_t()
        let result = posix_spawnp(&identifier, program, &actions, nil, &words, environ)
        close(ends[1])
        guard result == 0 else {
            close(ends[0])
            return nil
        }
        self.identifier = identifier
        output = ends[0]
    }

    deinit { stop() }

    private var isStopped = false

    package func stop() {
        guard !isStopped else { return }
        isStopped = true
        kill(identifier, SIGKILL)
        var status: Int32 = 0
        waitpid(identifier, &status, 0)
        close(output)
    }

    /// The next line that it prints; nil when none comes.
    package func line(_ limit: Duration = .seconds(30)) -> String? {
        let end = MonotonicClock().now.advanced(by: limit)
        while true {
            if let newline = printed.firstIndex(of: 10) {
                defer { printed.removeSubrange(...newline) }
                return String(decoding: printed[..<newline], as: UTF8.self)
            }
            let left = (end - MonotonicClock().now).nanoseconds / 1_000_000
            var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&wait, 1, Int32(clamping: left)) > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = Glibc.read(output, &bytes, bytes.count)
            guard count > 0 else { return nil }
            printed += bytes[..<count]
        }
    }

    /// All that a program prints until it ends; nil when it is not there or fails.
    package static func run(_ program: String, _ arguments: [String]) -> [String]? {
        guard let peer = Peer(program, arguments) else { return nil }
        var lines: [String] = []
        while let line = peer.line() { lines.append(line) }
        var status: Int32 = 0
        waitpid(peer.identifier, &status, 0)
        peer.isStopped = true
        close(peer.output)
        return status == 0 ? lines : nil
    }
}
