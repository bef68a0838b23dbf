import VideoCapturing

/// Interleaves the packets of several tracks by the times at which they are decoded.
///
/// A packet is released once every other track has a later one, so that no earlier one can follow. Of packets with the
/// same time that of the earlier track in the list comes first. A silent track delays the others for at most a limit
/// of media time; its later packets are then out of order by as much as they were late.
package struct PacketInterleaver {
    private struct Queue {
        let track: TrackID
        // A track that is always ahead of another never has an empty queue, so packets that have left must not stay in it. The
        // limit keeps it short enough to be moved up with each packet.
        var packets: [MediaPacket] = []

        var head: MediaPacket? { packets.first }
    }

    private var queues: [Queue]
    private let limit: Duration
    private var newest = MediaTime(nanoseconds: .min)

    /// - Parameters:
    ///   - tracks: at least one; the order decides between packets of the same timestamp.
    ///   - limit: how long packets wait for a silent track, by their timestamps.
    package init(_ tracks: [TrackID], limit: Duration = .seconds(1)) {
        queues = tracks.map { Queue(track: $0) }
        self.limit = limit
    }

    /// Adds a packet and passes those that can be released to `output`.
    package mutating func add(_ packet: MediaPacket, to output: (MediaPacket) throws -> Void) rethrows {
        guard queues.count > 1, let index = queues.firstIndex(where: { $0.track == packet.track }) else {
            return try output(packet)
        }
        queues[index].packets.append(packet)
        newest = max(newest, PacketInterleaver.time(of: packet))
        while let next = earliest() {
            guard let head = queues[next].head else { return }
            let isCertain = queues.allSatisfy { $0.head != nil } || newest - PacketInterleaver.time(of: head) > limit
            guard isCertain else { return }
            try output(queues[next].packets.removeFirst())
        }
    }

    /// Passes all waiting packets to `output`.
    package mutating func flush(to output: (MediaPacket) throws -> Void) rethrows {
        while let next = earliest() { try output(queues[next].packets.removeFirst()) }
    }

    /// The queue whose head is the earliest; nil when all are empty.
    private func earliest() -> Int? {
        var result: (index: Int, time: MediaTime)?
        for (index, queue) in queues.enumerated() {
            guard let time = queue.head.map(PacketInterleaver.time), result.map({ time < $0.time }) ?? true else {
                continue
            }
            result = (index, time)
        }
        return result?.index
    }

    private static func time(of packet: MediaPacket) -> MediaTime { packet.decodeTimestamp ?? packet.timestamp }
}
