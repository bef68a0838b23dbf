/// Assembles the bytes of a header. Keeps its memory when emptied, so that one builder serves a whole file.
struct ByteBuilder {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    var count: Int { bytes.count }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    mutating func append(_ other: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: other)
    }

    mutating func append(text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// The lowest `byteCount` bytes of `value`, the least significant first.
    mutating func append(littleEndian value: UInt64, byteCount: Int) {
        Swift.withUnsafeBytes(of: value.littleEndian) { value in
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: value[..<byteCount]))
        }
    }

    /// The lowest `byteCount` bytes of `value`, the most significant first.
    mutating func append(bigEndian value: UInt64, byteCount: Int) {
        for index in (0..<byteCount).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index))))
        }
    }

    mutating func append(zeros count: Int) {
        for _ in 0..<count { bytes.append(0) }
    }

    mutating func insert(contentsOf other: [UInt8], at index: Int) {
        bytes.insert(contentsOf: other, at: index)
    }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The standard library's own is not generic over the error in all its versions.
        try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}

extension OutputFile {
    func write(_ builder: ByteBuilder) throws(MediaFileError) {
        try builder.withUnsafeBytes { (bytes) throws(MediaFileError) in try write(bytes) }
    }

    func patch(_ builder: ByteBuilder, at offset: Int64) throws(MediaFileError) {
        try builder.withUnsafeBytes { (bytes) throws(MediaFileError) in try patch(bytes, at: offset) }
    }
}
