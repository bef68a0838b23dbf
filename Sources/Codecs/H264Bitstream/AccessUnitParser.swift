/// Cuts a byte stream (ITU-T H.264, annex B) that comes in chunks of any size into access units (7.4.1.2.3).
///
/// A unit is complete when the next one begins: at a delimiter, a parameter set, an SEI message, or the first slice of
/// another picture. So it is handed out with the chunk that brings the next unit's first bytes: a sender that writes the
/// next unit's delimiter right after each unit has no delay here.
///
/// Holds at most ``maximumByteCount`` bytes of a unit. A larger one is discarded to the next start of a unit, and counted.
/// The order of slices is taken for that of macroblocks, as every profile but Baseline's arbitrary order has it.
///
/// One for each connection. A value for one thread at a time.
public struct AccessUnitParser: Sendable {
    /// An access unit in the parser's memory: valid during the call.
    public struct Unit {
        /// The byte stream of the unit, which begins with a start code.
        public let bytes: UnsafeRawBufferPointer
        /// Whether decoding can begin here: an IDR picture.
        public let isKeyFrame: Bool
        /// Whether there is a slice in it; units without one have parameter sets or the like only.
        public let hasSlices: Bool
    }

    /// The bytes of the longest unit that is handed out.
    public var maximumByteCount: Int { state.maximumByteCount }
    /// The bytes of no unit that was handed out: before the first start code, after a slice that was taken for complete,
    /// and of units that were too long.
    public var discardedByteCount: UInt64 { state.discardedByteCount }
    /// The number of units that were discarded because they were too long.
    public var discardedUnitCount: UInt64 { state.discardedUnitCount }

    /// The bytes that have come of the unit that is not handed out yet.
    package var pendingByteCount: Int { buffer.count }

    private var buffer: [UInt8] = []
    private var state: State

    /// The state of the bytes in the buffer.
    fileprivate struct State {
        let maximumByteCount: Int
        var discardedByteCount: UInt64 = 0
        var discardedUnitCount: UInt64 = 0
        /// Where the next start code is looked for.
        var scanned = 0
        /// The start code whose NAL unit's first bytes are still to come; nil when none is open.
        var openUnit: Int?
        /// Where the unit begins; nil before the first start code, and within discarded bytes.
        var start: Int?
        /// A prefix whose slice is still to come, which decides where the unit ends.
        var prefix: Int?
        /// Whether a slice that is not its picture's first may begin a unit: after one that was taken for complete.
        var mayContinue = false
        var hasSlices = false
        var isKeyFrame = false
        /// The header of the last slice.
        var sliceHeader: UInt8 = 0
    }

    /// - Parameter maximumByteCount: the bytes of the longest unit. The default is more than any level's pictures have
    ///   in practice.
    public init(maximumByteCount: Int = 8 << 20) {
        state = State(maximumByteCount: max(1024, maximumByteCount))
    }

    /// Takes the next bytes of the stream, and hands out the units that they complete.
    ///
    /// - Parameters:
    ///   - bytes: of any number, cut anywhere.
    ///   - output: takes each unit.
    public mutating func append(_ bytes: UnsafeRawBufferPointer, output: (Unit) -> Void) {
        var index = 0
        while index < bytes.count {
            // In parts, so that a large chunk makes no large buffer.
            let end = min(index + (64 << 10), bytes.count)
            buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[index..<end]))
            index = end
            buffer.withUnsafeBytes { state.scan($0, output) }
            removeConsumed()
        }
    }

    /// Hands out the received part of the last unit, as complete: at the end of the stream, or when the sender is known to
    /// write whole units and has paused.
    ///
    /// If the unit goes on after all, further slices come as a unit of their own; the rest of a slice is discarded.
    ///
    /// - Parameter output: takes the unit; not called when nothing has come.
    public mutating func flush(output: (Unit) -> Void) {
        buffer.withUnsafeBytes { bytes in
            // Too few bytes may have come of the last one to tell what it is.
            if let open = state.openUnit { state.classify(bytes, at: open, isAtEnd: true, output) }
            state.end(bytes, output)
        }
        buffer.removeAll(keepingCapacity: true)
        state.restart()
        state.mayContinue = true
    }

    private mutating func removeConsumed() {
        // Without a start the last three bytes may be the beginning of a start code.
        let consumed =
            state.start ?? state.prefix ?? state.openUnit.map { max(0, $0 - 1) } ?? max(0, buffer.count - 3)
        remove(consumed, areLost: state.start == nil)
        // Not yet known to belong to the next unit: a start code, the byte before it and two after it.
        guard buffer.count > state.maximumByteCount + 6 else { return }
        state.discardedUnitCount += 1
        remove(buffer.count - 3, areLost: true)
        state.restart()
    }

    private mutating func remove(_ count: Int, areLost: Bool) {
        guard count > 0 else { return }
        if areLost { state.discardedByteCount += UInt64(count) }
        buffer.removeFirst(count)
        state.moveDown(by: count)
    }
}

