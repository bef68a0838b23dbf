import CaptureCore
import Glibc
import TestTools

/// Passes datagrams on between a publisher, which knows the port of the relay only, and a receiver; it can be cut.
final class DatagramRelay: Sendable {
    private struct State {
        var isCut = false
        var dropsChecks = false
        var isClosed = false
    }

    /// Where the publisher sends to, at 127.0.0.1.
    let port: Int
    private let state = Locked(State())

    /// - Parameter receiver: the receiver's port at 127.0.0.1.
    init(to receiver: Int) throws {
        let (front, back) = (try DatagramRelay.bound(), try DatagramRelay.bound())
        port = Int(UInt16(bigEndian: DatagramRelay.address(of: front).sin_port))
        let state = state
        startThread { DatagramRelay.run(front, back, receiver, state) }
    }

    deinit { state.withLock { $0.isClosed = true } }

    /// Whether nothing passes.
    var isCut: Bool {
        get { state.withLock { $0.isCut } }
        set { state.withLock { $0.isCut = newValue } }
    }

    /// Whether the checks of ICE do not pass, and all else does.
    var dropsChecks: Bool {
        get { state.withLock { $0.dropsChecks } }
        set { state.withLock { $0.dropsChecks = newValue } }
    }

    private static func run(_ front: Int32, _ back: Int32, _ receiver: Int, _ state: Locked<State>) {
        var target = loopback(receiver)
        var publisher: sockaddr_in?
        var buffer = [UInt8](repeating: 0, count: 65536)
        var descriptors = [front, back].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while !state.withLock({ $0.isClosed }) {
            guard poll(&descriptors, 2, 50) > 0 else { continue }
            for (index, descriptor) in [front, back].enumerated() where descriptors[index].revents != 0 {
                var source = sockaddr_in()
                let count = withAddress(&source) { address, size in
                    var size = size
                    return recvfrom(descriptor, &buffer, buffer.count, 0, address, &size)
                }
                // STUN begins with 0 to 3 (RFC 7983).
                let isCheck = buffer[0] < 4
                let passes = state.withLock { !$0.isCut && !($0.dropsChecks && isCheck) }
                guard count > 0, passes else { continue }
                if index == 0 {
                    publisher = source
                    _ = withAddress(&target) { sendto(back, buffer, count, 0, $0, $1) }
                } else if var publisher {
                    _ = withAddress(&publisher) { sendto(front, buffer, count, 0, $0, $1) }
                }
            }
        }
        close(front)
        close(back)
    }

    private static func bound() throws -> Int32 {
        let made = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = loopback(0)
        guard withAddress(&address, { bind(made, $0, $1) }) == 0 else { throw NoConnection(code: errno) }
        return made
    }

    private static func address(of socket: Int32) -> sockaddr_in {
        var address = sockaddr_in()
        _ = withAddress(&address) { address, size in
            var size = size
            return getsockname(socket, address, &size)
        }
        return address
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func withAddress<Result>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
