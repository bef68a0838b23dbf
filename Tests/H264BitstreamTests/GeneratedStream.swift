import H264Bitstream

/// A reproducible source of numbers: xorshift64*.
struct TestNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: Int) { state = UInt64(truncatingIfNeeded: seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}

/// How a stream of NAL units is written.
enum StreamEncoding: CaseIterable {
    case longStartCodes
    case mixedStartCodes
    case fourByteLengths
    case twoByteLengths

    var lengthSize: Int? {
        switch self {
        case .longStartCodes, .mixedStartCodes: nil
        case .fourByteLengths: 4
        case .twoByteLengths: 2
        }
    }
}

/// Access units of NAL units with random content: several slices, parameter sets, SEI, delimiters; full of zeros and
/// of what looks like a start code.
struct GeneratedStream {
    var accessUnits: [[[UInt8]]] = []
    var bytes: [UInt8] = []
    /// Places in the written stream that look like a start code and are none.
    var falseStartCodes = 0

    var units: [[UInt8]] { accessUnits.flatMap { $0 } }

    init(seed: Int, encoding: StreamEncoding) {
        var numbers = TestNumbers(seed: seed)
        let hasDelimiters = Bool.random(using: &numbers)
        for index in 0..<Int.random(in: 1...4, using: &numbers) {
            let isKey = index == 0 || Int.random(in: 0..<5, using: &numbers) == 0
            var unit: [[UInt8]] = []
            if hasDelimiters { unit.append([0x09, 0xF0]) }
            if isKey {
                unit.append(makeUnit(0x67, &numbers))
                unit.append(makeUnit(0x68, &numbers))
            }
            if Int.random(in: 0..<4, using: &numbers) == 0 { unit.append(makeUnit(0x06, &numbers)) }
            let hasPrefixes = Int.random(in: 0..<6, using: &numbers) == 0
            for slice in 0..<Int.random(in: 1...4, using: &numbers) {
                if hasPrefixes { unit.append(makeUnit(0x6E, &numbers)) }
                unit.append(makeUnit(isKey ? 0x65 : 0x41, first: slice == 0, &numbers))
            }
            if Int.random(in: 0..<8, using: &numbers) == 0 { unit.append(makeUnit(0x0C, &numbers)) }
            accessUnits.append(unit)
        }
        write(encoding, &numbers)
    }

    private func makeUnit(_ header: UInt8, first: Bool? = nil, _ numbers: inout TestNumbers) -> [UInt8] {
        // Among them lengths of 256 to 511 bytes, which are written as 00 00 01 xx.
        let isLong = Int.random(in: 0..<30, using: &numbers) == 0
        let count = isLong ? Int.random(in: 256...511, using: &numbers) : Int.random(in: 1...24, using: &numbers)
        var payload: [UInt8] = []
        for _ in 0..<count {
            payload.append(Bool.random(using: &numbers) ? 0 : UInt8.random(in: 0...4, using: &numbers))
        }
        if let first { payload[0] = first ? 0x80 | payload[0] : payload[0] & 0x7F | 0x40 }
        payload.append(0x80)
        return [header] + escape(payload)
    }

    private func escape(_ payload: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        var zeros = 0
        for byte in payload {
            if zeros == 2, byte <= 3 {
                escaped.append(3)
                zeros = 0
            }
            escaped.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return escaped
    }

    private mutating func write(_ encoding: StreamEncoding, _ numbers: inout TestNumbers) {
        for (index, unit) in units.enumerated() {
            switch encoding {
            case .fourByteLengths:
                if (256...511).contains(unit.count) { falseStartCodes += 1 }
                bytes += [0, 0, UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)]
            case .twoByteLengths: bytes += [UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)]
            case .longStartCodes: bytes += [0, 0, 0, 1]
            case .mixedStartCodes: bytes += Bool.random(using: &numbers) && index > 0 ? [0, 0, 1] : [0, 0, 0, 1]
            }
            bytes += unit
            // Zeros after a unit belong to none.
            if encoding == .mixedStartCodes, Int.random(in: 0..<10, using: &numbers) == 0 { bytes += [0, 0] }
            falseStartCodes += zip(unit.dropFirst(2), zip(unit.dropFirst(1), unit)).reduce(0) { count, triple in
                count + (triple.0 == 3 && triple.1.0 == 0 && triple.1.1 == 0 ? 1 : 0)
            }
        }
    }
}

/// The NAL units of a byte stream.
func annexBUnits(_ bytes: [UInt8]) -> [[UInt8]] {
    bytes.withUnsafeBytes { bytes in AnnexB.units(in: bytes).map { Array($0.bytes) } }
}

/// Runs `body` with the NAL unit of these bytes.
func withUnit<Result>(_ bytes: [UInt8], _ body: (NALUnit) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(NALUnit($0)!) }
}
