import H264Bitstream

/// Cuts access units of H.264 (RFC 6184, 5.6 to 5.8, the packetization mode 1) and of H.265 (RFC 7798, 4.4) into payloads:
/// single NAL units, parameter sets together in one packet, and fragments.
struct NALUnitPacketizer {
    /// How the headers of units are written.
    enum Syntax: Sendable {
        /// One byte: 2 bits of importance, 5 of the type.
        case h264
        /// Two bytes: 6 bits of the type, 6 of the layer, 3 of the temporal layer.
        case h265
    }

    private let syntax: Syntax
    private let headerSize: Int
    /// Parameter sets that go into one packet. Keeps its memory.
    private var sets: [NALUnit] = []
    /// Their bytes in one packet.
    private var setsSize: Int

    init(_ syntax: Syntax) {
        self.syntax = syntax
        headerSize = syntax == .h264 ? 1 : 2
        setsSize = headerSize
        sets.reserveCapacity(8)
    }

    mutating func packetize(_ unit: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output) {
        var units = AnnexB.units(in: unit)
        var next = nextUnit(&units)
        while let unit = next {
            next = nextUnit(&units)
            let isSet = isParameterSet(unit)
            if !isSet || setsSize + 2 + unit.bytes.count > room || sets.count == 8 {
                writeSets(isLast: false, output)
            }
            if isSet, headerSize + 2 + unit.bytes.count <= room {
                sets.append(unit)
                setsSize += 2 + unit.bytes.count
            } else {
                write(unit, isLast: next == nil, room: room, output)
            }
        }
        writeSets(isLast: true, output)
    }

    // MARK: Kinds of units

    private func isParameterSet(_ unit: NALUnit) -> Bool {
        switch syntax {
        case .h264: [.sps, .pps, .spsExtension].contains(unit.type)
        case .h265: H265.parameterSets.contains(H265.type(of: unit))
        }
    }

    /// The next unit that a receiver needs: delimiters and padding mean nothing in packets.
    private func nextUnit(_ units: inout AnnexB.Units) -> NALUnit? {
        while let unit = units.next() {
            switch syntax {
            case .h264: if unit.type != .delimiter, unit.type != .filler { return unit }
            case .h265:
                // A unit without a header is damaged.
                if unit.bytes.count > 2, !H265.meaningless.contains(H265.type(of: unit)) { return unit }
            }
        }
        return nil
    }

    // MARK: Payloads

    private mutating func writeSets(isLast: Bool, _ output: Packetizer.Output) {
        guard let first = sets.first else { return }
        if sets.count == 1 {
            output(isLast, Payload(first.bytes))
        } else {
            withUnsafeTemporaryAllocation(byteCount: setsSize, alignment: 1) { memory in
                var index = headerSize
                for set in sets {
                    memory.write(UInt16(set.bytes.count), at: index)
                    memory.write(set.bytes, at: index + 2)
                    index += 2 + set.bytes.count
                }
                writeAggregateHeader(memory)
                var payload = Payload(UnsafeRawBufferPointer(memory))
                payload.isComposed = true
                output(isLast, payload)
            }
        }
        sets.removeAll(keepingCapacity: true)
        setsSize = headerSize
    }

    /// That of a STAP-A has the highest importance of its units, that of an aggregation packet the lowest layers.
    private func writeAggregateHeader(_ payload: UnsafeMutableRawBufferPointer) {
        switch syntax {
        case .h264: payload[0] = sets.reduce(0) { max($0, $1.bytes[0] & 0x60) } | 24
        case .h265:
            let layer = sets.map { $0.bytes.bigEndian16(at: 0) >> 3 & 63 }.min() ?? 0
            let temporalLayer = sets.map { $0.bytes.bigEndian16(at: 0) & 7 }.min() ?? 1
            payload.write(48 << 9 | layer << 3 | temporalLayer, at: 0)
        }
    }

    private func write(_ unit: NALUnit, isLast: Bool, room: Int, _ output: Packetizer.Output) {
        let bytes = unit.bytes
        guard bytes.count > room else {
            output(isLast, Payload(bytes))
            return
        }
        let content = bytes.slice(headerSize..<bytes.count)
        for part in EqualParts(content.count, limit: room - headerSize - 1) {
            let isEnd = part.upperBound == content.count
            var payload = Payload(content.slice(part))
            let type: UInt8
            switch syntax {
            case .h264:
                payload.append(bytes[0] & 0xE0 | 28)
                type = bytes[0] & 0x1F
            case .h265:
                payload.append(bytes[0] & 0x81 | 49 << 1)
                payload.append(bytes[1])
                type = H265.type(of: unit)
            }
            // S and E, and the type of the unit.
            payload.append(type | (part.lowerBound == 0 ? 0x80 : 0) | (isEnd ? 0x40 : 0))
            output(isLast && isEnd, payload)
        }
    }
}

/// The few types of units of H.265 (ITU-T H.265, table 7-1) that packets and descriptions need.
enum H265 {
    static let videoParameterSet: UInt8 = 32
    static let sequenceParameterSet: UInt8 = 33
    static let pictureParameterSet: UInt8 = 34
    static let parameterSets = videoParameterSet...pictureParameterSet
    /// Delimiters and padding.
    static let meaningless: [UInt8] = [35, 38]

    /// The type that the first byte of a unit states.
    static func type(of unit: NALUnit) -> UInt8 { unit.bytes[0] >> 1 & 63 }

    /// The parameter sets of a decoder configuration, which is an `hvcC` (ISO/IEC 14496-15, 8.3.3.1) or a byte stream, by
    /// their types. Damaged sets are left out: a receiver gets the sets within the stream, too.
    static func parameterSets(of configuration: UnsafeRawBufferPointer) -> [UInt8: [[UInt8]]] {
        var sets: [UInt8: [[UInt8]]] = [:]
        func add(_ bytes: UnsafeRawBufferPointer) {
            guard bytes.count > 2, let unit = NALUnit(bytes), parameterSets.contains(type(of: unit)) else { return }
            sets[type(of: unit), default: []].append(Array(bytes))
        }
        // 1 is the version; what begins with zeros is a byte stream.
        guard configuration.first == 1 else {
            for unit in AnnexB.units(in: configuration) { add(unit.bytes) }
            return sets
        }
        guard configuration.count > 22 else { return sets }
        var index = 23
        for _ in 0..<configuration[22] {
            guard index + 3 <= configuration.count else { return sets }
            let count = configuration.bigEndian16(at: index + 1)
            index += 3
            for _ in 0..<count {
                guard index + 2 <= configuration.count else { return sets }
                let size = Int(configuration.bigEndian16(at: index))
                index += 2
                guard index + size <= configuration.count else { return sets }
                add(configuration.slice(index..<index + size))
                index += size
            }
        }
        return sets
    }
}
