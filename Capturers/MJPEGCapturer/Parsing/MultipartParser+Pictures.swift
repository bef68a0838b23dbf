import HTTPTransport

// The images.
extension MultipartParser {
    mutating func takeBody(_ rest: inout UnsafeRawBufferPointer, _ output: (ReceivedPicture) -> Void) {
        guard block.count >= 2 else { return takeStart(&rest) }
        if let length = statedLength {
            let taken = min(length - block.count, rest.count)
            guard append(&rest, taken) else { return }
            if block.count == length { finishStated(output) }
            return
        }
        let all = rest
        let taken = min(rest.count, MultipartParser.scanStep, maximumFrameBytes - block.count)
        guard append(&rest, taken) else { return }
        switch scan() {
        case .incomplete, .interrupted:
            if block.count >= maximumFrameBytes { skipOversized() }
        case .complete(let end):
            // The bytes after the end do not belong to the image.
            rest = all
            rest.consume(taken - (block.count - end))
            block.truncate(to: end)
            finishScanned(output)
        case .cutOff(let next):
            rest = all
            endWithinSegment(&rest, taken, boundary: next)
        }
    }

    /// The boundary lies within a segment, whose length is wrong then: the image is damaged, and the next one may be whole.
    ///
    /// - Parameters:
    ///   - rest: the bytes of this call, of which `taken` are in the block.
    ///   - next: the index in the block at which the boundary begins.
    private mutating func endWithinSegment(_ rest: inout UnsafeRawBufferPointer, _ taken: Int, boundary next: Int) {
        recordDamage()
        // The beginning of the boundary may have arrived earlier.
        let earlier = max(0, block.count - taken)
        line.removeAll(keepingCapacity: true)
        line.append(contentsOf: block.bytes[min(next, earlier)..<earlier])
        rest.consume(taken - (block.count - max(next, earlier)))
        beginPicture()
        state = .lines
    }

    /// The bytes that are appended at once while the end is searched: those beyond the end are copied in vain.
    static let scanStep = 16 * 1024

    /// The length that is relied upon; nil to search for the end.
    var statedLength: Int? {
        guard trust.isEarned, let length = head.contentLength, length >= 2, length <= maximumFrameBytes else {
            return nil
        }
        return length
    }

    /// The first two bytes, which show whether it is an image.
    mutating func takeStart(_ rest: inout UnsafeRawBufferPointer) {
        let byte = rest[0]
        if block.count == 0 {
            // Extra blank lines.
            if ASCII.isBlank(byte) || byte == 0 { return rest.consume(1) }
            // A part without a body.
            if byte == ASCII.dash {
                state = .lines
                return
            }
            // Extra blank lines within the head.
            if ASCII.isLetter(byte), head.lineCount > 0 {
                state = .head
                return
            }
            guard byte == 0xFF else { return recover() }
        } else if byte == 0xFF {
            // A fill byte, which libjpeg would not accept there.
            return rest.consume(1)
        } else if byte != 0xD8 {
            return recover()
        }
        _ = append(&rest, 1)
    }

    /// False when there is no memory for the image, which is skipped then.
    mutating func append(_ rest: inout UnsafeRawBufferPointer, _ count: Int) -> Bool {
        guard block.append(UnsafeRawBufferPointer(rebasing: rest[..<count])) else {
            skipOversized()
            return false
        }
        rest.consume(count)
        return true
    }

    mutating func skipOversized() {
        losses.oversized &+= 1
        // Counted once, and not as damage.
        isRecovering = true
        recover()
    }

    /// How the image in the block ends; `incomplete` while its end has not arrived.
    mutating func scan() -> JPEGScanner.Outcome {
        var start = 0
        defer { if start > 0 { block.removeFirst(start) } }
        while true {
            let outcome = scanner.advance(UnsafeRawBufferPointer(rebasing: block.bytes[start...]), boundary)
            switch outcome {
            case .incomplete, .complete, .cutOff: return outcome
            case .interrupted(let next):
                // Truncated: the boundary and the head of the next image were taken for its data.
                recordDamage()
                isRecovering = false
                start += next
                scanner = JPEGScanner()
                head = PartHead()
            }
        }
    }

    /// All bytes of a stated length have arrived.
    mutating func finishStated(_ output: (ReceivedPicture) -> Void) {
        if MultipartParser.isWhole(block.bytes) {
            deliver(output)
        } else {
            state = .afterLength
            tail.removeAll(keepingCapacity: true)
        }
    }

    mutating func finishScanned(_ output: (ReceivedPicture) -> Void) {
        if block.count < MultipartParser.fewestBytes {
            recordDamage()
            beginPicture()
            state = .lines
        } else {
            let (stated, found) = (head.contentLength, block.count)
            if let stated { trust.record(stated: stated, found: found) }
            deliver(output)
            // The rest of the part is not damage.
            if let stated, stated > found, boundary.isProven {
                awaitsBoundary = true
                bytesWithoutBoundary = 0
            }
        }
    }

    mutating func deliver(_ output: (ReceivedPicture) -> Void) {
        let picture = ReceivedPicture(block: block, serverTime: head.serverTime, losses: losses)
        losses = StreamLosses()
        lastBytes = block.count
        block = pool.take()
        isRecovering = false
        state = .lines
        beginPicture()
        output(picture)
    }

    /// Checks whether the boundary follows a body of the stated length without an end: then the image is truncated,
    /// otherwise the length is wrong.
    mutating func takeTail(_ rest: inout UnsafeRawBufferPointer, _ output: (ReceivedPicture) -> Void) {
        let byte = rest[0]
        rest.consume(1)
        tail.append(byte)
        let isLine = byte == ASCII.newline
        let text = ASCII.trimmed(tail[...])
        if isLine, !text.isEmpty {
            switch boundary.match(text, mayLearn: false) {
            case .part:
                recordDamage()
                beginPicture()
                return beginHead()
            case .end:
                recordDamage()
                state = .ended
                return
            case .none: break
            }
        }
        let mayBeBoundary = tail.count <= 256 && (text.isEmpty || boundary.mayBegin(text))
        guard isLine && !text.isEmpty || !mayBeBoundary else { return }
        // The length is wrong. The bytes are parsed again without it.
        trust.lose()
        guard tail.withUnsafeBytes({ block.append($0) }) else { return recover() }
        let bytes = block
        block = pool.take()
        head = PartHead(serverTime: head.serverTime)
        state = .body
        beginPicture()
        feed(bytes.bytes, output: output)
        pool.giveBack(bytes)
    }
}

/// Whether the stated lengths of the parts are trusted: after they have been right, until one is wrong. Padding counts as
/// wrong, since it may arrive late.
struct LengthHeuristic: Hashable {
    /// The number of right lengths that are required.
    private static let proof = 2

    private var agreements = 0
    private var isLost = false

    var isEarned: Bool { !isLost && agreements >= LengthHeuristic.proof }

    mutating func record(stated: Int, found: Int) {
        if stated == found {
            agreements = min(agreements + 1, LengthHeuristic.proof)
        } else {
            isLost = true
        }
    }

    mutating func lose() { isLost = true }
}
