import HTTPTransport

// The lines between the images, and the heads of the parts.
extension MultipartParser {
    mutating func takeLine(_ rest: inout UnsafeRawBufferPointer) {
        if line.isEmpty, !awaitsBoundary {
            let first = rest[0]
            if first == 0xFF { return beginBody() }
            // Padding after an image.
            if first == 0, state == .lines { return rest.consume(1) }
        }
        // The wait for a missing boundary is limited.
        let allowed = awaitsBoundary ? max(1, 2 * maximumFrameBytes - bytesWithoutBoundary) : rest.count
        let piece = UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, allowed)])
        let newline = piece.offset(of: ASCII.newline)
        var taken = newline.map { $0 + 1 } ?? piece.count
        // An image in place of a line; no head contains such a byte.
        if !awaitsBoundary, let marker = UnsafeRawBufferPointer(rebasing: piece[..<taken]).offset(of: 0xFF) {
            taken = marker
            line.removeAll(keepingCapacity: true)
        } else {
            if awaitsBoundary { bytesWithoutBoundary += taken }
            keep(UnsafeRawBufferPointer(rebasing: piece[..<taken]))
            if newline != nil { endLine() }
            if awaitsBoundary, bytesWithoutBoundary >= 2 * maximumFrameBytes { giveUpBoundary() }
        }
        rest.consume(taken)
    }

    /// From now on any bytes may be an image.
    mutating func giveUpBoundary() {
        awaitsBoundary = false
        bytesWithoutBoundary = 0
        line.removeAll(keepingCapacity: true)
    }

    /// Keeps the end of a long line, where a boundary may be.
    mutating func keep(_ piece: UnsafeRawBufferPointer) {
        let piece = piece.suffix(MultipartParser.longestLine)
        let excess = line.count + piece.count - MultipartParser.longestLine
        if excess > 0 { line.removeFirst(min(line.count, excess)) }
        line.append(contentsOf: piece)
    }

    mutating func endLine() {
        defer { line.removeAll(keepingCapacity: true) }
        let text = ASCII.trimmed(line[...])
        if text.isEmpty {
            if state == .head { endHead() }
            return
        }
        switch boundary.match(text, mayLearn: !awaitsBoundary) {
        case .part: return beginHead()
        case .end:
            state = .ended
            return
        case .none: break
        }
        if state == .lines {
            guard !awaitsBoundary, ASCII.hasPrefix(text, "content-") else { return }
            // No boundary before the first part.
            beginHead()
        }
        head.take(text)
        if head.lineCount > PartHead.maximumLines { recover() }
    }

    mutating func beginHead() {
        state = .head
        head = PartHead()
        awaitsBoundary = false
        isRecovering = false
        bytesWithoutBoundary = 0
    }

    mutating func endHead() {
        // Extra blank lines before it.
        if head.lineCount == 0 { return }
        if head.contentLength == 0 {
            state = .lines
        } else if head.isForeign {
            awaitsBoundary = boundary.isProven
            state = .lines
        } else {
            beginBody()
        }
    }

    mutating func beginBody() {
        if state == .lines { head = PartHead() }
        state = .body
        line.removeAll(keepingCapacity: true)
        beginPicture()
    }

    mutating func beginPicture() {
        block.truncate(to: 0)
        scanner = JPEGScanner()
    }
}

/// The relevant headers of a part.
struct PartHead: Hashable {
    /// The maximum number of lines of a head.
    static let maximumLines = 100

    /// Nil when it is missing or ambiguous.
    private(set) var contentLength: Int?
    /// Whether the part is stated to be something other than an image.
    private(set) var isForeign = false
    /// uStreamer's `X-Timestamp`: seconds since 1970 by the server's clock.
    private(set) var serverTime: Duration?
    private(set) var lineCount = 0
    private var hasLength = false

    init(contentLength: Int? = nil, serverTime: Duration? = nil) {
        self.contentLength = contentLength
        self.serverTime = serverTime
    }

    mutating func take(_ line: ArraySlice<UInt8>) {
        lineCount += 1
        guard let header = HeaderLine(line) else { return }
        if header.isNamed("content-length") {
            let length = ASCII.number(header.value)
            contentLength = hasLength && length != contentLength ? nil : length
            hasLength = true
        } else if header.isNamed("content-type") {
            // Without an allocation for the usual ones.
            guard !ASCII.hasPrefix(header.value, "image/jp") else { return }
            let type = ContentType(header.value)
            isForeign = !type.isPicture && !type.isVague
        } else if header.isNamed("x-timestamp") {
            serverTime = PartHead.time(header.value)
        }
    }

    /// Parses `1700000000.123456`; nil for text that is not a time after 2001.
    private static func time(_ text: ArraySlice<UInt8>) -> Duration? {
        guard let seconds = ASCII.number(text), (1_000_000_000...100_000_000_000).contains(seconds) else { return nil }
        let fraction = text.drop { ASCII.isDigit($0) }
        guard fraction.first == 0x2E else { return .seconds(seconds) }
        let digits = fraction.dropFirst().prefix { ASCII.isDigit($0) }.prefix(9)
        var nanoseconds = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
        for _ in digits.count..<9 { nanoseconds *= 10 }
        return .seconds(seconds) + .nanoseconds(nanoseconds)
    }
}
