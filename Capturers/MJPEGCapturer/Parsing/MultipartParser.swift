import HTTPTransport

/// Parses the bytes of a body into JPEG images, each of which is delivered when its last byte has arrived.
///
/// Follows what servers send rather than RFC 2046. A stated length is trusted once it has been right, and checked each
/// time; a part without one, or with a wrong one, ends where the JPEG's structure ends. After damage the parser searches for
/// the next boundary, and where a stream has none, for the next JPEG.
///
/// A value type, which must not be copied within a stream, since the bytes of the current image would be shared.
struct MultipartParser {
    /// The content of the body by its head.
    enum Content {
        /// Parts, with the boundary between them if known.
        case parts(boundary: [UInt8]?)
        /// One image, with its length in bytes if known.
        case picture(length: Int?)
    }

    enum State: Hashable {
        /// Between two parts.
        case lines
        case head
        case body
        /// All bytes of a stated length have arrived, but the image has no end: the next bytes show what is wrong.
        case afterLength
        case ended
    }

    /// The minimum number of bytes of an image, as in uStreamer.
    static let fewestBytes = 125
    /// The maximum number of bytes kept of a line.
    static let longestLine = 4096

    var state: State
    /// The losses since the last image.
    var losses = StreamLosses()
    /// Whether the server has marked the end of the stream.
    var hasEnded: Bool { state == .ended }

    let maximumFrameBytes: Int
    let pool: JPEGBlockPool

    // Lines and heads.
    var boundary: PartBoundary
    var line: [UInt8] = []
    var head = PartHead()
    /// Within a damaged part, of which all bytes are skipped up to the boundary.
    var awaitsBoundary = false
    var bytesWithoutBoundary = 0
    /// Whether the current damage has been counted.
    var isRecovering = false

    // The body.
    var block: JPEGBlock
    var scanner = JPEGScanner()
    var trust = LengthHeuristic()
    /// The bytes after a stated length.
    var tail: [UInt8] = []
    /// Received bytes that are not parsed yet; see ``receive(_:output:)``.
    var incoming = JPEGBlock()
    /// Whether the last call of `read` filled its memory, beyond the end of an image or before that is known.
    var isBehind = false
    /// The length of the last image; before the first one a typical length.
    var lastBytes = 64 * 1024

    init(_ content: Content, maximumFrameBytes: Int, pool: JPEGBlockPool = JPEGBlockPool()) {
        self.maximumFrameBytes = maximumFrameBytes
        self.pool = pool
        block = pool.take()
        line.reserveCapacity(MultipartParser.longestLine)
        switch content {
        case .parts(let declared):
            boundary = PartBoundary(declared: declared)
            state = .lines
        case .picture(let length):
            boundary = PartBoundary(declared: nil)
            state = .body
            if let length, length > 0 { head = PartHead(contentLength: length) }
        }
    }

    /// Parses bytes that have arrived, and passes each completed image to `output`.
    mutating func feed(_ bytes: UnsafeRawBufferPointer, output: (ReceivedPicture) -> Void) {
        var rest = bytes
        while !rest.isEmpty, state != .ended {
            switch state {
            case .lines, .head: takeLine(&rest)
            case .body: takeBody(&rest, output)
            case .afterLength: takeTail(&rest, output)
            case .ended: break
            }
        }
    }

    /// Ends the stream: the current image is delivered if it is complete, or else counted as lost.
    mutating func finish(output: (ReceivedPicture) -> Void) {
        switch state {
        case .body where block.count > 0, .afterLength:
            if MultipartParser.isWhole(block.bytes) { deliver(output) } else { recordDamage() }
        default: break
        }
        state = .ended
    }

    /// Returns the memory of the current image to the pool.
    mutating func discard() {
        pool.giveBack(block)
        block = JPEGBlock()
        state = .ended
    }

    /// The losses that were not delivered with an image yet.
    mutating func takeLosses() -> StreamLosses {
        defer { losses = StreamLosses() }
        return losses
    }

    // MARK: - Damage

    /// Skips the current image, and searches for the next part.
    mutating func recover() {
        recordDamage()
        beginPicture()
        line.removeAll(keepingCapacity: true)
        state = .lines
        awaitsBoundary = boundary.isProven
        bytesWithoutBoundary = 0
    }

