#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the end of a JPEG image by its structure, while its bytes arrive.
///
/// Segments are skipped by their lengths, so that a thumbnail inside one is not mistaken for the image; in the
/// entropy-coded data the end is the first EOI marker. ITU-T T.81, annex B.
struct JPEGScanner {
    enum Outcome: Hashable {
        /// The end has not arrived yet.
        case incomplete
        /// The image has this many bytes, including its EOI.
        case complete(Int)
        /// Another image begins here, before this one has ended.
        case interrupted(at: Int)
    }

    private var position = 0

    /// Continues after the last call; `bytes` are those of the last call and more, from the image's SOI on.
    mutating func advance(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        if position == 0 {
            guard bytes.count >= 2 else { return .incomplete }
            position = 2
        }
        while position < bytes.count {
            // Only a marker should be between segments; other bytes are skipped, as by libjpeg.
            guard let found = memchr(bytes.baseAddress! + position, 0xFF, bytes.count - position) else {
                position = bytes.count
                return .incomplete
            }
            position = UnsafeRawPointer(found) - bytes.baseAddress!
            guard position + 1 < bytes.count else { return .incomplete }
            let marker = bytes[position + 1]
            switch marker {
            case 0xFF:  // A fill byte.
                position += 1
            case 0x00...0xBF, 0xD0...0xD7:  // A stuffed FF, TEM, a restart; or reserved: damaged entropy-coded data.
                position += 2
            case 0xD8:
                return .interrupted(at: position)
            case 0xD9:
                return .complete(position + 2)
            default:
                guard position + 3 < bytes.count else { return .incomplete }
                let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
                position += 2 + max(2, length)
            }
        }
        return .incomplete
    }
}
