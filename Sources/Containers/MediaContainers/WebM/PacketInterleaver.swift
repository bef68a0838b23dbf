import VideoCapturing

/// Puts the packets of several tracks in one order by their timestamps.
///
/// A packet is released once every other track has a later one, so that none of them can still bring an earlier one. A
/// track that is silent holds the others up for at most a limit of media time; what it brings later is then out of order
/// by as much as it was late.
struct PacketInterleaver {
    private struct Queue {
        let track: TrackID
        var packets: [MediaPacket] = []
        /// The first one that waits.
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
    ///   - limit: for how long packets wait for a silent track, by their timestamps.
    init(_ tracks: [TrackID], limit: Duration = .seconds(1)) {
        queues = tracks.map { Queue(track: $0) }
        self.limit = limit
    }

    /// Takes a packet and hands on those that may go.
    mutating func add(_ packet: MediaPacket, to output: (MediaPacket) throws -> Void) rethrows {
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

    /// Hands on all that wait.
    mutating func flush(to output: (MediaPacket) throws -> Void) rethrows {
        while let next = earliest() { try output(queues[next].removeHead()) }
    }

    /// The queue whose head is the earliest; nil when none waits.
    private func earliest() -> Int? {
        queues.indices.filter { queues[$0].head != nil }.min { first, second in
            queues[first].head!.timestamp < queues[second].head!.timestamp
        }
    }
}
