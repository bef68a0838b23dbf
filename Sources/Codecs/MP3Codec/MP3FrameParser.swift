#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the frames of an MP3 stream that arrives in pieces, may begin anywhere, and may be damaged.
///
/// It stands before the decoder, which takes noise for loud frames of other formats, and has no memory for tags of any
/// length. A frame is given only when it is whole and the next one, of the same version, rate and number of channels,
/// begins where it ends; after garbage two such followers are asked for. ID3v2, APE and ID3v1 tags are skipped without
/// being kept, whatever their length. Memory is ``capacity`` bytes, once.
///
/// Not safe to use from several threads at once.
public final class MP3FrameParser {
    /// A frame.
    public struct Frame {
        /// Its header.
        public var header: MP3FrameHeader
        /// All of its bytes; valid until the next call of the parser.
        public var bytes: UnsafeRawBufferPointer
        /// The offset of its first byte in all that was appended.
        public var position: Int64
        /// Whether bytes are missing before it, so that the decoder has no reservoir of bits for it; set on the first frame
        /// too.
        public var isAfterGap: Bool
    }

    /// The parts of the stream that are not frames. Cumulative.
    public struct Findings: Sendable, Hashable {
        /// Frames given.
        public var frames: UInt64 = 0
        /// Bytes passed over that belong neither to a frame nor to a tag.
        public var garbageBytes: UInt64 = 0
        /// Bytes of tags.
        public var tagBytes: UInt64 = 0
        /// Searches for a frame after the first one: damages of the stream.
        public var resynchronizations: UInt64 = 0
        /// Headers in free format, which is not supported, among the garbage.
        public var freeFormatHeaders: UInt64 = 0
    }

    /// The number of bytes that it holds at most.
    public let capacity: Int
    /// The counts so far.
    public private(set) var findings = Findings()
    /// The offset of the first byte that is held: where the search is.
    public private(set) var position: Int64 = 0

    private let memory: UnsafeMutableRawBufferPointer
    private var head = 0
    private var tail = 0
    /// Bytes of a frame that was given, to be removed at the next call.
    private var given = 0
    /// Bytes of a tag that are still to come.
    private var tagBytesLeft = 0
    /// The header of the last frame while in step with the stream; nil while searching.
    private var current: MP3FrameHeader?
    private var isAfterGap = true
    private var hasEnded = false

    /// The longest tag that is believed at position 0, where that of a file stands, with its cover.
    public var maximumFirstTagBytes = MP3FrameParser.maximumTagBytes

    /// Longer tags are not believed elsewhere: a stream would be silent while they are skipped.
    public static let maximumTagBytes = 1 << 20

    /// Creates a parser.
    ///
    /// - Parameter capacity: the number of bytes that it holds at most; at least 8 KB.
    public init(capacity: Int = 256 * 1024) {
        self.capacity = max(8192, capacity)
        memory = .allocate(byteCount: self.capacity, alignment: 64)
    }

    deinit { memory.deallocate() }

    /// The number of bytes held.
    public var count: Int { tail - head - given }

    /// The offset of the next byte that is appended.
    public var endPosition: Int64 { position + Int64(tail - head) }

    /// The number of bytes that it takes now.
    public var room: Int { capacity - count }

