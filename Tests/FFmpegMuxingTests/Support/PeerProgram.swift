import FFmpegMuxing
import Glibc
import VideoCapturing

/// Another program that receives, from its start to the end of the test.
final class PeerProgram: @unchecked Sendable {
    private let identifier: pid_t
    private var hasEnded = false

    init(_ program: String, _ arguments: [String]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        for descriptor in Int32(0)...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        defer { posix_spawn_file_actions_destroy(&actions) }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier = pid_t()
        let result = posix_spawnp(&identifier, program, &actions, nil, &words, environ)
        guard result == 0 else { throw MissingProgram(name: program) }
        self.identifier = identifier
    }

    deinit { end(SIGKILL) }

    /// Sends a signal, and waits for the end.
    func end(_ signal: Int32) {
        guard !hasEnded else { return }
        kill(identifier, signal)
        waitForEnd()
    }

    /// Waits for the program's own end; the limit is for a test that has failed.
    @discardableResult
    func waitForEnd(_ limit: Duration = .seconds(60)) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        var status: Int32 = 0
        while !hasEnded {
            if waitpid(identifier, &status, WNOHANG) != 0 { hasEnded = true }
            guard MonotonicClock().now < end else {
                kill(identifier, SIGKILL)
                waitpid(identifier, &status, 0)
                hasEnded = true
                return false
            }
            usleep(5000)
        }
        return true
    }
}

struct MissingProgram: Error {
    let name: String
}

/// The states of a muxer, in their order, which can be waited for.
final class StateRecord: Sendable {
    private let states = Locked<[FFmpegMuxer.State]>([])

    func add(_ state: FFmpegMuxer.State) {
        states.withLock { $0.append(state) }
        states.wakeAll()
    }

    var all: [FFmpegMuxer.State] { states.withLock { $0 } }

    /// Waits for `count` states of a kind; false when they do not come.
    func wait(_ count: Int = 1, _ isWanted: (FFmpegMuxer.State) -> Bool) -> Bool {
        states.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { states in
            states.count(where: isWanted) >= count ? true : nil
        } ?? false
    }
}

/// A socket of the test on a loopback port that the system has chosen.
final class LoopbackSocket: @unchecked Sendable {
    let descriptor: Int32
    let port: Int

    /// - Parameter listens: whether a TCP socket accepts connections; it never answers them.
    init(_ type: __socket_type, listens: Bool = false) {
        let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var buffer: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                precondition(bind(descriptor, address, size) == 0)
                precondition(getsockname(descriptor, address, &size) == 0)
            }
        }
        if listens { precondition(listen(descriptor, 4) == 0) }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }

    /// The next datagram; nil when none comes within a time.
    func receive(_ limit: Int32) -> [UInt8]? {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, limit) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : Array(bytes[..<count])
    }
}
