/// Reads the fields of a NAL unit's payload (ITU-T H.264, 7.2 and 9.1) and passes over its emulation prevention bytes.
///
/// Beyond the end, or in a number that is too long, it reads zeros and is no longer valid: so the fields are read first
/// and one question asked then.
struct BitReader {
    private let bytes: UnsafeRawBufferPointer
    private var index: Int
    private var zeros = 0
    private var current: UInt8 = 0
    private var bitsLeft = 0
    /// Whether everything read so far was there.
    private(set) var isValid = true
    /// The number of bits read.
    private(set) var position = 0

    /// - Parameters:
    ///   - bytes: a NAL unit, or a part of one.
    ///   - start: the index of the first byte to read: 1 after the unit's header.
    init(_ bytes: UnsafeRawBufferPointer, from start: Int = 1) {
        self.bytes = bytes
        index = start
    }

    mutating func readBit() -> Bool {
        if bitsLeft == 0 {
            if zeros >= 2, index < bytes.count, bytes[index] == 3 {
                index += 1
                zeros = 0
            }
            guard index < bytes.count else {
                isValid = false
                return false
            }
            current = bytes[index]
            zeros = current == 0 ? zeros + 1 : 0
            index += 1
            bitsLeft = 8
        }
        bitsLeft -= 1
        position += 1
        return current >> UInt8(bitsLeft) & 1 != 0
    }

    /// u(n), of up to 32 bits.
    mutating func read(_ count: Int) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count { value = value << 1 | (readBit() ? 1 : 0) }
        return value
    }

    /// ue(v).
    mutating func readUnsigned() -> UInt32 {
        var zeroBits = 0
        while isValid, !readBit() { zeroBits += 1 }
        guard isValid, zeroBits < 32 else {
            isValid = false
            return 0
        }
        return UInt32(truncatingIfNeeded: (UInt64(1) << UInt64(zeroBits)) - 1 + UInt64(read(zeroBits)))
    }

    /// ue(v) of at most `limit`; larger ones are not valid.
    mutating func readUnsigned(atMost limit: UInt32) -> Int {
        let value = readUnsigned()
        guard value <= limit else {
            isValid = false
            return 0
        }
        return Int(value)
    }

    /// se(v).
    mutating func readSigned() -> Int32 {
        let code = Int64(readUnsigned())
        return Int32(clamping: code % 2 == 0 ? -(code / 2) : code / 2 + 1)
    }
}

/// Writes the fields of a NAL unit's payload.
struct BitWriter {
    private var payload: [UInt8] = []
    private var bitsFree = 0

    mutating func write(_ bit: Bool) {
        if bitsFree == 0 {
            payload.append(0)
            bitsFree = 8
        }
        bitsFree -= 1
        if bit { payload[payload.count - 1] |= 1 << UInt8(bitsFree) }
    }

    /// u(n), of up to 32 bits.
    mutating func write(_ value: UInt32, bits: Int) {
        for bit in stride(from: bits - 1, through: 0, by: -1) { write(value >> UInt32(bit) & 1 != 0) }
    }

    /// ue(v).
    mutating func writeUnsigned(_ value: UInt32) {
        let code = UInt64(value) + 1
        let bits = 64 - code.leadingZeroBitCount
        for _ in 1..<max(bits, 1) { write(false) }
        for bit in stride(from: bits - 1, through: 0, by: -1) { write(code >> UInt64(bit) & 1 != 0) }
    }

    /// se(v).
    mutating func writeSigned(_ value: Int32) {
        writeUnsigned(value > 0 ? UInt32(value) * 2 - 1 : UInt32(truncatingIfNeeded: -Int64(value) * 2))
    }

    /// The unit of the written bits: its header, the payload with the bits that end it, and the bytes that keep start
    /// codes from it (7.3.1, 7.3.2.11).
    consuming func nalUnit(header: UInt8) -> [UInt8] {
        write(true)
        var unit = [header]
        unit.reserveCapacity(payload.count + 8)
        var zeros = 0
        for byte in payload {
            if zeros >= 2, byte <= 3 {
                unit.append(3)
                zeros = 0
            }
            unit.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return unit
    }
}
