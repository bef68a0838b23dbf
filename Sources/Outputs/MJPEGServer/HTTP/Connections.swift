import VideoCapturing

/// Counts connections and answers, and turns connections away when there are too many, or too many of one peer. Safe to use
/// from any thread.
final class Connections: Sendable {
    /// Whether a connection is served.
    enum Admission: Sendable, Hashable {
        case served
        /// It is told that there are too many: all together, or of its address.
        case refused(limit: Int, isOfAddress: Bool)
        /// There are so many that it is closed without a word.
        case dropped
    }

    struct Counts {
        var open = 0
        var accepted: UInt64 = 0
        var refused: UInt64 = 0
        var answers: [Int: UInt64] = [:]
    }

    /// How many connections beyond the limit are told so before they are closed.
    private static let courtesy = 32

    private static let courtesyPerPeer = 4

    private struct State {
        var limit: Int
        var counts = Counts()
        var ofPeers: [Peer: Int] = [:]
    }

    private let limitPerPeer: Int?
    private let state: Locked<State>

    /// - Parameter limitPerPeer: the maximum number of one peer, unless that is this machine; nil for no such limit.
    init(limit: Int, limitPerPeer: Int? = nil) {
        self.limitPerPeer = limitPerPeer
        state = Locked(State(limit: limit))
    }

    /// Sets the maximum number of connections.
    func setLimit(_ limit: Int) { state.withLock { $0.limit = limit } }

    /// Counts a connection in; unless it is dropped, ``leave(_:)`` counts it out.
    func enter(_ peer: Peer) -> Admission {
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

    /// Counts a connection out.
    func leave(_ peer: Peer) {
        state.withLock { state in
            state.counts.open -= 1
            let left = state.ofPeers[peer, default: 0] - 1
            state.ofPeers[peer] = left > 0 ? left : nil
        }
    }

    func noteAnswer(_ status: Int) { state.withLock { $0.counts.answers[status, default: 0] += 1 } }

    var current: Counts { state.withLock { $0.counts } }

    /// All connections have been closed.
    func forgetOpen() {
        state.withLock { state in
            state.counts.open = 0
            state.ofPeers = [:]
        }
    }
}
