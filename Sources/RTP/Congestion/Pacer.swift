import CaptureCore

/// Spreads packets over time: at the estimator's pacing rate, in bursts of at most 5 ms.
///
/// Without it a key frame is 50 packets at once, of which a short queue loses most. Sound goes first and at once, then
/// resends, then video, then the padding of a probe. The packets themselves stay with their senders; nothing is allocated
/// once the queues have their length.
///
/// A value for one thread; times come in.
package struct Pacer: Sendable {
    /// What a packet is, the first to go first.
    package enum Priority: Int, Hashable, Sendable, CaseIterable {
        case audio, resend, video
    }

    /// A packet that waits.
    package struct Entry: Hashable, Sendable {
        /// The packet, with its size without IP and UDP.
        package var packet: OutgoingPacket
        /// The index of its stream.
        package var stream: Int

        package init(_ packet: OutgoingPacket, ofStream stream: Int) {
            self.packet = packet
            self.stream = stream
        }
    }

    /// What to send now.
    package enum Output: Hashable, Sendable {
        /// A packet that was put in, and the probe that it is part of, 0 for none.
        case packet(Entry, Priority, probe: UInt8)
        /// A packet of padding, or the resend of one of the last ones, of about this size.
        case padding(bytes: Int, probe: UInt8)
    }

    private static let burst = Duration.milliseconds(5)
    private static let paddingBytes = 1000
    /// What waits longer is no longer worth much: the caller should leave frames out.
    private static let longestWait = 2.0
    private static let slowestProbe = 50_000.0

    /// The rate while packets wait, in bits per second: ``BandwidthEstimator/pacingRate(at:)``.
    package var bitrate: Int

    private var queues = [PacketRing](repeating: PacketRing(), count: Priority.allCases.count)
    /// When all that was sent has left at the pacing rate.
    private var clear = MediaTime.zero
    /// Whether a burst has begun, which goes on for 5 ms of data.
    private var isBursting = false
    private var probe: (probe: BandwidthProbe, left: Int)?

    package init(bitrate: Int) { self.bitrate = bitrate }

    /// The number of packets that wait.
    package var count: Int { queues.reduce(0) { $0 + $1.count } }
    /// Their bytes.
    package var bytes: Int { queues.reduce(0) { $0 + $1.bytes } }
    /// How long what waits takes to be sent.
    package var queueDuration: Duration { .microseconds(Int64(Double(bytes) * 8e6 / rate)) }

    /// Puts a packet in.
    package mutating func push(_ entry: Entry, _ priority: Priority) { queues[priority.rawValue].push(entry) }

    /// Removes the packets of a priority, oldest first.
    ///
    /// - Parameter body: is called with each.
    package mutating func removeAll(_ priority: Priority, _ body: (Entry) -> Void) {
        while let entry = queues[priority.rawValue].pop() { body(entry) }
    }

    /// Sends at the rate of a probe until it has its bytes.
    package mutating func begin(_ probe: BandwidthProbe) { self.probe = (probe, probe.bytes) }

    /// What to send at a time; nil when nothing is due. To be asked until it returns nil.
    package mutating func next(at now: MediaTime) -> Output? {
        if let audio = queues[Priority.audio.rawValue].pop() { return output(audio, .audio, now) }
        guard clear <= now || isBursting && clear <= now.advanced(by: Pacer.burst) else {
            isBursting = false
            return nil
        }
        isBursting = true
        if let resend = queues[Priority.resend.rawValue].pop() { return output(resend, .resend, now) }
        if let video = queues[Priority.video.rawValue].pop() { return output(video, .video, now) }
        guard let probe else { return nil }
        let bytes = Pacer.paddingBytes
        let number = probe.probe.number
        account(bytes, now)
        return .padding(bytes: bytes, probe: number)
    }

    /// When to ask again; nil while nothing waits.
    package func nextTime(after now: MediaTime) -> MediaTime? {
        guard probe != nil || queues.contains(where: { $0.count > 0 }) else { return nil }
        return queues[Priority.audio.rawValue].count > 0 ? now : max(now, clear)
    }

    private var rate: Double {
        // The estimate that it was made of may be anything, by what a peer has stated.
        if let probe { return max(Double(probe.probe.bitrate), Pacer.slowestProbe) }
        return max(Double(max(bitrate, 1)), Double(bytes) * 8 / Pacer.longestWait)
    }

    private mutating func output(_ entry: Entry, _ priority: Priority, _ now: MediaTime) -> Output {
        let number = probe?.probe.number ?? 0
        account(entry.packet.bytes, now)
        return .packet(entry, priority, probe: number)
    }

    private mutating func account(_ bytes: Int, _ now: MediaTime) {
        let sent = bytes + SentPackets.overhead
        clear = max(clear, now).advanced(by: .nanoseconds(Int64(Double(sent) * 8e9 / rate)))
        guard let (probe, left) = probe else { return }
        self.probe = left > sent ? (probe, left - sent) : nil
    }
}

/// A queue that grows as need be, and is never made smaller.
private struct PacketRing {
    private static let none = Pacer.Entry(OutgoingPacket(number: 0, isResent: false, bytes: 0), ofStream: 0)
    private var entries = [Pacer.Entry](repeating: PacketRing.none, count: 64)
    private var first = 0
    private(set) var count = 0
    private(set) var bytes = 0

    mutating func push(_ entry: Pacer.Entry) {
        if count == entries.count {
            entries = (0..<count).map { entries[(first + $0) % entries.count] } + entries
            first = 0
        }
        entries[(first + count) % entries.count] = entry
        count += 1
        bytes += entry.packet.bytes
    }

    mutating func pop() -> Pacer.Entry? {
        guard count > 0 else { return nil }
        let entry = entries[first]
        first = (first + 1) % entries.count
        count -= 1
        bytes -= entry.packet.bytes
        return entry
    }
}