    /// Once for each run of damaged bytes.
    mutating func recordDamage() {
        if !isRecovering { losses.damaged &+= 1 }
        isRecovering = true
    }

    /// Whether the bytes are a complete image: they begin with SOI and end with EOI, which may be followed by zeros, the
    /// padding of hardware encoders, or by line ends that the stated length includes.
    ///
    /// uStreamer accepts two zeros as the end without an EOI before them; but tables contain such zeros too.
    static func isWhole(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= fewestBytes, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return false }
        var end = bytes.count
        while end > 2, isPadding(bytes[end - 1]) { end -= 1 }
        return bytes[end - 2] == 0xFF && bytes[end - 1] == 0xD9
    }

    private static func isPadding(_ byte: UInt8) -> Bool {
        byte == 0 || byte == ASCII.carriageReturn || byte == ASCII.newline
    }
}

// Receiving directly into the memory of the image, which avoids a copy.
extension MultipartParser {
    /// Lets `read` fill memory, and passes each completed image to `output`, as ``feed(_:output:)``.
    ///
    /// An image is not copied when its length is stated and trusted, and when at most the head of the next part has
    /// arrived with it; which is the case for a client that reads as fast as the server sends. Where several images
    /// wait, they are received at once and copied, which costs less than more system calls.
    ///
    /// - Parameters:
    ///   - read: fills memory from its beginning and returns the number of bytes; 0 when nothing has arrived.
    ///   - output: gets the completed images.
    /// - Returns: whether the memory was filled, so that more may have arrived; nil when there is no memory left.
    mutating func receive(
        _ read: (UnsafeMutableRawBufferPointer) -> Int, output: (ReceivedPicture) -> Void
    ) -> Bool? {
        if state == .body, block.count >= 2, let length = statedLength,
            !isBehind || length - block.count >= MultipartParser.minimumRoomBehind
        {
            let room = min(length - block.count + MultipartParser.maximumSurplus, MultipartParser.maximumRoom)
            guard let count = block.append(atMost: room, by: read) else { return nil }
            isBehind = count == room && block.count > length
            finishReceived(length, output)
            return count == room
        }
        incoming.truncate(to: 0)
        // Room for an image somewhat larger than the last one.
        let usual = min(lastBytes + lastBytes / 4 + MultipartParser.maximumSurplus, MultipartParser.maximumRoom)
        let room = isBehind ? max(usual, MultipartParser.minimumRoomBehind) : usual
        guard let count = incoming.append(atMost: room, by: read) else { return nil }
        isBehind = count == room
        var rest = incoming.bytes
        while !rest.isEmpty, state == .lines || state == .head { takeLine(&rest) }
        if let length = statedLength, isStart(rest), rest.count <= length + MultipartParser.maximumSurplus {
            incoming.keepLast(rest.count)
            swap(&incoming, &block)
            finishReceived(length, output)
        } else {
            feed(rest, output: output)
        }
        return count == room
    }

    /// The maximum number of bytes after an image that are copied: a boundary, and the head of the next part.
    private static let maximumSurplus = 1024

    /// The maximum number of bytes that are received at once: no memory is allocated for a length that is only stated.
    private static let maximumRoom = 1 << 20

    /// The minimum room for receiving when more than one image waits.
    private static let minimumRoomBehind = 128 * 1024

    /// Whether an image begins here and its first two bytes have arrived.
    private func isStart(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state == .body && block.count == 0 && bytes.count >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8
    }

    /// Completes the image in the block if all its bytes have arrived, and parses the bytes after it.
    private mutating func finishReceived(_ length: Int, _ output: (ReceivedPicture) -> Void) {
        let surplus = block.count - length
        guard surplus >= 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: MultipartParser.maximumSurplus, alignment: 1) { copy in
            let rest = UnsafeMutableRawBufferPointer(rebasing: copy[..<surplus])
            rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[length...]))
            block.truncate(to: length)
            finishStated(output)
            feed(UnsafeRawBufferPointer(rest), output: output)
        }
    }
}
