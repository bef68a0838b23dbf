import VideoCapturing

/// Counts connections and answers, and turns connections away when there are too many. Safe to use from any thread.
final class Connections: Sendable {
    /// Whether a connection is served.
    enum Admission: Sendable {
        case served
        /// It is told that there are too many.
        case refused
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

    private let limit: Int
    private let counts = Locked(Counts())

    init(limit: Int) { self.limit = limit }

    /// Counts a connection in; unless it is dropped, ``leave()`` counts it out.
    func enter() -> Admission {
        counts.withLock { counts in
            counts.accepted += 1
            guard counts.open < limit + Connections.courtesy else {
                counts.refused += 1
                return .dropped
            }
            counts.open += 1
            guard counts.open > limit else { return .served }
            counts.refused += 1
            return .refused
        }
    }

    func leave() { counts.withLock { $0.open -= 1 } }

    func noteAnswer(_ status: Int) { counts.withLock { $0.answers[status, default: 0] += 1 } }

    var current: Counts { counts.withLock { $0 } }

    /// All connections have been closed.
    func forgetOpen() { counts.withLock { $0.open = 0 } }
}
