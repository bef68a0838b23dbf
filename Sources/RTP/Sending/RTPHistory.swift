import CaptureCore

/// The packets of the last second, for receivers that ask for lost ones again.
///
/// Its memory is made once: for a second and a quarter of the maximum bitrate. A class, because its memory has one
/// owner; for one thread at a time.
package final class RTPHistory {
    /// How long a packet can be asked for.
    package static let maximumAge = Duration.seconds(1)
    /// The shortest time between two retransmissions of a packet.
    package static let minimumInterval = Duration.milliseconds(20)

    /// The values stored next to a packet.
    struct Entry {
        var sequenceNumber: UInt16 = 0
        /// 0 for none.
        var size: UInt16 = 0
        var headerSize: UInt16 = 0
        var isKeyFrame = false
        var isProtected = false
        var sentAt = MediaTime.zero
        var resentAt: MediaTime?
    }

    private let memory: UnsafeMutableRawBufferPointer
    private var entries: [Entry]
    private let slotSize: Int
    /// The slot and the number of the newest packet.
    private var newest: (slot: Int, number: UInt16)?

    /// - Parameters:
    ///   - bitrate: the maximum, in bits per second.
    ///   - maximumPacketSize: in bytes.
    package init(bitrate: Int, maximumPacketSize: Int) {
        slotSize = maximumPacketSize
        // Packets are about nine tenths full; small frames make smaller ones, for which the constant stands.
        let count = min(max(bitrate, 0) / 8 * 5 / 4 / (maximumPacketSize * 9 / 10) + 96, 8192)
        entries = Array(repeating: Entry(), count: count)
        memory = .allocate(byteCount: count * slotSize, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// The number of packets that it holds at most.
    package var capacity: Int { entries.count }

    /// The memory in which the packet of a number is written; it takes the place of the oldest one.
    func reserve(_ number: UInt16) -> UnsafeMutableRawBufferPointer {
        var slot = 0
        if let newest {
            let step = Int(number &- newest.number)
            // A skipped packet was never sent; a number before the newest one is not expected.
            for skipped in 1..<max(1, min(step, entries.count)) {
                entries[(newest.slot + skipped) % entries.count].size = 0
            }
            slot = (newest.slot + step) % entries.count
        }
        newest = (slot, number)
        entries[slot] = Entry(sequenceNumber: number)
        return self[memory: slot]
    }

    /// Completes what ``reserve(_:)`` began.
    func commit(size: Int, headerSize: Int, isKeyFrame: Bool, isProtected: Bool = false, at time: MediaTime) {
        guard let slot = newest?.slot else { return }
        entries[slot].size = UInt16(size)
        entries[slot].headerSize = UInt16(headerSize)
        entries[slot].isKeyFrame = isKeyFrame
        entries[slot].isProtected = isProtected
        entries[slot].sentAt = time
    }

    /// Finds a packet to send again, and records that.
    ///
    /// - Parameters:
    ///   - number: the one that was asked for.
    ///   - now: the time.
    ///   - interval: the round trip: asked for again within it, a packet is still in flight.
    ///   - permits: whether this number of bytes may be sent again now.
    /// - Returns: nil for a packet that is too old, unknown, or still in flight, or that may not be sent.
    func takeForResending(
        _ number: UInt16, at now: MediaTime, interval: Duration, permits: (Int) -> Bool
    ) -> (bytes: UnsafeRawBufferPointer, entry: Entry)? {
        guard let newest else { return nil }
        let age = Int(newest.number &- number)
        guard age < entries.count else { return nil }
        let slot = (newest.slot - age + entries.count) % entries.count
        let entry = entries[slot]
        guard entry.size > 0, entry.sequenceNumber == number,
            now.nanoseconds(since: entry.sentAt) <= RTPHistory.maximumAge.nanoseconds
        else { return nil }
        if let last = entry.resentAt {
            let least = max(interval, RTPHistory.minimumInterval)
            guard now.nanoseconds(since: last) >= least.nanoseconds else { return nil }
        }
        guard permits(Int(entry.size)) else { return nil }
        entries[slot].resentAt = now
        return (UnsafeRawBufferPointer(rebasing: self[memory: slot][..<Int(entry.size)]), entry)
    }

    /// The newest packet; nil for one that is too old.
    func last(at now: MediaTime) -> (bytes: UnsafeRawBufferPointer, entry: Entry)? {
        guard let slot = newest?.slot else { return nil }
        let entry = entries[slot]
        guard entry.size > 0, now.nanoseconds(since: entry.sentAt) <= RTPHistory.maximumAge.nanoseconds else {
            return nil
        }
        return (UnsafeRawBufferPointer(rebasing: self[memory: slot][..<Int(entry.size)]), entry)
    }

    private subscript(memory slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[slot * slotSize..<(slot + 1) * slotSize])
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
