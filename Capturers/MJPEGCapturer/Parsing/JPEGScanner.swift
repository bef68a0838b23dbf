#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the end of a JPEG image by its structure, while its bytes arrive.
///
/// Segments are skipped by their lengths, so that a thumbnail inside one is not mistaken for the image; in the
/// entropy-coded data the end is the first EOI marker. ITU-T T.81, annex B. A boundary between parts ends an image within a
/// segment too: the length of a damaged segment may cover images that follow.
struct JPEGScanner {
    enum Outcome: Hashable {
        /// The end has not arrived yet.
        case incomplete
        /// The image has this many bytes, including its EOI.
        case complete(Int)
        /// Another image begins here, before this one has ended.
        case interrupted(at: Int)
        /// The line of a boundary begins here, within a segment.
        case cutOff(at: Int)
    }

    private var position = 0
    /// The end of the current segment; at most `position` outside of segments.
    private var segmentEnd = 0

    /// Continues after the last call; `bytes` are those of the last call and more, from the image's SOI on.
    ///
    /// The outcome depends on the bytes alone, not on how they are divided into calls.
    mutating func advance(_ bytes: UnsafeRawBufferPointer, _ boundary: PartBoundary) -> Outcome {
        if position == 0 {
            guard bytes.count >= 2 else { return .incomplete }
            position = 2
        }
        while position < bytes.count {
            if position < segmentEnd {
                if let found = searchSegment(bytes, boundary) { return found }
                continue
            }
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
                segmentEnd = position + 2 + max(2, length)
                position += 4
            }
        }
        return .incomplete
    }

    /// Searches the rest of the segment for a boundary, which lies in it as a whole; nil when there is not one.
    private mutating func searchSegment(_ bytes: UnsafeRawBufferPointer, _ boundary: PartBoundary) -> Outcome? {
        let end = min(bytes.count, segmentEnd)
        switch boundary.search(UnsafeRawBufferPointer(rebasing: bytes[position..<end])) {
        case .found(let offset): return .cutOff(at: position + offset)
        case .undecided(let offset) where end < segmentEnd:
            position += offset
            return .incomplete
        case .undecided, .none:
            position = end
            return nil
        }
    }
}
