// The pictures themselves.
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
        guard let end = scan() else {
            if block.count >= maximumFrameBytes { leaveOutOversized() }
            return
        }
        // What follows is none of the picture's.
        rest = all
        rest.consume(taken - (block.count - end))
        block.truncate(to: end)
        finishScanned(output)
    }

    /// How much is taken at once while the end is looked for: what is beyond the end was copied in vain.
    static let scanStep = 16 * 1024

    /// The length to go by; nil to look for the end.
    var statedLength: Int? {
        guard trust.isEarned, let length = head.contentLength, length >= MultipartParser.fewestBytes,
            length <= maximumFrameBytes
        else { return nil }
        return length
    }

    /// The first two bytes, which tell whether it is a picture.
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
            // A fill byte, which libjpeg would not take there.
            return rest.consume(1)
        } else if byte != 0xD8 {
            return recover()
        }
        _ = append(&rest, 1)
    }

    /// False when there is no memory for the picture; it is left out then.
    mutating func append(_ rest: inout UnsafeRawBufferPointer, _ count: Int) -> Bool {
        guard block.append(UnsafeRawBufferPointer(rebasing: rest[..<count])) else {
            leaveOutOversized()
            return false
        }
        rest.consume(count)
        return true
    }

    mutating func leaveOutOversized() {
        losses.oversized &+= 1
        // Counted once, and not as damage.
        isRecovering = true
        recover()
    }

    /// The end of the picture in the block; nil while it is not there.
    mutating func scan() -> Int? {
        var start = 0
        defer { if start > 0 { block.removeFirst(start) } }
        while true {
            switch scanner.advance(UnsafeRawBufferPointer(rebasing: block.bytes[start...])) {
            case .incomplete: return nil
            case .complete(let end): return end
            case .interrupted(let next):
                // Cut off: the boundary and the head of the next were taken for its data.
                noteDamage()
                isRecovering = false
                start += next
                scanner = JPEGScanner()
                head = PartHead()
            }
        }
    }

    /// All bytes of a stated length are there.
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
            noteDamage()
            beginPicture()
            state = .lines
        } else {
            let (stated, found) = (head.contentLength, block.count)
            if let stated { trust.note(stated: stated, found: found) }
            deliver(output)
            // What else the part has is no damage.
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

    /// Looks whether the boundary follows a body that has its stated length and no end: then the picture is cut off,
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
                noteDamage()
                beginPicture()
                return beginHead()
            case .end:
                noteDamage()
                state = .ended
                return
            case .none: break
            }
        }
        let mayBeBoundary = tail.count <= 256 && (text.isEmpty || boundary.mayBegin(text))
        guard isLine && !text.isEmpty || !mayBeBoundary else { return }
        // It is the length that is wrong. The bytes are looked at anew, without it.
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
