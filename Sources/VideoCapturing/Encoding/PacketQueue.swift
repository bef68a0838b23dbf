/// A bounded queue of packets between an encoder and one output, which may be slower.
///
/// A full queue drops whole groups of pictures, so the packets that are taken out can always be decoded. It continues with
/// the newest waiting key frame, otherwise with the next one, which it requests from the producer. So the latency of a slow
/// output stays bounded, and the producer never waits. Of tracks without dependent packets, such as sound, the oldest
/// packets are dropped. A track begins with a key frame.
///
/// Safe to use from any thread. No allocation once made.
package final class PacketQueue: Sendable {
    /// How much may wait.
    package struct Limits: Sendable, Hashable {
        /// The maximum number of packets.
        package var packets: Int
        /// The maximum number of encoded bytes; a single packet may be larger.
        package var bytes: Int
        /// How long the oldest packet may wait, by the clock, before the queue counts as full.
        package var duration: Duration

        package init(packets: Int = 256, bytes: Int = 8 << 20, duration: Duration = .seconds(3)) {
            self.packets = packets
            self.bytes = bytes
            self.duration = duration
        }
    }

    /// What became of a packet that was pushed.
    package enum PushResult: Sendable, Hashable {
        /// It waits in the queue; others may have been dropped for it.
        case accepted
        /// It was dropped, as the track waits for its next key frame already.
        case awaitsKeyFrame
        /// It was dropped, and the track waits for a key frame from now on: request one.
        case needsKeyFrame
        /// The queue is closed; it was dropped.
        case closed
    }

    /// Statistics since the queue was made.
    package struct Counts: Sendable, Hashable {
        /// Packets that were pushed, but for those before the first key frame of their track.
        package var received: UInt64 = 0
        /// Packets that were dropped because the queue was full.
        package var dropped: UInt64 = 0
        /// How often decodable data ended before the next key frame: the gaps that a viewer sees.
        package var gaps: UInt64 = 0
        /// Packets that wait now.
        package var waiting = 0
        /// Their encoded bytes.
        package var waitingBytes = 0

        package init(received: UInt64 = 0, dropped: UInt64 = 0, gaps: UInt64 = 0) {
            self.received = received
            self.dropped = dropped
            self.gaps = gaps
        }
    }

    private let limits: Limits
    private let clock: any CaptureClock
    private let contents: Locked<Contents>

    /// An empty queue.
    package init(_ limits: Limits = Limits(), clock: any CaptureClock = MonotonicClock()) {
        self.limits = limits
        self.clock = clock
        contents = Locked(Contents(capacity: max(1, limits.packets)))
    }

    // MARK: The producer

    /// Puts a packet in. Never waits.
    @discardableResult
    package func push(_ packet: MediaPacket) -> PushResult {
        let now = clock.now
        let result = contents.withLock { $0.push(packet, at: now, limits) }
        if result == .accepted { contents.wakeOne() }
        return result
    }

    /// Ends the queue: later packets are not taken. Those that wait can still be taken out, unless they are discarded.
    package func close(discardingWaitingPackets: Bool = false) {
        contents.withLock { contents in
            contents.isClosed = true
            if discardingWaitingPackets { contents.removeFirst(contents.count) }
        }
        contents.wakeAll()
    }

    // MARK: The consumer

    /// Takes the oldest packet out; blocks until there is one. Nil once the queue is closed and empty, or `deadline` on
    /// the monotonic clock has passed.
    package func pop(until deadline: MediaTime? = nil) -> MediaPacket? {
        let packet: MediaPacket?? = contents.wait(until: deadline) { contents -> MediaPacket?? in
            if let packet = contents.popFirst() { return .some(packet) }
            return contents.isClosed ? .some(nil) : nil
        }
        return packet ?? nil
    }

    /// Takes the oldest packet out; nil when none waits.
    package func popIfPresent() -> MediaPacket? { contents.withLock { $0.popFirst() } }

    /// Drops all packets that wait; each track begins again with a key frame: for a new connection.
    package func restart() {
        contents.withLock { contents in
            contents.dropped &+= UInt64(contents.count)
            contents.removeFirst(contents.count)
            contents.tracks.removeAll(keepingCapacity: true)
        }
    }

    /// Whether no packet waits.
    package var isEmpty: Bool { contents.withLock { $0.count == 0 } }

    /// The current statistics.
    package var counts: Counts {
        contents.withLock { contents in
            var counts = Counts(received: contents.received, dropped: contents.dropped, gaps: contents.gaps)
            counts.waiting = contents.count
            counts.waitingBytes = contents.bytes
            return counts
        }
    }
}

/// The packets that wait, in a ring of fixed size.
private struct Contents {
    /// The state of a track.
    struct Track {
        let id: TrackID
        /// Whether it has packets that need earlier ones.
        var isDependent = false
        /// Whether a packet was taken.
        var hasBegun = false
        var awaitsKeyFrame = true
        /// Whether the producer knows that.
        var isRequested = false
    }