    /// Appends bytes of the stream.
    ///
    /// - Parameter bytes: the bytes that follow the last ones.
    /// - Returns: the number of bytes taken: all, up to ``room``.
    public func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        removeGiven()
        let taken = min(bytes.count, room)
        guard taken > 0, let base = memory.baseAddress, let source = bytes.baseAddress else { return 0 }
        if capacity - tail < taken {
            memmove(base, base + head, tail - head)
            tail -= head
            head = 0
        }
        (base + tail).copyMemory(from: source, byteCount: taken)
        tail += taken
        return taken
    }

    /// The stream has ended: the frames held need no followers. After more bytes were appended it goes on.
    public func finish() { hasEnded = true }

    /// Forgets all bytes held; the next frame is after a gap.
    ///
    /// - Parameter position: the offset of the next byte that is appended.
    public func reset(position: Int64) {
        head = 0
        tail = 0
        given = 0
        tagBytesLeft = 0
        current = nil
        isAfterGap = true
        hasEnded = false
        self.position = position
    }

    /// The next frame; nil when more bytes are needed. Takes no longer than the bytes held are long.
    public func next() -> Frame? {
        removeGiven()
        while true {
            if tagBytesLeft > 0 {
                let skipped = min(tagBytesLeft, tail - head)
                consume(skipped)
                tagBytesLeft -= skipped
                findings.tagBytes &+= UInt64(skipped)
                if tagBytesLeft > 0 { return nil }
            }
            switch current == nil ? search() : step() {
            case .found(let frame): return frame
            case .goOn: continue
            case .needsMore: return nil
            }
        }
    }

    // MARK: - Steps

    private enum Step {
        case found(Frame)
        case goOn, needsMore
    }

    private enum Answer {
        case yes, no, needsMore
    }

    /// At the end of a frame, and the next one should be here.
    private func step() -> Step {
        guard let current else { return .goOn }
        guard tail - head >= MP3FrameHeader.size else { return atEnd() }
        let found = header(at: head)
        guard let header = found, header.matches(current) else {
            // Another format may begin here, if it is a whole chain; anything else is searched through.
            if let found {
                switch chain(at: head) {
                case .yes:
                    self.current = found
                    return .goOn
                case .needsMore where !hasEnded: return .needsMore
                default: return loseStep()
                }
            }
            switch tagLength(at: head) {
            case .length(let length):
                tagBytesLeft = length
                return .goOn
            case .needsMore: return hasEnded ? loseStep() : .needsMore
            case .none: return loseStep()
            }
        }
        let end = head + header.byteCount
        guard end <= tail else { return atEnd() }
        switch follows(header, at: end) {
        case .yes: return .found(give(header))
        case .no: return loseStep()
        case .needsMore: return hasEnded ? .found(give(header)) : .needsMore
        }
    }

    /// Nothing whole is left.
    private func atEnd() -> Step {
        if hasEnded {
            findings.garbageBytes &+= UInt64(tail - head)
            consume(tail - head)
        }
        return .needsMore
    }

    private func loseStep() -> Step {
        current = nil
        isAfterGap = true
        findings.resynchronizations &+= 1
        return .goOn
    }

    /// Whether what stands at `offset` may follow a frame: a frame of the same kind, a tag, or a chain of another kind.
    private func follows(_ header: MP3FrameHeader, at offset: Int) -> Answer {
        guard offset + MP3FrameHeader.size <= tail else { return .needsMore }
        if let next = self.header(at: offset) { return next.matches(header) ? .yes : chain(at: offset) }
        switch tagLength(at: offset) {
        case .length: return .yes
        case .needsMore: return .needsMore
        case .none: return .no
        }
    }

    /// Whether three frames of one kind stand one behind the other, or as many as there are before the end.
    private func chain(at offset: Int) -> Answer {
        guard let first = header(at: offset) else { return .no }
        var next = offset + first.byteCount
        for _ in 0..<2 {
            guard next + MP3FrameHeader.size <= tail else {
                // At the end of the stream the frames end with it.
                return hasEnded ? (next == tail ? .yes : .no) : .needsMore
            }
            guard let header = header(at: next) else {
                switch tagLength(at: next) {
                case .length: return .yes
                case .needsMore: return hasEnded ? .no : .needsMore
                case .none: return .no
                }
            }
            guard header.matches(first) else { return .no }
            next += header.byteCount
        }
        return .yes
    }

    /// Looks for the first frame of a chain, or a tag.
    private func search() -> Step {
        var offset = head
        while offset < tail {
            // Few bytes of noise can begin either; the search of the library is quick for the rest.
            let byte = memory[offset]
            if byte == 0xFF {
                guard offset + MP3FrameHeader.size <= tail else { break }
                if let header = header(at: offset), !header.hasReservedEmphasis {
                    switch chain(at: offset) {
                    case .yes:
                        discard(upTo: offset)
                        current = header
                        return .goOn
                    case .needsMore:
                        discard(upTo: offset)
                        return .needsMore
                    case .no: break
                    }
                } else if MP3FrameHeader.isFreeFormat(bytes(at: offset)) {
                    findings.freeFormatHeaders &+= 1
                }
            } else if byte == 0x49 || byte == 0x41 {
                switch tagLength(at: offset) {
                case .length(let length):
                    discard(upTo: offset)
                    tagBytesLeft = length
                    return .goOn
                case .needsMore where !hasEnded:
                    discard(upTo: offset)
                    return .needsMore
                default: break
                }
            }
            offset += 1
        }
        discard(upTo: hasEnded ? tail : offset)
        return .needsMore
    }

    // MARK: - Bytes

    private func bytes(at offset: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[offset..<tail])
    }

    private func header(at offset: Int) -> MP3FrameHeader? { MP3FrameHeader(bytes(at: offset)) }

    private enum Tag {
        case length(Int)
        case none, needsMore
    }

    /// The length of the tag that begins at `offset`.
    private func tagLength(at offset: Int) -> Tag {
        let bytes = bytes(at: offset)
        func begins(_ text: StaticString) -> Tag? {
            text.withUTF8Buffer { text in
                let isEqual = zip(bytes, text).allSatisfy { $0 == $1 }
                return !isEqual ? nil : bytes.count < text.count ? .needsMore : Tag.length(0)
            }
        }
        if let found = begins("ID3") {
            guard case .length = found, bytes.count >= 10 else { return .needsMore }
            // 28 bits, 7 in each byte; version and revision are never 255.
            guard bytes[3] != 0xFF, bytes[4] != 0xFF, bytes[6..<10].allSatisfy({ $0 < 0x80 }) else { return .none }
            let size = bytes[6..<10].reduce(0) { $0 << 7 | Int($1) }
            let footer = bytes[5] & 0x10 != 0 ? 10 : 0
            let maximum = position == 0 && offset == head ? maximumFirstTagBytes : MP3FrameParser.maximumTagBytes
            return size <= maximum ? .length(10 + size + footer) : .none
        }
        if let found = begins("APETAGEX") {
            guard case .length = found, bytes.count >= 32 else { return .needsMore }
            let size = (0..<4).reduce(0) { $0 | Int(bytes[12 + $1]) << (8 * $1) }
            // At the end of a tag stands a copy of its head, after which nothing belongs to it.
            guard bytes[23] & 0x20 != 0 else { return .length(32) }
            return size <= MP3FrameParser.maximumTagBytes ? .length(32 + size) : .none
        }
        // Only where a frame was due: three letters are too little to be found in noise.
        if current != nil, let found = begins("TAG") {
            guard case .length = found else { return .needsMore }
            return .length(128)
        }
        return .none
    }

    private func give(_ header: MP3FrameHeader) -> Frame {
        let frame = Frame(
            header: header, bytes: UnsafeRawBufferPointer(rebasing: memory[head..<head + header.byteCount]),
            position: position, isAfterGap: isAfterGap)
        given = header.byteCount
        current = header
        isAfterGap = false
        findings.frames &+= 1
        return frame
    }

    private func removeGiven() {
        consume(given)
        given = 0
    }

    private func discard(upTo offset: Int) {
        findings.garbageBytes &+= UInt64(offset - head)
        if offset > head { isAfterGap = true }
        consume(offset - head)
    }

    private func consume(_ count: Int) {
        head += count
        position += Int64(count)
        if head == tail {
            head = 0
            tail = 0
        }
    }
}
