// Bytes that are received by the parser itself, so that a picture can stay where it has come.
extension MultipartParser {
    /// Has `read` put what comes next into memory, and hands each picture that is whole now to `output`.
    ///
    /// Does what ``feed(_:output:)`` does. A picture is not copied when its length is stated and believed, and when at
    /// most the head of the next part has come with it; which is so for whoever reads as fast as the server sends. Where
    /// pictures wait, many are received at once and copied: calls of the system would cost more.
    ///
    /// - Parameter read: fills memory from its beginning and gives the number of bytes; 0 when nothing has come.
    /// - Returns: whether the memory was filled, so that more may have come; nil when the machine has no memory left.
    mutating func receive(
        _ read: (UnsafeMutableRawBufferPointer) -> Int, output: (ReceivedPicture) -> Void
    ) -> Bool? {
        if state == .body, block.count >= 2, let length = statedLength,
            !isBehind || length - block.count >= MultipartParser.leastRoomBehind
        {
            let room = min(length - block.count + MultipartParser.mostSurplus, MultipartParser.mostRoom)
            guard let count = block.append(atMost: room, by: read) else { return nil }
            isBehind = count == room && block.count > length
            finishReceived(length, output)
            return count == room
        }
        incoming.truncate(to: 0)
        // Room for a somewhat larger one than the last.
        let usual = min(lastBytes + lastBytes / 4 + MultipartParser.mostSurplus, MultipartParser.mostRoom)
        let room = isBehind ? max(usual, MultipartParser.leastRoomBehind) : usual
        guard let count = incoming.append(atMost: room, by: read) else { return nil }
        isBehind = count == room
        var rest = incoming.bytes
        while !rest.isEmpty, state == .lines || state == .head { takeLine(&rest) }
        if let length = statedLength, isStart(rest), rest.count <= length + MultipartParser.mostSurplus {
            incoming.keepLast(rest.count)
            swap(&incoming, &block)
            finishReceived(length, output)
        } else {
            feed(rest, output: output)
        }
        return count == room
    }

    /// The most that may have come with a picture and is copied then: a boundary, and the head of the next part.
    private static let mostSurplus = 1024

    /// The most that is received at once: no memory is taken for a length that is only stated.
    private static let mostRoom = 1 << 20

    /// The least that is received at once when more waits than one picture.
    private static let leastRoomBehind = 128 * 1024

    /// Whether a picture begins here, its first two bytes being there.
    private func isStart(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state == .body && block.count == 0 && bytes.count >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8
    }

    /// Ends the picture in the block if it is all there. What came behind it is looked at then.
    private mutating func finishReceived(_ length: Int, _ output: (ReceivedPicture) -> Void) {
        let surplus = block.count - length
        guard surplus >= 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: MultipartParser.mostSurplus, alignment: 1) { copy in
            let rest = UnsafeMutableRawBufferPointer(rebasing: copy[..<surplus])
            rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[length...]))
            block.truncate(to: length)
            finishStated(output)
            feed(UnsafeRawBufferPointer(rest), output: output)
        }
    }
}
