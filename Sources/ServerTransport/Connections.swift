import CaptureCore
import NIOCore

/// Counts connections and responses, and refuses connections when there are too many, or too many from one peer. Safe
/// to use from any thread.
package final class Connections: Sendable {
    /// Whether a connection is served.
    package enum Admission: Sendable, Hashable {
        case served
        /// It is answered that there are too many: in total, or from its address.
        case refused(limit: Int, isOfAddress: Bool)
        /// There are too many, so it is closed without a response.
        case dropped
    }

    /// The counts since the server was made; those of now for ``open``.
    package struct Counts: Sendable {
        package var open = 0
        package var accepted: UInt64 = 0
        package var refused: UInt64 = 0
        package var answers: [Int: UInt64] = [:]
        package var snapshots: UInt64 = 0
    }

    /// The number of connections beyond the limit that get a response before they are closed.
    private static let courtesy = 32

    private static let courtesyPerPeer = 4

    private struct State {
        var limit: Int
        var counts = Counts()
        var ofPeers: [Peer: Int] = [:]
    }

    private let limitPerPeer: Int?
    private let state: Locked<State>

    /// - Parameters:
    ///   - limit: the maximum number of connections.
    ///   - limitPerPeer: the maximum number from one peer, unless that is this machine; nil for no such limit.
    package init(limit: Int, limitPerPeer: Int? = nil) {
        self.limitPerPeer = limitPerPeer
        state = Locked(State(limit: limit))
    }

    /// Sets the maximum number of connections.
    package func setLimit(_ limit: Int) { state.withLock { $0.limit = limit } }

    /// Counts a connection in; unless it is dropped, ``leave(_:)`` counts it out.
    package func enter(_ peer: Peer) -> Admission {
        state.withLock { state in
            state.counts.accepted += 1
            let ofPeer = state.ofPeers[peer, default: 0] + 1
            let limitPerPeer = peer == .local ? .max : limitPerPeer ?? .max
            guard state.counts.open < state.limit + Connections.courtesy,
                ofPeer - Connections.courtesyPerPeer <= limitPerPeer
            else {
                state.counts.refused += 1
                return .dropped
            }
            state.counts.open += 1
            state.ofPeers[peer] = ofPeer
            if ofPeer <= limitPerPeer, state.counts.open <= state.limit { return .served }
            state.counts.refused += 1
            return ofPeer > limitPerPeer
                ? .refused(limit: limitPerPeer, isOfAddress: true) : .refused(limit: state.limit, isOfAddress: false)
        }
    }

    /// Counts a connection in, and out when it closes.
    ///
    /// - Throws: where it is dropped, so that SwiftNIO closes it.
    package func enter(_ channel: any Channel) throws -> (peer: Peer, admission: Admission) {
        let peer = Peer(channel.remoteAddress)
        let admission = enter(peer)
        guard admission != .dropped else { throw ChannelError.operationUnsupported }
        channel.closeFuture.whenComplete { _ in self.leave(peer) }
        return (peer, admission)
    }

    /// Counts a connection out.
    package func leave(_ peer: Peer) {
        state.withLock { state in
            state.counts.open -= 1
            let left = state.ofPeers[peer, default: 0] - 1
            state.ofPeers[peer] = left > 0 ? left : nil
        }
    }

    package func recordAnswer(_ status: Int) { state.withLock { $0.counts.answers[status, default: 0] += 1 } }

    package func recordSnapshot() { state.withLock { $0.counts.snapshots += 1 } }

    package var current: Counts { state.withLock { $0.counts } }

    /// All connections have been closed.
    package func forgetOpen() {
        state.withLock { state in
            state.counts.open = 0
            state.ofPeers = [:]
        }
    }
}

/// The address of a client, for limits per address.
package enum Peer: Hashable, Sendable {
    /// A program on this machine; it may be a proxy, which stands for all of its clients.
    case local
    case ipv4(UInt32)
    /// The first 64 bits: a customer of a provider has at least that prefix.
    case ipv6(UInt64)

    /// The address, or the network, that the limits are for; as a text that no other has.
    package var name: String {
        switch self {
        case .local: "local"
        case .ipv4(let number): "4:\(number)"
        case .ipv6(let number): "6:\(number)"
        }
    }

    package init(_ address: SocketAddress?) {
        // Where the kernel has the address in a `sockaddr_in` and a `sockaddr_in6`.
        let range: Range<Int>
        switch address {
        case .v4?: range = 4..<8
        case .v6?: range = 8..<24
        case .unixDomainSocket?, nil:
            self = .local
            return
        }
        let bytes = address!.withSockAddr { pointer, count in
            Array(UnsafeRawBufferPointer(start: pointer, count: count))[range]
        }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        let (high, low) = (number(bytes.dropLast(8)), number(bytes.suffix(8)))
        if range.count == 4 || high == 0 && low >> 32 == 0xFFFF {
            let ipv4 = UInt32(truncatingIfNeeded: low)
            self = ipv4 >> 24 == 127 ? .local : .ipv4(ipv4)
        } else {
            self = high == 0 && low == 1 ? .local : .ipv6(high)
        }
    }
}

extension SocketAddress {
    /// Whether only programs on the same machine can connect to it.
    package var isLoopback: Bool { ipAddress != nil && Peer(self) == .local }
}
