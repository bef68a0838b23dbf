import H264Bitstream

/// Cuts access units of H.264 into payloads of the packetization mode 1 (RFC 6184, 5.6 to 5.8).
struct H264Packetizer {
    /// Parameter sets that go into one packet. Keeps its memory.
    private var sets: [NALUnit] = []
    /// Their bytes in a STAP-A.
    private var setsSize = 1

    private static let aggregate: UInt8 = 24
    private static let fragment: UInt8 = 28

    init() { sets.reserveCapacity(8) }

    mutating func packetize(_ unit: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output) {
        var units = AnnexB.units(in: unit)
        var next = H264Packetizer.nextUnit(&units)
        while let unit = next {
            next = H264Packetizer.nextUnit(&units)
            let isSet = [.sps, .pps, .spsExtension].contains(unit.type)
            if !isSet || setsSize + 2 + unit.bytes.count > room || sets.count == 8 {
                writeSets(isLast: false, output)
            }
            if isSet, 3 + unit.bytes.count <= room {
                sets.append(unit)
                setsSize += 2 + unit.bytes.count
            } else {
                H264Packetizer.write(unit, isLast: next == nil, room: room, output)
            }
        }
        writeSets(isLast: true, output)
    }

    /// The next unit that a receiver needs: delimiters and padding mean nothing in packets.
    private static func nextUnit(_ units: inout AnnexB.Units) -> NALUnit? {
        while let unit = units.next() {
            if unit.type != .delimiter, unit.type != .filler { return unit }
        }
        return nil
    }

    private mutating func writeSets(isLast: Bool, _ output: Packetizer.Output) {
        guard let first = sets.first else { return }
        if sets.count == 1 {
            output(isLast, first.bytes.count) { $0.write(first.bytes, at: 0) }
        } else {
            output(isLast, setsSize) { payload in
                var importance: UInt8 = 0
                var index = 1
                for set in sets {
                    importance = max(importance, set.bytes[0] & 0x60)
                    payload.write(UInt16(set.bytes.count), at: index)
                    payload.write(set.bytes, at: index + 2)
                    index += 2 + set.bytes.count
                }
                payload[0] = importance | H264Packetizer.aggregate
            }
        }
        sets.removeAll(keepingCapacity: true)
        setsSize = 1
    }

    private static func write(_ unit: NALUnit, isLast: Bool, room: Int, _ output: Packetizer.Output) {
        let bytes = unit.bytes
        guard bytes.count > room else {
            output(isLast, bytes.count) { $0.write(bytes, at: 0) }
            return
        }
        let content = bytes.slice(1..<bytes.count)
        for part in EqualParts(content.count, limit: room - 2) {
            let isEnd = part.upperBound == content.count
            output(isLast && isEnd, 2 + part.count) { payload in
                payload[0] = bytes[0] & 0xE0 | fragment
                // S and E, and the type of the unit.
                payload[1] = bytes[0] & 0x1F | (part.lowerBound == 0 ? 0x80 : 0) | (isEnd ? 0x40 : 0)
                payload.write(content.slice(part), at: 2)
            }
        }
    }
}
