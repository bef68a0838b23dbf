import HTTPTransport

/// The boundary between the parts of a stream, as servers write it: with or without `--` before it, declared with or
/// without the dashes, declared wrongly, or not at all.
struct PartBoundary {
    enum Match: Hashable {
        case none
        /// A part follows.
        case part
        /// The stream ends: a `-` follows the boundary.
        case end
    }

    /// The maximum length of a boundary that is learned from the stream.
    private static let longest = 200

    /// Without leading dashes; empty while it is not known.
    private(set) var token: [UInt8]
    /// Whether it has been seen in the stream.
    private(set) var isProven = false

    /// - Parameter declared: the boundary in the head of the stream.
    init(declared: [UInt8]?) {
        token = Array(ASCII.trimmedEnd((declared ?? []).drop { $0 == ASCII.dash }))
    }

    /// Matches a line without its end. Until a boundary is proven, any line that begins with dashes is taken for one, if
    /// `mayLearn`.
    mutating func match(_ line: ArraySlice<UInt8>, mayLearn: Bool) -> Match {
        let line = ASCII.trimmedEnd(line)
        if !token.isEmpty, let match = known(line) {
            isProven = true
            return match
        }
        guard mayLearn, !isProven, line.count <= PartBoundary.longest, line.starts(with: [ASCII.dash, ASCII.dash])
        else { return .none }
        let name = Array(line.drop { $0 == ASCII.dash })
        isProven = !name.isEmpty
        if isProven { token = name }
        return .part
    }

    /// The result of ``search(_:)``.
    enum Search: Hashable {
        case none
        /// The line begins at this offset.
        case found(Int)
        /// The bytes end before that is known; to be continued from this offset on.
        case undecided(Int)
    }

    /// Searches for a line among other bytes that is the proven boundary, with its dashes and its line end.
    func search(_ bytes: UnsafeRawBufferPointer) -> Search {
        guard isProven else { return .none }
        var rest = bytes
        while let newline = rest.offset(of: ASCII.newline) {
            let offset = bytes.count - rest.count + newline
            rest.consume(newline + 1)
            guard let isLine = isLine(rest) else { return .undecided(offset) }
            if isLine { return .found(offset + 1) }
        }
        return .none
    }

    /// The ends of a boundary's line: before a part, and at the end of the stream.
    private static let lineEnds = ["\n", "\r\n", "--\n", "--\r\n"].map { Array($0.utf8) }

    /// Whether the bytes begin with the line of the boundary; nil when they end too early.
    private func isLine(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        let name = bytes.drop { $0 == ASCII.dash }
        guard name.startIndex <= PartBoundary.longest, name.startIndex >= 2 || name.isEmpty else { return false }
        var isDecided = true
        for end in PartBoundary.lineEnds {
            let line = token + end
            if name.starts(with: line) { return true }
            if line.starts(with: name) { isDecided = false }
        }
        return isDecided ? false : nil
    }

    /// Whether the text may be the beginning of a boundary.
    func mayBegin(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == ASCII.dash || text.first == token.first
    }

    private func known(_ line: ArraySlice<UInt8>) -> Match? {
        let name = line.drop { $0 == ASCII.dash }
        if name.starts(with: token) {
            let rest = name.dropFirst(token.count)
            guard let next = rest.first else { return .part }
            if next == ASCII.dash { return .end }
            return ASCII.isBlank(next) ? .part : nil
        }
        // An image without a line end after it.
        guard line.count > token.count + 2 else { return nil }
        if endsWithBoundary(line) { return .part }
        return line.suffix(2).elementsEqual([ASCII.dash, ASCII.dash]) && endsWithBoundary(line.dropLast(2))
            ? .end : nil
    }

    private func endsWithBoundary(_ line: ArraySlice<UInt8>) -> Bool {
        guard line.count >= token.count + 2, line.suffix(token.count).elementsEqual(token) else { return false }
        return line.dropLast(token.count).suffix(2).elementsEqual([ASCII.dash, ASCII.dash])
    }
}
