import NIOCore
import NIOPosix
import VideoCapturing

/// Gives new connections to as few event loops as serve them well: the first one alone while there are few, and then the
/// least busy one. To wake a further thread for a frame costs as much as to send it to five viewers.
///
/// NIO takes no group of one's own for what it accepts, but hands out the loops of its group in turn. So the turn is
/// moved on to the loop that shall have the next connection. Connections that come at the same time may go to another;
/// they are served there as well.
///
/// Safe to use from any thread.
final class LoopPacking: Sendable {
    /// What one loop is done with in a fraction of a millisecond for each frame.
    static let fewConnections = 16

    private let group: MultiThreadedEventLoopGroup
    private let loops: [any EventLoop]
    /// Open connections of each loop.
    private let counts: Locked<[Int]>

    init(_ group: MultiThreadedEventLoopGroup) {
        self.group = group
        loops = Array(group.makeIterator())
        counts = Locked([Int](repeating: 0, count: loops.count))
        counts.withLock { steer($0) }
    }

    /// The loop that has the first connections.
    var first: any EventLoop { loops[0] }

    /// Counts a connection for as long as it is open.
    func count(_ channel: any Channel) {
        guard let index = loops.firstIndex(where: { $0 === channel.eventLoop }) else { return }
        change(index, by: 1)
        channel.closeFuture.whenComplete { [self] _ in change(index, by: -1) }
    }

    /// Counts connections of a loop, and moves the turn.
    func change(_ index: Int, by difference: Int) {
        counts.withLock { counts in
            counts[index] += difference
            steer(counts)
        }
    }

    /// With the counts locked, so that nobody else moves the turn.
    private func steer(_ counts: [Int]) {
        let next =
            counts.firstIndex { $0 < LoopPacking.fewConnections } ?? counts.indices.min { counts[$0] < counts[$1] }!
        let before = loops[(next + loops.count - 1) % loops.count]
        for _ in loops where group.next() === before { return }
    }
}
