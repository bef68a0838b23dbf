import CaptureCore

/// The payload of a packet: a header, and bytes that the frame has as they are. So a packet costs a few bytes to keep, and the
/// bytes of the frame are copied once, when it leaves.
struct Payload {
    /// The bytes in front of the body.
    struct Header {
        /// The longest is that of JPEG with restart markers.
        private var bytes = InlineArray<12, UInt8>(repeating: 0)
        private var length: UInt8 = 0

        /// The number of bytes.
        var count: Int { Int(length) }

        fileprivate mutating func append(_ byte: UInt8) {
            bytes[count] = byte
            length += 1
        }

        fileprivate func write(into memory: UnsafeMutableRawBufferPointer, at index: Int) {
            for offset in 0..<count { memory[index + offset] = bytes[offset] }
        }
    }

    private(set) var header = Header()
    /// What follows the header: a part of the frame, or of other memory that is valid while it is handed over.
    var body: UnsafeRawBufferPointer
    /// Whether the body is not a part of the frame, but was put together from several.
    var isComposed = false

    /// A payload without a header so far.
    init(_ body: UnsafeRawBufferPointer) { self.body = body }

    /// A payload that was kept.
    init(_ header: Header, _ body: UnsafeRawBufferPointer) { (self.header, self.body) = (header, body) }

    /// The bytes of header and body.
    var size: Int { header.count + body.count }

    /// Adds a byte to the header.
    mutating func append(_ byte: UInt8) { header.append(byte) }

    /// Adds 16 bits to the header.
    mutating func append(_ value: UInt16) {
        append(UInt8(value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    /// Writes header and body.
    func write(into memory: UnsafeMutableRawBufferPointer, at index: Int) {
        header.write(into: memory, at: index)
        memory.write(body, at: index + header.count)
    }
}
