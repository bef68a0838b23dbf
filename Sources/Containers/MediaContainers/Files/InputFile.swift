#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file, pipe or socket that is read from front to back. Not to be used from two threads at once.
///
/// Small reads come from one block; large ones go straight to where they are wanted.
public final class InputFile {
    /// The path, or `standard input`.
    public let path: String
    /// Whether the file can be read again from its start: a regular file.
    public let isSeekable: Bool
    /// A descriptor that ends a wait for a pipe, FIFO or terminal: while `poll` finds it readable, reads that would
    /// have to wait throw `interrupted`. -1 for none; never read or closed here.
    public var interruptDescriptor: Int32 = -1

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let base: Int64
    private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 64)
    /// The part of the block that is read from the file but not yet taken.
    private var unread = 0..<0
    /// Bytes taken from the file, those in the block included.
    private var consumed: Int64 = 0
    @exclusivity(unchecked) private var rereading = Rereading()
    /// The size when it was last asked for.
    private var knownSize: Int64 = 0

    /// Opens a file, or takes standard input for `-`. Does not wait for the writer of a FIFO: the first read does.
    public convenience init(path: String) throws(MediaFileError) {
        guard path != "-" else {
            self.init(descriptor: STDIN_FILENO, name: "standard input", closing: false)
            return
        }
        var status = stat()
        let isFIFO = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
        let descriptor = openFile(path, isFIFO ? O_RDONLY | O_NONBLOCK : O_RDONLY)
        guard descriptor >= 0 else {
            throw MediaFileError(errno: -descriptor, operation: "open the file", path: path)
        }
        self.init(descriptor: descriptor, name: path, closing: true)
    }

    /// Reads from a descriptor that is open already, from its present position on.
    ///
    /// - Parameters:
    ///   - descriptor: the file or pipe, open for reading.
    ///   - name: what error messages call it.
    ///   - closing: whether the descriptor is closed when the last reference goes.
    public init(descriptor: Int32, name: String, closing: Bool) {
        var status = stat()
        let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        let position = isRegular ? lseek(descriptor, 0, SEEK_CUR) : -1
        path = name
        isSeekable = position >= 0
        base = max(0, Int64(position))
        self.descriptor = descriptor
        ownsDescriptor = closing
    }

    deinit {
        block.deallocate()
        if ownsDescriptor { close(descriptor) }
    }

    /// The number of bytes before the next one that is read.
    public var position: Int64 { consumed - Int64(unread.count) }

    /// The bytes from the first to the end of the file as it is now; nil for a pipe.
    public var size: Int64? {
        var status = stat()
        guard isSeekable, fstat(descriptor, &status) == 0 else { return nil }
        return max(0, Int64(status.st_size) - base)
    }

    /// The bytes from here to the end of the file as it is now; nil for a pipe.
    public var bytesRemaining: Int64? { size.map { max(0, $0 - position) } }

    /// Whether `byteCount` bytes follow, as far as is known; always true of a pipe. The system is asked only when the file
    /// was too short for that the last time, so one that has been cut since is found out by reading it.
    func mayHold(_ byteCount: Int) -> Bool {
        guard isSeekable else { return true }
        let end = position + Int64(byteCount)
        if end > knownSize { knownSize = size ?? 0 }
        return end <= knownSize
    }

    /// Fills `bytes`. Returns how many bytes there were; fewer than asked only at the end of the file.
    public func read(into bytes: UnsafeMutableRawBufferPointer) throws(MediaFileError) -> Int {
        var done = 0
        while done < bytes.count {
            let count = try readAvailable(into: UnsafeMutableRawBufferPointer(rebasing: bytes[done...]))
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Gives what there is, without waiting for more than one byte. Returns the number of bytes; 0 only at the end
    /// of the file, or when `bytes` is empty.
    public func readAvailable(into bytes: UnsafeMutableRawBufferPointer) throws(MediaFileError) -> Int {
        guard let destination = bytes.baseAddress, !bytes.isEmpty else { return 0 }
        if unread.isEmpty {
            if bytes.count >= block.count { return try take(into: bytes) }
            if try !fillBlock() { return 0 }
        }
        let count = min(unread.count, bytes.count)
        destination.copyMemory(from: block.baseAddress! + unread.lowerBound, byteCount: count)
        unread.removeFirst(count)
        return count
    }

    /// Passes over `count` bytes. Returns how many there were.
    public func skip(_ count: Int) throws(MediaFileError) -> Int {
        if isSeekable, count - unread.count > block.count, let rest = bytesRemaining {
            let step = Int(min(Int64(count), rest))
            try seek(to: position + Int64(step))
            return step
        }
        var done = 0
        while done < count {
            if unread.isEmpty, try !fillBlock() { break }
            let step = min(unread.count, count - done)
            unread.removeFirst(step)
            done += step
        }
        return done
    }

    /// Runs `body` with the next `count` bytes, or fewer at the end of the file, without taking them; at
    /// most 64 KiB.
    public func peek<Result>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws(MediaFileError) -> Result
    {
        precondition(count <= block.count)
        while unread.count < count, try fillBlock() {}
        return body(UnsafeRawBufferPointer(rebasing: block[unread].prefix(count)))
    }

    /// How a line of text ended.
    enum LineEnd {
        case newline, endOfFile, tooLong
    }

    /// Takes one line and runs `body` with it, without its newline. A line longer than `limit` is not taken,
    /// and `body` gets its beginning.
    func readLine<Result>(
        limit: Int, _ body: (UnsafeRawBufferPointer, LineEnd) throws(MediaFileError) -> Result
    ) throws(MediaFileError) -> Result {
        precondition(limit < block.count)
        var searched = 0
        while true {
            let bytes = UnsafeRawBufferPointer(rebasing: block[unread])
            if let newline = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")), newline <= limit {
                unread.removeFirst(newline + 1)
                return try body(UnsafeRawBufferPointer(rebasing: bytes[..<newline]), .newline)
            }
            if bytes.count > limit { return try body(bytes, .tooLong) }
            searched = bytes.count
            if try !fillBlock() {
                let rest = UnsafeRawBufferPointer(rebasing: block[unread])
                unread = 0..<0
                return try body(rest, .endOfFile)
            }
        }
    }

    /// Goes back to the start. Throws `formatUnsupported` for a pipe.
    public func rewind() throws(MediaFileError) { try seek(to: 0) }

    /// Goes to a place, counted in bytes from the start; beyond the end there is nothing to read. Throws
    /// `formatUnsupported` for a pipe.
    public func seek(to offset: Int64) throws(MediaFileError) {
        guard isSeekable else {
            throw MediaFileError(
                .formatUnsupported, operation: "rewind", path: path,
                message: "A pipe cannot be read twice; save it as a file first.")
        }
        guard lseek(descriptor, off_t(base + max(0, offset)), SEEK_SET) >= 0 else {
            throw MediaFileError(errno: errno, operation: "rewind", path: path)
        }
        unread = 0..<0
        consumed = max(0, offset)
    }

    /// Notes the place, so that ``returnToMark()`` can go back to it, in a pipe too. Of a pipe, what is read from here
    /// on is kept in memory until the next mark or ``forgetMark()``.
    package func mark() {
        rereading.mark(at: position, unread: UnsafeRawBufferPointer(rebasing: block[unread]), keeping: !isSeekable)
    }

    /// Ends the keeping of what is read.
    package func forgetMark() { rereading.forgetMark() }

    /// Goes back to the mark, which stays.
    package func returnToMark() throws(MediaFileError) {
        guard let mark = rereading.mark else { return }
        if isSeekable { return try seek(to: mark) }
        rereading.returnToMark()
        unread = 0..<0
        consumed = mark
    }

    /// Runs `body`; when a wait in it is interrupted, goes back to where it began, so that it can be done again.
    func whole<Result>(_ body: () throws -> Result) throws -> Result {
        if interruptDescriptor >= 0 { mark() }
        do {
            return try body()
        } catch let error as MediaFileError where error.code == .interrupted {
            try returnToMark()
            throw error
        }
    }

    /// Adds bytes to the block; false at the end of the file. Moves what is unread to the block's front.
    private func fillBlock() throws(MediaFileError) -> Bool {
        if unread.lowerBound > 0 {
            block.baseAddress!.copyMemory(from: block.baseAddress! + unread.lowerBound, byteCount: unread.count)
            unread = 0..<unread.count
        }
        let count = try take(into: UnsafeMutableRawBufferPointer(rebasing: block[unread.upperBound...]))
        unread = 0..<unread.upperBound + count
        return count > 0
    }

    private func take(into bytes: UnsafeMutableRawBufferPointer) throws(MediaFileError) -> Int {
        var count = rereading.take(into: bytes)
        if count == 0 {
            count = readSome(descriptor, into: bytes, isRegular: isSeekable, interrupt: interruptDescriptor)
            if count == -Int(ECANCELED) {
                throw MediaFileError(
                    .interrupted, operation: "read the file", path: path,
                    message: "The wait for data was ended; nothing is lost.")
            }
            guard count >= 0 else {
                throw MediaFileError(errno: Int32(-count), operation: "read the file", path: path)
            }
        }
        rereading.keep(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        consumed += Int64(count)
        return count
    }
}

private let blockSize = 64 * 1024
