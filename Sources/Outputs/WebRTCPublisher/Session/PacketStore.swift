import CaptureCore
import RTP

/// The packets that wait for the pacer, each in a separate slot. For one thread at a time.
///
/// Memory is made as the queue grows, up to ``maximumSlots``, and used again.
final class PacketStore {
    /// A packet that waits.
    private struct Slot {
        var size = 0
        var stamps = RTPPacket.Stamps()
    }

    /// The largest packet, as the senders are configured.
    static let slotSize = 1280
    private static let slotsPerChunk = 64
    /// About two seconds at 10 Mbit/s.
    static let maximumSlots = 4096

    private var chunks: [UnsafeMutableRawBufferPointer] = []
    private var slots: [Slot] = []
    private var free: [UInt32] = []

    deinit { for chunk in chunks { chunk.deallocate() } }

    /// Keeps a copy of a packet.
    ///
    /// - Returns: its number; nil when there is no room.
    func add(_ packet: RTPPacket) -> UInt64? {
        guard packet.bytes.count <= PacketStore.slotSize else { return nil }
        if free.isEmpty { grow() }
        guard let index = free.popLast() else { return nil }
        memory(of: Int(index)).copyMemory(from: packet.bytes)
        slots[Int(index)] = Slot(size: packet.bytes.count, stamps: packet.stamps)
        return UInt64(index)
    }

    /// Writes a packet into `buffer`, and forgets it.
    ///
    /// - Returns: its size, and the places of the fields to fill in.
    func take(_ number: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> (size: Int, stamps: RTPPacket.Stamps) {
        let slot = slots[Int(number)]
        free.append(UInt32(number))
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory(of: Int(number))[..<slot.size]))
        return (slot.size, slot.stamps)
    }

    private func memory(of index: Int) -> UnsafeMutableRawBufferPointer {
        let start = index % PacketStore.slotsPerChunk * PacketStore.slotSize
        let chunk = chunks[index / PacketStore.slotsPerChunk]
        return UnsafeMutableRawBufferPointer(rebasing: chunk[start..<start + PacketStore.slotSize])
    }

    private func grow() {
        guard slots.count < PacketStore.maximumSlots else { return }
        chunks.append(.allocate(byteCount: PacketStore.slotsPerChunk * PacketStore.slotSize, alignment: 64))
        free.reserveCapacity(slots.count + PacketStore.slotsPerChunk)
        for index in slots.count..<slots.count + PacketStore.slotsPerChunk { free.append(UInt32(index)) }
        slots.append(contentsOf: repeatElement(Slot(), count: PacketStore.slotsPerChunk))
    }
}
