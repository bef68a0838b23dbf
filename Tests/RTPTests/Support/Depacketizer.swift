import CaptureCore

@testable import RTP

/// A packet as a receiver reads it, by the letter of RFC 3550 and RFC 8285.
struct ReadPacket: Equatable {
    var isMarked: Bool
    var payloadType: UInt8
    var sequenceNumber: UInt16
    var timestamp: UInt32
    var ssrc: UInt32
    var extensions: [UInt8: [UInt8]] = [:]
    var payload: [UInt8]

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 12, bytes[0] >> 6 == 2, bytes[0] & 0x2F == 0 else { return nil }
        isMarked = bytes[1] & 0x80 != 0
        payloadType = bytes[1] & 0x7F
        sequenceNumber = UInt16(number(bytes[2..<4]))
        timestamp = UInt32(number(bytes[4..<8]))
        ssrc = UInt32(number(bytes[8..<12]))
        var start = 12
        if bytes[0] & 0x10 != 0 {
            guard bytes.count >= 16, bytes[12] == 0xBE, bytes[13] == 0xDE else { return nil }
            let end = 16 + 4 * number(bytes[14..<16])
            guard end <= bytes.count else { return nil }
            var index = 16
            while index < end {
                if bytes[index] == 0 {
                    index += 1
                    continue
                }
                let length = Int(bytes[index] & 15) + 1
                guard index + 1 + length <= end else { return nil }
                extensions[bytes[index] >> 4] = Array(bytes[index + 1..<index + 1 + length])
                index += 1 + length
            }
            start = end
        }
        payload = Array(bytes[start...])
    }
}

private func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

/// Joins payloads to frames again, as the receiving side of the RFCs says.
struct Depacketizer {
    var format: RTPFormat
    private(set) var frames: [[UInt8]] = []
    /// What a VP8 descriptor says of the frame of the same index.
    private(set) var descriptors: [VP8Descriptor] = []
    private var frame: [UInt8] = []
    private var fragment: [UInt8]?

    struct VP8Descriptor: Equatable {
        var pictureID: Int
        var isUnreferenced: Bool
        var baseLayerIndex: UInt8?
        var layer: UInt8?
        var isSync = false
    }

    init(_ format: RTPFormat) { self.format = format }

    mutating func add(_ packet: ReadPacket) throws {
        switch format {
        case .vp8: try addVP8(packet.payload)
        case .h264: try addH264(packet.payload)
        case .opus: frame = packet.payload
        case .aac: try addAAC(packet.payload)
        case .h265: try addH265(packet.payload)
        case .vp9: try addVP9(packet)
        case .g711, .jpeg: frame += packet.payload
        }
        guard packet.isMarked || format == .opus else { return }
        try require(fragment == nil, "a fragment is not complete")
        frames.append(frame)
        frame = []
    }

    /// RFC 3640, 3.2: the length of the headers in bits, the size of the unit and its index, and a part of the unit.
    private mutating func addAAC(_ payload: [UInt8]) throws {
        try require(payload.count > 4 && number(payload[0..<2]) == 16 && payload[3] & 7 == 0, "one header")
        frame += payload[4...]
        try require(frame.count <= number(payload[2..<4]) >> 3, "no more than the size of the unit")
    }

    /// RFC 9628, 4.2: without layers.
    private mutating func addVP9(_ packet: ReadPacket) throws {
        let payload = packet.payload
        try require(payload.count > 3 && payload[0] & 0xB3 == 0x80 && payload[1] & 0x80 != 0, "descriptor")
        try require((payload[0] & 8 != 0) == frame.isEmpty, "B at the beginning")
        try require((payload[0] & 4 != 0) == packet.isMarked, "E at the end")
        frame += payload[3...]
    }

    /// RFC 7798, 4.4.
    private mutating func addH265(_ payload: [UInt8]) throws {
        try require(payload.count > 2, "a header")
        switch payload[0] >> 1 & 63 {
        case 48:
            var (index, count) = (2, 0)
            while index < payload.count {
                try require(index + 2 < payload.count, "AP")
                let size = number(payload[index..<index + 2])
                try require(size > 2 && index + 2 + size <= payload.count, "AP")
                append(Array(payload[index + 2..<index + 2 + size]))
                index += 2 + size
                count += 1
            }
            try require(count > 1, "an aggregation of several")
        case 49:
            try require(payload.count > 3 && payload[2] & 0xC0 != 0xC0, "FU")
            if payload[2] & 0x80 != 0 {
                try require(fragment == nil, "a fragment begins in another")
                fragment = [payload[0] & 0x81 | (payload[2] & 63) << 1, payload[1]]
            }
            try require(fragment != nil, "a fragment without a beginning")
            fragment? += payload[3...]
            if payload[2] & 0x40 != 0, let whole = fragment.take() { append(whole) }
        default: append(payload)
        }
    }

    private mutating func addVP8(_ payload: [UInt8]) throws {
        try require(payload.count > 4 && payload[0] & 0x80 != 0 && payload[0] & 0x0F == 0, "descriptor")
        let bits = payload[1]
        try require(bits & 0x80 != 0 && payload[2] & 0x80 != 0, "a picture id of 15 bits")
        var descriptor = VP8Descriptor(
            pictureID: number(payload[2..<4]) & 0x7FFF, isUnreferenced: payload[0] & 0x20 != 0)
        var index = 4
        if bits & 0x40 != 0 {
            descriptor.baseLayerIndex = payload[index]
            index += 1
        }
        if bits & 0x30 != 0 {
            descriptor.layer = payload[index] >> 6
            descriptor.isSync = payload[index] & 0x20 != 0
            index += 1
        }
        let begins = payload[0] & 0x10 != 0
        try require(begins == frame.isEmpty, "the beginning of a partition")
        if begins { descriptors.append(descriptor) }
        try require(descriptors.last == descriptor, "all packets of a frame say the same")
        frame += payload[index...]
    }

    private mutating func addH264(_ payload: [UInt8]) throws {
        try require(!payload.isEmpty, "empty")
        switch payload[0] & 31 {
        case 24:
            var index = 1
            while index < payload.count {
                try require(index + 2 < payload.count, "STAP-A")
                let size = number(payload[index..<index + 2])
                try require(size > 0 && index + 2 + size <= payload.count, "STAP-A")
                append(Array(payload[index + 2..<index + 2 + size]))
                index += 2 + size
            }
        case 28:
            try require(payload.count > 2 && payload[1] & 0xC0 != 0xC0, "FU-A")
            if payload[1] & 0x80 != 0 {
                try require(fragment == nil, "a fragment begins in another")
                fragment = [payload[0] & 0xE0 | payload[1] & 0x1F]
            }
            try require(fragment != nil, "a fragment without a beginning")
            fragment? += payload[2...]
            if payload[1] & 0x40 != 0, let whole = fragment.take() { append(whole) }
        default: append(payload)
        }
    }

    private mutating func append(_ unit: [UInt8]) { frame += [0, 0, 0, 1] + unit }

    private func require(_ condition: Bool, _ what: String) throws {
        if !condition { throw Damage(what: what) }
    }

    struct Damage: Error { var what: String }
}
