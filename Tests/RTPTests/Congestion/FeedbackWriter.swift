/// Makes RTCP 205/15 as receivers do: runs, vectors of one and of two bits, deltas of one and of two bytes.
struct FeedbackWriter {
    /// One packet: its number, and its arrival in units of 250 µs, nil when it did not arrive.
    typealias Packet = (sequence: UInt16, arrival: Int?)

    /// Writes one feedback packet; the numbers are consecutive.
    static func write(_ packets: [Packet], feedbackCount: UInt8 = 0, padded: Bool = false) -> [UInt8] {
        let first = packets.first { $0.arrival != nil }?.arrival ?? 0
        // In units of 64 ms.
        let reference = first >= 0 ? first / 256 : (first - 255) / 256
        var last = reference * 256
        var symbols: [Int] = []
        var deltas: [UInt8] = []
        for packet in packets {
            guard let arrival = packet.arrival else {
                symbols.append(0)
                continue
            }
            let delta = arrival - last
            last = arrival
            if (0...255).contains(delta) {
                symbols.append(1)
                deltas.append(UInt8(delta))
            } else {
                symbols.append(2)
                let word = UInt16(bitPattern: Int16(clamping: delta))
                deltas += [UInt8(word >> 8), UInt8(word & 255)]
            }
        }
        var bytes: [UInt8] = [0x8F, 205, 0, 0] + [0, 0, 0, 1] + [0, 0, 0, 2]
        bytes += word(Int(packets[0].sequence)) + word(packets.count)
        bytes += [UInt8(reference >> 16 & 255), UInt8(reference >> 8 & 255), UInt8(reference & 255), feedbackCount]
        bytes += chunks(symbols[...]) + deltas
        if padded || bytes.count % 4 != 0 {
            let padding = 4 - bytes.count % 4
            bytes[0] |= 0x20
            bytes += [UInt8](repeating: 0, count: padding - 1) + [UInt8(padding)]
        }
        bytes.replaceSubrange(2..<4, with: word(bytes.count / 4 - 1))
        return bytes
    }

    private static func chunks(_ symbols: ArraySlice<Int>) -> [UInt8] {
        var symbols = symbols
        var bytes: [UInt8] = []
        while let first = symbols.first {
            let run = symbols.prefix(8191).prefix { $0 == first }.count
            if run >= 14 || run == symbols.count {
                bytes += word(first << 13 | run)
                symbols = symbols.dropFirst(run)
                continue
            }
            let isShort = symbols.prefix(14).allSatisfy { $0 < 2 }
            let count = isShort ? 14 : 7
            let bits = isShort ? 1 : 2
            var chunk = isShort ? 0x8000 : 0xC000
            for (index, symbol) in symbols.prefix(count).enumerated() {
                chunk |= symbol << (bits * (count - 1 - index))
            }
            bytes += word(chunk)
            symbols = symbols.dropFirst(count)
        }
        return bytes
    }

    private static func word(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 255), UInt8(value & 255)] }
}

/// A small generator with a seed (SplitMix64), so that each run is the same.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
