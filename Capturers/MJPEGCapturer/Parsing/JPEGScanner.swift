#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the end of a JPEG picture by its structure, while its bytes come in.
///
/// Segments are stepped over by their lengths, so that a thumbnail inside one is not taken for the picture; in the
/// entropy-coded data the end is the first marker EOI. ITU-T T.81, annex B.
struct JPEGScanner {
    enum Outcome: Hashable {
        /// The end is not among the bytes yet.
        case incomplete
        /// The picture has this many bytes, its EOI included.
        case complete(Int)
        /// Here begins another picture, before this one has ended.
        case interrupted(at: Int)
    }

    private var position = 0

    /// Goes on where it was at the last call; `bytes` are those of then and more, from the picture's SOI on.
    mutating func advance(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        if position == 0 {
            guard bytes.count >= 2 else { return .incomplete }
            position = 2
        }
        while position < bytes.count {
            // Between segments nothing else than a marker should be; what is, libjpeg steps over as well.
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
