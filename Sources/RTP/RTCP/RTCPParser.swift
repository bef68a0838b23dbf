import CaptureCore

/// Reads compound and reduced-size RTCP packets (RFC 3550, 6; RFC 5506).
///
/// Every length is checked, nothing is allocated, and messages in excess are ignored. A value for one thread at a
/// time.
package struct RTCPParser: Sendable {
    /// The maximum size of a datagram; larger ones are dropped unread.
    package static let maximumSize = 1500
    /// The maximum number of datagrams in a second; further ones are dropped unread.
    package static let maximumRate = 200
    /// The entries of a request for lost packets that are read; each names up to 17 packets.
    package static let maximumLostEntries = 64

    /// Datagrams that were read, and of these the ones that are damaged; what stands before the damage was handed out.
    package private(set) var datagrams: UInt64 = 0
    package private(set) var malformed: UInt64 = 0
    /// Datagrams that were dropped unread: too large, or too many.
    package private(set) var dropped: UInt64 = 0

    private var second = MediaTime(nanoseconds: .min)
    private var countInSecond = 0

    /// A parser for the datagrams of one peer.
    package init() {}

    /// Whether a datagram that begins so is RTCP, where it shares the port with RTP (RFC 5761, 4).
    package static func isRTCP(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= 4 && bytes[0] >> 6 == 2 && (192...223).contains(bytes[1])
    }

    /// Reads a datagram.
    ///
    /// - Parameters:
    ///   - bytes: after decryption.
    ///   - now: the time, for the limit of the rate.
    ///   - body: takes what it says, in its order.
    package mutating func parse(_ bytes: UnsafeRawBufferPointer, at now: MediaTime, _ body: (RTCPEvent) -> Void) {
        if now.nanoseconds(since: second) >= 1_000_000_000 {
            second = now
            countInSecond = 0
        }
        countInSecond += 1
        guard bytes.count <= RTCPParser.maximumSize, countInSecond <= RTCPParser.maximumRate else {
            dropped += 1
            return
        }
        datagrams += 1
        var index = 0
        while index < bytes.count {
            guard bytes.count - index >= 4, bytes[index] >> 6 == 2 else { return fail() }
            let size = (Int(bytes.bigEndian16(at: index + 2)) + 1) * 4
            guard size <= bytes.count - index else { return fail() }
            var packet = bytes.slice(index..<index + size)
            index += size
            if packet[1] == 205, packet[0] & 0x1F == 15 {
                // Chromium fills it up by one to three bytes, which only its own lengths tell from the rest.
                body(.transportFeedback(packet))
                continue
            }
            if packet[0] & 0x20 != 0 {
                // Padding, of the last packet alone; its last byte counts it.
                let padding = Int(packet[size - 1])
                guard padding > 0, padding % 4 == 0, padding <= size - 4, index == bytes.count else { return fail() }
                packet = packet.slice(0..<size - padding)
            }
            guard RTCPParser.read(packet, body) else { return fail() }
        }
    }

    private mutating func fail() { malformed += 1 }

    /// Reads one packet; false when it is shorter than its kind needs.
    private static func read(_ packet: UnsafeRawBufferPointer, _ body: (RTCPEvent) -> Void) -> Bool {
        let format = packet[0] & 0x1F
        switch (packet[1], format) {
        case (200, _):
            guard packet.count >= 28 else { return false }
            let ntp = UInt64(packet.bigEndian32(at: 8)) << 32 | UInt64(packet.bigEndian32(at: 12))
            body(.senderReport(ssrc: packet.bigEndian32(at: 4), ntp: ntp, timestamp: packet.bigEndian32(at: 16)))
            return readReports(packet, from: 28, count: Int(format), body)
        case (201, _):
            guard packet.count >= 8 else { return false }
            return readReports(packet, from: 8, count: Int(format), body)
        case (203, _):
            guard packet.count >= 4 + 4 * Int(format) else { return false }
            for source in 0..<Int(format) { body(.goodbye(ssrc: packet.bigEndian32(at: 4 + 4 * source))) }
        case (205, 1):
            guard packet.count >= 16 else { return false }
            let end = min(packet.count & ~3, 12 + 4 * maximumLostEntries)
            body(.nack(ssrc: packet.bigEndian32(at: 8), RTCPLostPackets(packet.slice(12..<end))))
        case (206, 1):
            guard packet.count >= 12 else { return false }
            body(.pictureLoss(ssrc: packet.bigEndian32(at: 8)))
        case (206, 4):
            guard packet.count >= 20 else { return false }
            for entry in stride(from: 12, through: packet.count - 8, by: 8) {
                body(.intraRequest(ssrc: packet.bigEndian32(at: entry), number: packet[entry + 4]))
            }
        case (206, 15): return readMaximumBitrate(packet, body)
        case (let type, _): body(.other(type: type, format: format))
        }
        return true
    }

    private static func readReports(
        _ packet: UnsafeRawBufferPointer, from start: Int, count: Int, _ body: (RTCPEvent) -> Void
    ) -> Bool {
        guard packet.count >= start + count * RTCPReceptionReport.size else { return false }
        for block in 0..<count {
            body(.reception(RTCPReceptionReport(packet, at: start + block * RTCPReceptionReport.size)))
        }
        return true
    }

    private static func readMaximumBitrate(_ packet: UnsafeRawBufferPointer, _ body: (RTCPEvent) -> Void) -> Bool {
        // Other applications' messages (RFC 4585, 6.4) have the same format.
        guard packet.count >= 20, packet.bigEndian32(at: 12) == 0x5245_4D42 else {
            body(.other(type: 206, format: 15))
            return packet.count >= 12
        }
        let end = 20 + 4 * Int(packet[16])
        guard packet.count >= end else { return false }
        let exponent = Int(packet[17] >> 2)
        let mantissa = Int(packet[17] & 3) << 16 | Int(packet.bigEndian16(at: 18))
        let isTooLarge = mantissa.leadingZeroBitCount <= exponent
        body(
            .maximumBitrate(
                mantissa == 0 ? 0 : isTooLarge ? .max : mantissa << exponent, of: RTCPSources(packet.slice(20..<end))))
        return true
    }
}
