import CaptureCore

@testable import RTP

/// A frame of these bytes.
func frame(
    _ bytes: [UInt8], at time: MediaTime = .zero, isKeyFrame: Bool = true, isDroppable: Bool = false, layer: Int = 0,
    orientation: VideoOrientation = .up
) -> MediaPacket {
    MediaPacket(
        data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, timestamp: time, isKeyFrame: isKeyFrame,
        isDroppable: isDroppable, temporalLayer: layer, attributes: FrameAttributes(orientation: orientation))
}

/// Bytes that show where they belong; none is 0.
func numbered(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251 + 1) } }

extension RTPSender.Configuration {
    /// A configuration whose stream begins with known values.
    static func known(_ format: RTPFormat = .vp8, payloadType: UInt8 = 96) -> Self {
        var configuration = RTPSender.Configuration(format: format, payloadType: payloadType)
        configuration.ssrc = 0x1122_3344
        configuration.cname = "name"
        configuration.start.sequenceNumber = 0x7FFE
        configuration.start.resendNumber = 0x0100
        configuration.start.timestamp = 0xFFFF_FF00
        configuration.start.pictureID = 0x7FFF
        return configuration
    }
}

extension RTPSender {
    /// The packets of a frame.
    func packets(of frame: MediaPacket, at time: MediaTime = .zero) -> [[UInt8]] {
        var found: [[UInt8]] = []
        send(frame, at: time) { found.append(Array($0.bytes)) }
        return found
    }

    /// What is sent again for these numbers.
    func resent(_ numbers: [UInt16], at time: MediaTime) -> [[UInt8]] {
        var found: [[UInt8]] = []
        let bytes = RTCPBytes.nack(ssrc: configuration.ssrc, numbers)
        var parser = RTCPParser()
        bytes.withUnsafeBytes { bytes in
            parser.parse(bytes, at: time) { event in
                _ = handle(event, at: time) { send($0, at: time) { found.append(Array($0.bytes)) } }
            }
        }
        return found
    }

    /// The report, or the farewell.
    func report(at time: MediaTime, isLast: Bool = false) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: RTPSender.maximumReportSize, alignment: 8) { buffer in
            let size = isLast ? writeGoodbye(into: buffer, at: time) : writeReport(into: buffer, at: time)
            return Array(buffer[..<size])
        }
    }
}

extension Pacer.Entry {
    /// A packet of one stream, for tests of the order.
    init(token: UInt16, bytes: Int) {
        self.init(OutgoingPacket(number: token, isResent: false, bytes: bytes), ofStream: 0)
    }

    var token: UInt16 { packet.number }
    var bytes: Int { packet.bytes }
}

/// RTCP as receivers write it.
enum RTCPBytes {
    static func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    static func big(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

    /// A packet with its length.
    static func packet(_ type: UInt8, _ format: UInt8, _ body: [UInt8]) -> [UInt8] {
        [0x80 | format, type] + big(UInt16(body.count / 4)) + body
    }

    /// One entry for each number.
    static func nack(ssrc: UInt32, _ numbers: [UInt16]) -> [UInt8] {
        packet(205, 1, big(7 as UInt32) + big(ssrc) + numbers.flatMap { big($0) + [0, 0] })
    }

    static func pictureLoss(ssrc: UInt32) -> [UInt8] { packet(206, 1, big(7 as UInt32) + big(ssrc)) }

    static func intraRequest(ssrc: UInt32, number: UInt8) -> [UInt8] {
        packet(206, 4, big(7 as UInt32) + big(0 as UInt32) + big(ssrc) + [number, 0, 0, 0])
    }

    static func maximumBitrate(exponent: UInt8, mantissa: UInt32) -> [UInt8] {
        packet(
            206, 15,
            big(7 as UInt32) + big(0 as UInt32) + Array("REMB".utf8) + [1, exponent << 2 | UInt8(mantissa >> 16)]
                + big(UInt16(truncatingIfNeeded: mantissa)) + big(9 as UInt32))
    }

    static func reception(
        ssrc: UInt32, fraction: UInt8 = 0, lost: UInt32 = 0, highest: UInt32 = 0, jitter: UInt32 = 0,
        last: UInt32 = 0, delay: UInt32 = 0
    ) -> [UInt8] {
        packet(
            201, 1,
            big(7 as UInt32) + big(ssrc) + big(UInt32(fraction) << 24 | lost & 0xFF_FFFF) + big(highest) + big(jitter)
                + big(last) + big(delay))
    }
}

/// Repeatable random numbers (SplitMix64).
struct Repeatable: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
