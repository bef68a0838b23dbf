import CaptureCore

/// The frames of which packets wait to be sent, or can be asked for again, and how each was cut.
///
/// A frame is held by reference, once for all receivers, and a packet as 56 bytes. A value for one thread at a time.
struct RTPHistory {
    /// How long after it was sent a packet can be asked for.
    static let maximumAge = Duration.seconds(1)
    /// The shortest time between two retransmissions of a packet.
    static let minimumInterval = Duration.milliseconds(20)
    /// The maximum number of packets that are held: more wait for no network.
    static let maximumPackets = 8192

    /// A packet, as it was cut. The members stand in an order that leaves no gaps.
    struct Packet {
        fileprivate var sentAt = MediaTime.zero
        fileprivate var resentAt = MediaTime.zero
        var timestamp: UInt32 = 0
        fileprivate var frame: UInt32 = 0
        /// Where its body begins, in the frame or in the composed bodies.
        fileprivate var start: UInt32 = 0
        fileprivate var count: UInt16 = 0
        var sequenceNumber: UInt16 = 0
        /// The whole size; 0 for none.
        var size: UInt16 = 0
        fileprivate var header = Payload.Header()
        fileprivate var isComposed = false
        fileprivate var (isSent, isResent) = (false, false)
        var isLastOfFrame = false
        var isKeyFrame = false
        var carriesMID = false
        /// Nil when it is not sent with this packet.
        var orientation: VideoOrientation?
    }

    private struct Frame {
        let data: PacketBuffer
        /// The bodies that are not a part of the data.
        var composed: [UInt8] = []
        /// The packets that are still to be sent, or sent again.
        var waiting = 0
        var lastUse: MediaTime
    }

    /// How long a frame is held after its last use.
    private let age: Duration
    /// By the lowest bits of their numbers.
    private var packets = [Packet](repeating: Packet(), count: 64)
    /// By the lowest bits of their numbers; nil outside of ``first`` and ``end``.
    private var frames = [Frame?](repeating: nil, count: 32)
    private var first: UInt32 = 0
    private var end: UInt32 = 0
    private var newestSent: UInt16?

    /// - Parameter isKept: whether packets can be asked for again.
    init(isKept: Bool) { age = isKept ? RTPHistory.maximumAge : .zero }

    // MARK: Adding

    /// Holds a frame, to which the next packets belong, and forgets those that have served.
    mutating func begin(_ data: PacketBuffer, at now: MediaTime) {
        while let oldest = self[frame: first], oldest.waiting == 0,
            now.nanoseconds(since: oldest.lastUse) > age.nanoseconds
        { forgetOldest() }
        if end &- first == frames.count {
            var larger = [Frame?](repeating: nil, count: frames.count * 2)
            for number in sequence(first: first, next: { $0 &+ 1 }).prefix(frames.count) {
                larger[Int(number) % larger.count] = self[frame: number]
            }
            frames = larger
        }
        frames[Int(end) % frames.count] = Frame(data: data, lastUse: now)
        end &+= 1
    }

    /// Adds a packet of the last frame, whose number follows that of the one before.
    ///
    /// - Parameters:
    ///   - payload: the payload of the packet.
    ///   - bytes: those of the frame.
    mutating func add(_ packet: Packet, _ payload: Payload, of bytes: UnsafeRawBufferPointer) {
        let slot = Int(end &- 1) % frames.count
        var packet = packet
        packet.frame = end &- 1
        packet.header = payload.header
        packet.isComposed = payload.isComposed
        packet.count = UInt16(payload.body.count)
        if payload.isComposed {
            packet.start = UInt32(frames[slot]?.composed.count ?? 0)
            frames[slot]?.composed.append(contentsOf: payload.body)
        } else if let start = payload.body.baseAddress, let base = bytes.baseAddress {
            packet.start = UInt32(start - base)
        }
        frames[slot]?.waiting += 1
        // The one in its place is needed for as long as its frame is.
        while self[frame: packets[index(packet.sequenceNumber)].frame] != nil,
            packets[index(packet.sequenceNumber)].size > 0
        {
            if packets.count < RTPHistory.maximumPackets { grow() } else { forgetOldest() }
        }
        packets[index(packet.sequenceNumber)] = packet
    }

    private mutating func grow() {
        let old = packets
        packets = [Packet](repeating: Packet(), count: old.count * 2)
        for packet in old where packet.size > 0 { packets[index(packet.sequenceNumber)] = packet }
    }

