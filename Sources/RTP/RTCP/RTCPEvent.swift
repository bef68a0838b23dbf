/// What a receiver says in RTCP. Valid during the call of the parser's closure.
package enum RTCPEvent {
    /// How a receiver gets one of our streams (RFC 3550, 6.4).
    case reception(RTCPReceptionReport)
    /// Packets of a source are missing (RFC 4585, 6.2.1).
    case nack(ssrc: UInt32, RTCPLostPackets)
    /// A key frame of a source is needed (RFC 4585, 6.3.1).
    case pictureLoss(ssrc: UInt32)
    /// A key frame of a source is needed (RFC 5104, 4.3.1); a repeated request has the same number.
    case intraRequest(ssrc: UInt32, number: UInt8)
    /// The receiver's estimate of the bitrate, in bits per second, for the streams that it names together (REMB,
    /// draft-alvestrand-rmcat-remb).
    case maximumBitrate(Int, of: RTCPSources)
    /// The transport-wide feedback (205/15), the whole packet with header and padding, which ``RTCPParser`` has not looked into.
    case transportFeedback(UnsafeRawBufferPointer)
    /// The sender report of a peer's own stream: its NTP time, the RTP timestamp of the same moment.
    case senderReport(ssrc: UInt32, ntp: UInt64, timestamp: UInt32)
    /// A source has left.
    case goodbye(ssrc: UInt32)
    /// Anything else, by its type and format.
    case other(type: UInt8, format: UInt8)
}

/// One reception report block (RFC 3550, 6.4.1).
package struct RTCPReceptionReport: Sendable, Hashable {
    /// The source that it is about.
    package var ssrc: UInt32
    /// The lost packets since the last report, in 1/256.
    package var fractionLost: UInt8
    /// The packets lost since the beginning; below zero with duplicates.
    package var packetsLost: Int32
    /// The highest number received, with its overflows in the upper 16 bits.
    package var highestSequenceNumber: UInt32
    /// The jitter between arrivals in ticks of the stream's clock.
    package var jitter: UInt32
    /// The middle 32 bits of the last sender report's time; 0 before one.
    package var lastSenderReport: UInt32
    /// The time since that report, in 1/65536 s.
    package var delaySinceLastReport: UInt32

    /// - Parameters:
    ///   - packet: an RTCP packet.
    ///   - index: where the 24 bytes of the block begin; the caller has checked that they are there.
    init(_ packet: UnsafeRawBufferPointer, at index: Int) {
        ssrc = packet.bigEndian32(at: index)
        let loss = packet.bigEndian32(at: index + 4)
        fractionLost = UInt8(loss >> 24)
        // 24 bits with a sign.
        packetsLost = Int32(bitPattern: loss << 8) >> 8
        highestSequenceNumber = packet.bigEndian32(at: index + 8)
        jitter = packet.bigEndian32(at: index + 12)
        lastSenderReport = packet.bigEndian32(at: index + 16)
        delaySinceLastReport = packet.bigEndian32(at: index + 20)
    }

    static let size = 24
}

/// Sources that a message names, four bytes each.
package struct RTCPSources {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether a source is among them. No source at all stands for every one.
    package func contains(_ ssrc: UInt32) -> Bool {
        bytes.isEmpty || stride(from: 0, to: bytes.count, by: 4).contains { bytes.bigEndian32(at: $0) == ssrc }
    }
}

/// The numbers of lost packets: of at most ``RTCPParser/maximumLostEntries`` entries, each with its bit mask.
package struct RTCPLostPackets: Sequence, IteratorProtocol {
    private let entries: UnsafeRawBufferPointer
    private var index = 0
    /// The bits of the entry that are still to come; bit 0 is the entry's own number.
    private var mask: UInt32 = 0
    private var number: UInt16 = 0

    init(_ entries: UnsafeRawBufferPointer) { self.entries = entries }

    /// The next number; nil after the last.
    package mutating func next() -> UInt16? {
        if mask == 0 {
            guard index + 4 <= entries.count else { return nil }
            number = entries.bigEndian16(at: index)
            mask = UInt32(entries.bigEndian16(at: index + 2)) << 1 | 1
            index += 4
        }
        let bit = mask.trailingZeroBitCount
        mask &= mask - 1
        return number &+ UInt16(bit)
    }
}