extension AccessUnitParser.State {
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ output: (AccessUnitParser.Unit) -> Void) {
        while true {
            if let open = openUnit {
                classify(bytes, at: open, isAtEnd: false, output)
                if openUnit != nil { return }
            }
            guard let found = AnnexB.startCode(in: bytes, from: scanned) else {
                scanned = max(scanned, bytes.count - 2)
                return
            }
            scanned = found + 3
            openUnit = found
        }
    }

    /// Decides by the first bytes after the start code at `found` whether a unit begins there; not yet when they are still
    /// to come.
    mutating func classify(
        _ bytes: UnsafeRawBufferPointer, at found: Int, isAtEnd: Bool,
        _ output: (AccessUnitParser.Unit) -> Void
    ) {
        guard found + 3 < bytes.count else { return }
        let header = bytes[found + 3]
        let kind = NALUnit.Kind(header: header)
        if kind.isSlice, found + 4 >= bytes.count, !isAtEnd { return }
        openUnit = nil
        // The zero byte of a start code of four bytes belongs to it.
        let first = found > (start ?? 0) && bytes[found - 1] == 0 ? found - 1 : found
        if kind == .prefix {
            if prefix == nil { prefix = first }
            return
        }
        let boundary = prefix ?? first
        prefix = nil
        if kind.isSlice {
            let isFirst = found + 4 < bytes.count && bytes[found + 4] & 0x80 != 0
            if hasSlices, isFirst || differs(header) { emit(bytes, to: boundary, output) }
            // After discarded bytes only a picture's first slice begins a unit; other slices lack it.
            if start == nil {
                guard isFirst || mayContinue else { return }
                begin(at: boundary)
            }
            hasSlices = true
            sliceHeader = header
            if kind == .idrSlice { isKeyFrame = true }
        } else {
            if hasSlices, kind.beginsAccessUnit { emit(bytes, to: boundary, output) }
            if start == nil { begin(at: boundary) }
        }
    }

    private mutating func begin(at index: Int) {
        start = index
        mayContinue = false
        discardedByteCount += UInt64(index)
    }

    /// Whether a slice belongs to another picture than the last one, by its header (7.4.1.2.4): one of both is of an IDR
    /// picture, or one of both of a picture that is not referred to.
    private func differs(_ header: UInt8) -> Bool {
        let isIDR = NALUnit.Kind(header: header) == .idrSlice
        let wasIDR = NALUnit.Kind(header: sliceHeader) == .idrSlice
        return isIDR != wasIDR || (header & 0x60 == 0) != (sliceHeader & 0x60 == 0)
    }

    /// Hands out the unit that ends before `end`, where the next one begins.
    private mutating func emit(
        _ bytes: UnsafeRawBufferPointer, to end: Int, _ output: (AccessUnitParser.Unit) -> Void
    ) {
        guard let begin = start else { return }
        if end - begin > maximumByteCount {
            discardedUnitCount += 1
            discardedByteCount += UInt64(end - begin)
        } else if end > begin {
            output(
                AccessUnitParser.Unit(
                    bytes: UnsafeRawBufferPointer(rebasing: bytes[begin..<end]), isKeyFrame: isKeyFrame,
                    hasSlices: hasSlices))
        }
        start = end
        hasSlices = false
        isKeyFrame = false
    }

    /// Hands out what there is.
    mutating func end(_ bytes: UnsafeRawBufferPointer, _ output: (AccessUnitParser.Unit) -> Void) {
        if start == nil { discardedByteCount += UInt64(bytes.count) }
        emit(bytes, to: bytes.count, output)
    }

    /// Forgets the bytes, and keeps the counts.
    mutating func restart() {
        var fresh = AccessUnitParser.State(maximumByteCount: maximumByteCount)
        fresh.discardedByteCount = discardedByteCount
        fresh.discardedUnitCount = discardedUnitCount
        self = fresh
    }

    mutating func moveDown(by count: Int) {
        scanned = max(0, scanned - count)
        openUnit = openUnit.map { $0 - count }
        start = start.map { $0 - count }
        prefix = prefix.map { $0 - count }
    }
}
