#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension UnsafeRawBufferPointer {
    /// Leaves out the first bytes.
    mutating func consume(_ count: Int) {
        self = UnsafeRawBufferPointer(rebasing: self[count...])
    }

    /// Where a byte is found first; nil when it is not.
    func offset(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
