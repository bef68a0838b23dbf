import VideoCapturing

/// Interleaves the packets of several tracks by their timestamps.
///
/// A packet is released once every other track has a later one, so that no earlier one can follow. A silent track delays
/// the others for at most a limit of media time; its later packets are then out of order by as much as they were late.
package struct PacketInterleaver {
    private struct Queue {
        let track: TrackID
        var packets: [MediaPacket] = []
        /// The index of the first waiting packet.
        var first = 0

        var head: MediaPacket? { first < packets.count ? packets[first] : nil }

        mutating func removeHead() -> MediaPacket {
            defer {
                first += 1
                if first == packets.count {
                    packets.removeAll(keepingCapacity: true)
                    first = 0
                }
            }
            return packets[first]
        }
    }

    private var queues: [Queue]
    private let limit: Duration
    private var newest = MediaTime(nanoseconds: .min)

    /// - Parameters:
    ///   - tracks: at least one.
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
        newest = max(newest, packet.timestamp)
        while let next = earliest() {
            guard let head = queues[next].head else { return }
            let isCertain = queues.allSatisfy { $0.head != nil } || newest - head.timestamp > limit
            guard isCertain else { return }
            try output(queues[next].removeHead())
        }
    }

    /// Passes all waiting packets to `output`.
    package mutating func flush(to output: (MediaPacket) throws -> Void) rethrows {
        while let next = earliest() { try output(queues[next].removeHead()) }
    }

    /// The queue whose head is the earliest; nil when all are empty.
    private func earliest() -> Int? {
        queues.indices.filter { queues[$0].head != nil }.min { first, second in
            queues[first].head!.timestamp < queues[second].head!.timestamp
        }
    }
}
