/// Numbers in network byte order, in memory that may be unaligned. Beyond the end they trap: data of peers is
/// checked before it is read.
extension UnsafeRawBufferPointer {
    /// The 16 bits at an index.
    package func bigEndian16(at index: Int) -> UInt16 {
        precondition(index >= 0 && index + 2 <= count)
        return UInt16(bigEndian: loadUnaligned(fromByteOffset: index, as: UInt16.self))
    }

    /// The 32 bits at an index.
    package func bigEndian32(at index: Int) -> UInt32 {
        precondition(index >= 0 && index + 4 <= count)
        return UInt32(bigEndian: loadUnaligned(fromByteOffset: index, as: UInt32.self))
    }

    /// The bytes of a range.
    package func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return UnsafeRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes 16 bits.
    package func write(_ value: UInt16, at index: Int) {
        precondition(index >= 0 && index + 2 <= count)
        storeBytes(of: value.bigEndian, toByteOffset: index, as: UInt16.self)
    }

    /// Writes 32 bits.
    package func write(_ value: UInt32, at index: Int) {
        precondition(index >= 0 && index + 4 <= count)
        storeBytes(of: value.bigEndian, toByteOffset: index, as: UInt32.self)
    }

    /// Copies `bytes` to an index.
    package func write(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        precondition(index >= 0 && index + bytes.count <= count)
        guard !bytes.isEmpty else { return }
        UnsafeMutableRawBufferPointer(rebasing: self[index..<index + bytes.count]).copyMemory(from: bytes)
    }
}
