/// Transport-wide feedback: RTCP packet type 205, format 15 (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1).
///
/// It states for a range of transport-wide sequence numbers which packets have arrived, and when. All lengths are checked
/// when it is made, so that reading cannot fail. It refers to the bytes of the packet, which must outlive it, and allocates
/// nothing.
package struct TransportFeedback {
    /// A packet of the range.
    package struct Report: Hashable, Sendable {
        /// Its transport-wide sequence number.
        package var sequence: UInt16
        /// When it arrived, in units of 250 µs after ``TransportFeedback/referenceTime``; nil for one that did not arrive.
        package var arrival: Int32?
    }

    /// The maximum number of packets of a feedback packet; more than 8 s of the fastest stream.
    package static let maximumCount = 8192

    /// The first sequence number.
    package let base: UInt16
    /// The number of packets that it reports on, at least 1.
    package let count: Int
    /// Of the receiver's clock, in units of 64 ms: 24 bits, signed, which wrap around.
    package let referenceTime: Int32
    /// Counts the feedback packets of a receiver; wraps around.
    package let feedbackCount: UInt8

    private let bytes: UnsafeRawBufferPointer
    /// The offset of the first arrival time.
    private let deltas: Int
    private static let chunks = 20

    /// Reads one RTCP packet, from its header on.
    ///
    /// - Parameter packet: the packet, without others of the same datagram; padding is allowed.
    /// - Returns: nil for another packet, or when any of its lengths is wrong.
    package init?(_ packet: UnsafeRawBufferPointer) {
        guard packet.count >= TransportFeedback.chunks + 2, packet[0] & 0xDF == 0x8F, packet[1] == 205,
            (packet.word(2) + 1) * 4 == packet.count
        else { return nil }
        // The last byte counts the bytes of padding.
        let isPadded = packet[0] & 0x20 != 0
        let padding = isPadded ? Int(packet[packet.count - 1]) : 0
        guard isPadded == (padding > 0), packet.count - padding >= TransportFeedback.chunks + 2 else { return nil }
        bytes = UnsafeRawBufferPointer(rebasing: packet[..<(packet.count - padding)])
        base = UInt16(bytes.word(12))
        count = bytes.word(14)
        guard (1...TransportFeedback.maximumCount).contains(count) else { return nil }
        referenceTime = Int32(bitPattern: UInt32(bytes.word(16)) << 16 | UInt32(bytes[18]) << 8) >> 8
        feedbackCount = bytes[19]
        var offset = TransportFeedback.chunks
        var left = count
        var deltaBytes = 0
        while left > 0 {
            guard offset + 2 <= bytes.count else { return nil }
            let chunk = Chunk(bytes.word(offset))
            offset += 2
            let used = min(left, chunk.count)
            if chunk.isRun {
                guard chunk.symbol(0) < 3 else { return nil }
                deltaBytes += used * chunk.symbol(0)
            } else {
                for index in 0..<used {
                    guard chunk.symbol(index) < 3 else { return nil }
                    deltaBytes += chunk.symbol(index)
                }
            }
            // A run of none would be read without end in sight.
            guard used > 0 else { return nil }
            left -= used
        }
        deltas = offset
        guard offset + deltaBytes <= bytes.count else { return nil }
    }

    /// Calls `body` with each packet of the range, in the order of their sequence numbers.
    ///
    /// - Parameter body: is called on this thread, ``count`` times.
    package func forEachReport(_ body: (Report) -> Void) {
        var chunkOffset = TransportFeedback.chunks
        var deltaOffset = deltas
        var time: Int32 = 0
        var index = 0
        while index < count {
            let chunk = Chunk(bytes.word(chunkOffset))
            chunkOffset += 2
            for place in 0..<min(chunk.count, count - index) {
                // 1 is an unsigned byte, 2 a signed word, which may go back.
                let size = chunk.symbol(place)
                if size == 1 { time &+= Int32(bytes[deltaOffset]) }
                if size == 2 { time &+= Int32(Int16(bitPattern: UInt16(bytes.word(deltaOffset)))) }
                deltaOffset += size
                body(Report(sequence: base &+ UInt16(truncatingIfNeeded: index), arrival: size == 0 ? nil : time))
                index += 1
            }
        }
    }

    /// 16 bits that state the symbols of some packets: how many bytes the arrival time of each has.
    private struct Chunk {
        let word: Int
        let isRun: Bool
        let count: Int

        init(_ word: Int) {
            self.word = word
            isRun = word & 0x8000 == 0
            count = isRun ? word & 0x1FFF : word & 0x4000 == 0 ? 14 : 7
        }

        func symbol(_ index: Int) -> Int {
            if isRun { return word >> 13 & 3 }
            return word & 0x4000 == 0 ? word >> (13 - index) & 1 : word >> (2 * (6 - index)) & 3
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Two bytes in network order.
    fileprivate func word(_ offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }
}
