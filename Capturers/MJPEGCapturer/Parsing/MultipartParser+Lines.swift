// The lines between the pictures, and the heads of the parts.
extension MultipartParser {
    mutating func takeLine(_ rest: inout UnsafeRawBufferPointer) {
        if line.isEmpty, !awaitsBoundary {
            let first = rest[0]
            if first == 0xFF { return beginBody() }
            // Padding behind a picture.
            if first == 0, state == .lines { return rest.consume(1) }
        }
        // A boundary that does not come is not waited for without end.
        let allowed = awaitsBoundary ? max(1, 2 * maximumFrameBytes - bytesWithoutBoundary) : rest.count
        let piece = UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, allowed)])
        let newline = piece.offset(of: ASCII.newline)
        var taken = newline.map { $0 + 1 } ?? piece.count
        // A picture where a line should be; no head has such a byte.
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

    /// From now on anything may be a picture.
    mutating func giveUpBoundary() {
        awaitsBoundary = false
        bytesWithoutBoundary = 0
        line.removeAll(keepingCapacity: true)
    }

    /// Of a long line the end, where a boundary may be.
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
        if head.lineCount > PartHead.mostLines { recover() }
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