    private mutating func forgetOldest() {
        frames[Int(first) % frames.count] = nil
        first &+= 1
    }

    private func index(_ number: UInt16) -> Int { Int(number) & (packets.count - 1) }

    private subscript(frame number: UInt32) -> Frame? {
        number &- first < end &- first ? frames[Int(number) % frames.count] : nil
    }

    // MARK: Reading

    /// Hands out a packet that is sent now; nil for one that was forgotten.
    ///
    /// - Parameter isResent: whether ``prepareResend(_:at:interval:permits:)`` has allowed it.
    mutating func send<Result>(
        _ number: UInt16, isResent: Bool, at now: MediaTime, _ body: (Packet, Payload) -> Result
    ) -> Result? {
        let index = index(number)
        guard holds(number), isResent == packets[index].isSent else { return nil }
        if !isResent {
            packets[index].isSent = true
            packets[index].sentAt = now
            newestSent = number
        }
        let slot = Int(packets[index].frame) % frames.count
        frames[slot]?.waiting -= 1
        frames[slot]?.lastUse = now
        return read(packets[index], body)
    }

    /// Hands out the packet that was sent last; nil for one that is too old.
    func last<Result>(at now: MediaTime, _ body: (Packet, Payload) -> Result) -> Result? {
        guard let number = newestSent, isRecent(number, at: now) else { return nil }
        return read(packets[index(number)], body)
    }

    /// Finds a packet to send again, and holds it until ``send(_:isResent:at:_:)``.
    ///
    /// - Parameters:
    ///   - number: the one that was asked for.
    ///   - now: the time.
    ///   - interval: the round trip: asked for again within it, a packet is still in flight.
    ///   - permits: whether this number of bytes may be sent again now.
    /// - Returns: its size; nil for a packet that is too old, unknown, or still in flight, or that may not be sent.
    mutating func prepareResend(
        _ number: UInt16, at now: MediaTime, interval: Duration, permits: (Int) -> Bool
    ) -> Int? {
        guard isRecent(number, at: now) else { return nil }
        let index = index(number)
        if packets[index].isResent {
            let least = max(interval, RTPHistory.minimumInterval)
            guard now.nanoseconds(since: packets[index].resentAt) >= least.nanoseconds else { return nil }
        }
        let size = Int(packets[index].size)
        guard permits(size) else { return nil }
        packets[index].isResent = true
        packets[index].resentAt = now
        frames[Int(packets[index].frame) % frames.count]?.waiting += 1
        return size
    }

    private func isRecent(_ number: UInt16, at now: MediaTime) -> Bool {
        let packet = packets[index(number)]
        return holds(number) && packet.isSent && now.nanoseconds(since: packet.sentAt) <= age.nanoseconds
    }

    private func holds(_ number: UInt16) -> Bool {
        let packet = packets[index(number)]
        return packet.size > 0 && packet.sequenceNumber == number && self[frame: packet.frame] != nil
    }

    private func read<Result>(_ packet: Packet, _ body: (Packet, Payload) -> Result) -> Result? {
        guard let frame = self[frame: packet.frame] else { return nil }
        let range = Int(packet.start)..<Int(packet.start) + Int(packet.count)
        func hand(_ bytes: UnsafeRawBufferPointer) -> Result {
            body(packet, Payload(packet.header, bytes.slice(range)))
        }
        return packet.isComposed ? frame.composed.withUnsafeBytes(hand) : frame.data.withUnsafeBytes(hand)
    }
}

/// Allows a part of a bitrate, half a second of it at once: retransmissions beyond that are what keeps a narrow link full.
struct ResendBudget {
    /// The bits per second that may be used.
    var bitrate: Int
    private var bytes: Double
    private var last: MediaTime?

    init(bitrate: Int) {
        self.bitrate = bitrate
        bytes = Double(bitrate) / 16
    }

    /// Uses up `count` bytes; false, and nothing is used, when there are fewer.
    mutating func take(_ count: Int, at now: MediaTime) -> Bool {
        let limit = Double(bitrate) / 16
        if let last { bytes += Double(now.nanoseconds(since: last)) / 1e9 * Double(bitrate) / 8 }
        last = now
        bytes = min(max(bytes, 0), limit)
        guard bytes >= Double(count) else { return false }
        bytes -= Double(count)
        return true
    }
}