    /// A packet, and when it was put in.
    private struct Slot {
        let packet: MediaPacket
        let arrival: MediaTime
    }

    private var slots: [Slot?]
    private var first = 0
    private(set) var count = 0
    private(set) var bytes = 0
    var tracks: [Track] = []
    var isClosed = false
    private(set) var received: UInt64 = 0
    var dropped: UInt64 = 0
    private(set) var gaps: UInt64 = 0

    init(capacity: Int) {
        slots = Array(repeating: nil, count: capacity)
        tracks.reserveCapacity(4)
    }

    mutating func push(
        _ packet: MediaPacket, at now: MediaTime, _ limits: PacketQueue.Limits
    ) -> PacketQueue.PushResult {
        guard !isClosed else { return .closed }
        let track = index(of: packet.track)
        if !packet.isKeyFrame { tracks[track].isDependent = true }
        if packet.isKeyFrame || tracks[track].hasBegun { received &+= 1 }
        if packet.isKeyFrame || !tracks[track].awaitsKeyFrame, !hasRoom(for: packet, at: now, limits) {
            makeRoom(for: packet, at: now, limits)
        }
        guard packet.isKeyFrame || !tracks[track].awaitsKeyFrame else {
            // Before the first key frame nothing is lost.
            if tracks[track].hasBegun { dropped &+= 1 }
            defer { tracks[track].isRequested = true }
            return tracks[track].isRequested ? .awaitsKeyFrame : .needsKeyFrame
        }
        tracks[track].awaitsKeyFrame = false
        tracks[track].isRequested = false
        tracks[track].hasBegun = true
        append(Slot(packet: packet, arrival: now))
        return .accepted
    }

    private mutating func append(_ slot: Slot) {
        slots[(first + count) % slots.count] = slot
        count += 1
        bytes += slot.packet.data.count
    }

    mutating func popFirst() -> MediaPacket? { takeFirst()?.packet }

    private mutating func takeFirst() -> Slot? {
        guard count > 0, let slot = slots[first].take() else { return nil }
        first = (first + 1) % slots.count
        count -= 1
        bytes -= slot.packet.data.count
        return slot
    }

    mutating func removeFirst(_ number: Int) {
        for _ in 0..<number { _ = popFirst() }
    }

    private mutating func index(of id: TrackID) -> Int {
        if let index = tracks.firstIndex(where: { $0.id == id }) { return index }
        tracks.append(Track(id: id))
        return tracks.count - 1
    }

    private func packet(at index: Int) -> MediaPacket? { slots[(first + index) % slots.count]?.packet }

    private func hasRoom(for packet: MediaPacket, at now: MediaTime, _ limits: PacketQueue.Limits) -> Bool {
        guard count > 0 else { return true }
        guard count < slots.count, bytes + packet.data.count <= limits.bytes else { return false }
        let oldest = slots[first]?.arrival ?? now
        return now.nanoseconds(since: oldest) <= limits.duration.nanoseconds
    }

    /// Drops what waits up to the newest key frame, or all of it.
    private mutating func makeRoom(for packet: MediaPacket, at now: MediaTime, _ limits: PacketQueue.Limits) {
        guard tracks.contains(where: \.isDependent) else {
            // Nothing needs another.
            while !hasRoom(for: packet, at: now, limits) { drop() }
            return
        }
        let isEntry = packet.isKeyFrame && tracks[index(of: packet.track)].isDependent
        if !isEntry, let entry = newestEntry(), entry > 0 {
            drop(upTo: entry)
            if hasRoom(for: packet, at: now, limits) { return }
        }
        drop(upTo: count)
    }

    /// The newest key frame of a track with dependent packets.
    private func newestEntry() -> Int? {
        (0..<count).last { index in
            guard let packet = packet(at: index), packet.isKeyFrame else { return false }
            return tracks.contains { $0.id == packet.track && $0.isDependent }
        }
    }

    private mutating func drop() {
        guard popFirst() != nil else { return }
        dropped &+= 1
    }

    /// Drops the packets before an index, and behind it those of other tracks that need one of them.
    private mutating func drop(upTo entry: Int) {
        gaps &+= 1
        for index in tracks.indices where tracks[index].isDependent { tracks[index].awaitsKeyFrame = true }
        for _ in 0..<entry { drop() }
        let rest = count
        for _ in 0..<rest {
            guard let slot = takeFirst() else { break }
            let track = index(of: slot.packet.track)
            if slot.packet.isKeyFrame { tracks[track].awaitsKeyFrame = false }
            if tracks[track].awaitsKeyFrame { dropped &+= 1 } else { append(slot) }
        }
    }
}
