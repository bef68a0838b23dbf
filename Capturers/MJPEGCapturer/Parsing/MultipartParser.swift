/// Takes the bytes of a body and gives the JPEG pictures in it, each when its own last byte has come.
///
/// Made for what servers send, not for what RFC 2046 says. A stated length is believed once it has been right, and
/// checked each time; what has none, or a wrong one, ends where the JPEG's structure ends. After damage the next boundary
/// is looked for, and where a stream has none, the next JPEG.
///
/// A value; not to be copied in the midst of a stream, since the bytes of the picture under way are shared then.
struct MultipartParser {
    /// What the head of the body says that it is.
    enum Content {
        /// Parts, with this boundary between them as far as is known.
        case parts(boundary: [UInt8]?)
        /// One picture, of so many bytes as far as is known.
        case picture(length: Int?)
    }

    enum State: Hashable {
        /// Between two parts.
        case lines
        case head
        case body
        /// All bytes of a stated length are there, but the picture has no end: what follows tells what is wrong.
        case afterLength
        case ended
    }

    /// uStreamer's rule: what has fewer bytes is no picture.
    static let fewestBytes = 125
    /// What is kept of a line.
    static let longestLine = 4096

    var state: State
    /// What was left out since the last picture.
    var losses = StreamLosses()
    /// Whether the server has said that the stream ends here.
    var hasEnded: Bool { state == .ended }

    let maximumFrameBytes: Int
    let pool: JPEGBlockPool

    // Lines and heads.
    var boundary: PartBoundary
    var line: [UInt8] = []
    var head = PartHead()
    /// In the midst of a damaged part, whose bytes are not to be taken for anything but the boundary.
    var awaitsBoundary = false
    var bytesWithoutBoundary = 0
    /// Whether the damage that is being got over has been counted.
    var isRecovering = false

    // The body.
    var block: JPEGBlock
    var scanner = JPEGScanner()
    var trust = LengthTrust()
    /// What followed a stated length.
    var tail: [UInt8] = []
    /// What is received of which it is not known yet what it is; see ``receive(_:output:)``.
    var incoming = JPEGBlock()
    /// Whether the last receipt filled its memory, beyond a picture's end or before it was known where that is.
    var isBehind = false
    /// How long the last picture was; before the first, what is enough for most.
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

    /// Takes what has come, and hands each picture that is whole now to `output`.
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

    /// No more bytes will come: what is under way is delivered if it is whole, or else lost.
    mutating func finish(output: (ReceivedPicture) -> Void) {
        switch state {
        case .body where block.count > 0, .afterLength:
            if MultipartParser.isWhole(block.bytes) { deliver(output) } else { noteDamage() }
        default: break
        }
        state = .ended
    }

    /// Gives the memory back that no picture was made of.
    mutating func discard() {
        pool.giveBack(block)
        block = JPEGBlock()
        state = .ended
    }

    /// The losses that no picture has carried yet.
    mutating func takeLosses() -> StreamLosses {
        defer { losses = StreamLosses() }
        return losses
    }

    // MARK: - Damage

    /// Leaves out what is under way, and looks for the next part.
    mutating func recover() {
        noteDamage()
        beginPicture()
        line.removeAll(keepingCapacity: true)
        state = .lines
        awaitsBoundary = boundary.isProven
        bytesWithoutBoundary = 0
    }

    /// Once for each run of damaged bytes.
    mutating func noteDamage() {
        if !isRecovering { losses.damaged &+= 1 }
        isRecovering = true
    }

    /// Whether the bytes are a picture: they begin with SOI and end with EOI, maybe with zeros behind it, as hardware
    /// encoders pad, or line ends that were counted as the picture's own.
    ///
    /// uStreamer takes two zeros for an end without looking for the EOI before them; tables have such zeros too.
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
