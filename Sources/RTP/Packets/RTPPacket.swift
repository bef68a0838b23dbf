import CaptureCore

/// A packet that waits to be sent, for the first time or again.
package struct OutgoingPacket: Sendable, Hashable {
    /// The number of the packet within its stream.
    package var number: UInt16
    /// Whether the receiver has asked for it again.
    package var isResent: Bool
    /// Its size; of one that is sent again, a few bytes more.
    package var bytes: Int

    package init(number: UInt16, isResent: Bool, bytes: Int) {
        (self.number, self.isResent, self.bytes) = (number, isResent, bytes)
    }
}

/// A packet that leaves.
package struct RTPPacket {
    /// Header, extensions and payload, valid as long as the memory in which they were written.
    package let bytes: UnsafeRawBufferPointer
    /// The number within its source.
    package let sequenceNumber: UInt16
    /// The bytes of ``bytes`` that follow the header and its extensions.
    package let payloadSize: Int
    /// Whether it is the last one of its frame (the marker bit).
    package let isLastOfFrame: Bool
    /// The places of the fields that the transport writes when the packet leaves.
    package let stamps: RTPPacket.Stamps

    /// The places of the header extensions that are written when a packet leaves, in the first bytes of the packet.
    package struct Stamps: Sendable, Hashable {
        /// The index of the transport-wide number; 0 for none.
        package var transportNumberIndex: UInt8 = 0
        /// The index of the absolute send time; 0 for none.
        package var sendTimeIndex: UInt8 = 0

        /// No places.
        package init() {}

        /// Writes the extensions that were negotiated.
        ///
        /// - Parameters:
        ///   - transportNumber: new for each packet that leaves, retransmissions included; one counter for all streams of
        ///     a transport.
        ///   - ntp: the time, as ``NTPClock/time(at:)`` has it.
        ///   - packet: the memory of ``RTPPacket/bytes``.
        package func write(
            transportNumber: UInt16, ntp: UInt64, into packet: UnsafeMutableRawBufferPointer
        ) {
            if transportNumberIndex > 0 { packet.write(transportNumber, at: Int(transportNumberIndex)) }
            guard sendTimeIndex > 0 else { return }
            // 6 bits of seconds and 18 of their fraction.
            let time = UInt32(truncatingIfNeeded: ntp >> 14)
            let index = Int(sendTimeIndex)
            packet[index] = UInt8(truncatingIfNeeded: time >> 16)
            packet.write(UInt16(truncatingIfNeeded: time), at: index + 1)
        }
    }
}

/// The identifiers, 1 to 14, under which the header extensions of RFC 8285 were agreed on; nil for one that was not, which
/// is then never sent.
package struct RTPExtensionIDs: Sendable, Hashable {
    /// `urn:ietf:params:rtp-hdrext:sdes:mid` (RFC 9143): to which section of the session description a source belongs.
    package var mid: UInt8?
    /// `http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time`.
    package var absoluteSendTime: UInt8?
    /// `http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01`.
    package var transportNumber: UInt8?
    /// `urn:3gpp:video-orientation` (3GPP TS 26.114, 7.4.5).
    package var videoOrientation: UInt8?

    /// The extensions that are sent, each under the identifier that was agreed on.
    package init(
        mid: UInt8? = nil, absoluteSendTime: UInt8? = nil, transportNumber: UInt8? = nil,
        videoOrientation: UInt8? = nil
    ) {
        self.mid = mid
        self.absoluteSendTime = absoluteSendTime
        self.transportNumber = transportNumber
        self.videoOrientation = videoOrientation
    }
}

/// The fixed header of an RTP packet (RFC 3550, 5.1) and its one-byte header extensions (RFC 8285, 4.2).
struct RTPHeader {
    var payloadType: UInt8
    var isMarked: Bool
    var sequenceNumber: UInt16
    var timestamp: UInt32
    var ssrc: UInt32

    /// The bytes of the fixed header.
    static let fixedSize = 12

    /// The bytes of a header with all that `identifiers` allow.
    static func maximumSize(_ identifiers: RTPExtensionIDs, midLength: Int) -> Int {
        size(identifiers, midLength: midLength, hasOrientation: true)
    }

    /// The bytes that ``write(into:_:mid:orientation:)`` writes; `midLength` is 0 where there is none.
    static func size(_ identifiers: RTPExtensionIDs, midLength: Int, hasOrientation: Bool) -> Int {
        var size = 0
        if identifiers.transportNumber != nil { size += 3 }
        if identifiers.absoluteSendTime != nil { size += 4 }
        if identifiers.videoOrientation != nil, hasOrientation { size += 2 }
        if identifiers.mid != nil, midLength > 0 { size += 1 + midLength }
        return size == 0 ? fixedSize : fixedSize + 4 + (size + 3) & ~3
    }

    /// Writes the header.
    ///
    /// - Parameters:
    ///   - packet: takes it at its beginning.
    ///   - identifiers: the extensions that were agreed on.
    ///   - mid: 1 to 16 bytes; nil when it is not sent with this packet.
    ///   - orientation: nil when it is not sent with this packet.
    /// - Returns: the bytes written, and the places of the fields to write later.
    func write(
        into packet: UnsafeMutableRawBufferPointer, _ identifiers: RTPExtensionIDs, mid: [UInt8]?,
        orientation: VideoOrientation?
    ) -> (size: Int, stamps: RTPPacket.Stamps) {
        packet[0] = 0x80
        packet[1] = (isMarked ? 0x80 : 0) | payloadType & 0x7F
        packet.write(sequenceNumber, at: 2)
        packet.write(timestamp, at: 4)
        packet.write(ssrc, at: 8)
        var stamps = RTPPacket.Stamps()
        var index = RTPHeader.fixedSize + 4
        func begin(_ identifier: UInt8, length: Int) {
            packet[index] = identifier << 4 | UInt8(length - 1)
            index += 1
        }
        if let identifier = identifiers.transportNumber {
            begin(identifier, length: 2)
            stamps.transportNumberIndex = UInt8(index)
            packet.write(UInt16(0), at: index)
            index += 2
        }
        if let identifier = identifiers.absoluteSendTime {
            begin(identifier, length: 3)
            stamps.sendTimeIndex = UInt8(index)
            packet[index] = 0
            packet.write(UInt16(0), at: index + 1)
            index += 3
        }
        if let identifier = identifiers.videoOrientation, let orientation {
            begin(identifier, length: 1)
            packet[index] = UInt8(orientation.clockwiseDegrees / 90)
            index += 1
        }
        if let identifier = identifiers.mid, let mid, !mid.isEmpty {
            begin(identifier, length: mid.count)
            for byte in mid {
                packet[index] = byte
                index += 1
            }
        }
        guard index > RTPHeader.fixedSize + 4 else { return (RTPHeader.fixedSize, stamps) }
        while index % 4 != 0 {
            packet[index] = 0
            index += 1
        }
        packet[0] |= 0x10
        packet.write(UInt16(0xBEDE), at: RTPHeader.fixedSize)
        packet.write(UInt16(index / 4 - 4), at: RTPHeader.fixedSize + 2)
        return (index, stamps)
    }
}
