import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file, pipe or socket that is read from front to back. Not thread-safe.
///
/// Small reads are served from one block; large ones go directly to their destination.
public final class InputFile {
    /// The path, or `standard input`.
    public let path: String
    /// Whether the file can be read again from its start: a regular file.
    public let isSeekable: Bool
    /// A descriptor that interrupts waits for a pipe, FIFO or terminal: while `poll` finds it readable, reads that would
    /// block throw `interrupted`. -1 for none; never read or closed here.
    public var interruptDescriptor: Int32 = -1

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let base: Int64
    private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 64)
    /// The part of the block that is read from the file but not yet consumed.
    private var unread = 0..<0
    /// Bytes read from the file, including those in the block.
    private var consumed: Int64 = 0
    @exclusivity(unchecked) private var rereading = Rereading()
    /// The size at the last check.
    private var knownSize: Int64 = 0

    /// Opens a file, or standard input for `-`. Does not wait for the writer of a FIFO: the first read does.
    ///
    /// - Parameter path: the file, or `-`.
    /// - Throws: `MediaFileError` when the file cannot be opened.
    public convenience init(path: String) throws(MediaFileError) {
        guard path != "-" else {
            self.init(descriptor: STDIN_FILENO, name: "standard input", closing: false)
            return
        }
        let descriptor = openFile(path, InputFile.isPipe(path) ? O_RDONLY | O_NONBLOCK : O_RDONLY)
        guard descriptor >= 0 else {
            throw MediaFileError(errno: -descriptor, operation: "open the file", subject: path)
        }
        self.init(descriptor: descriptor, name: path, closing: true)
    }

    /// Whether a file can be read only once: standard input, `-`, or a FIFO, such as one that a shell makes for `<(command)`.
    package static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return path == "-" || stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Reads from an open descriptor, from its current position on.
    ///
    /// - Parameters:
    ///   - descriptor: the file or pipe, open for reading.
    ///   - name: the name in error messages.
    ///   - closing: whether the descriptor is closed when this object is released.
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

    /// The current size of the file in bytes; nil for a pipe.
    public var size: Int64? {
        var status = stat()
        guard isSeekable, fstat(descriptor, &status) == 0 else { return nil }
        return max(0, Int64(status.st_size) - base)
    }

    /// The bytes from the position to the current end of the file; nil for a pipe.
    public var bytesRemaining: Int64? { size.map { max(0, $0 - position) } }

    /// Whether `byteCount` bytes follow, as far as is known; always true of a pipe. The size is checked again only when
    /// it was too small at the last check, so a file that was truncated since is detected by reading it.
    func mayHold(_ byteCount: Int) -> Bool {
        guard isSeekable else { return true }
        let end = position + Int64(byteCount)
        if end > knownSize { knownSize = size ?? 0 }
        return end <= knownSize
    }

    /// Fills `bytes`.
    ///
    /// - Returns: the number of bytes read; fewer than `bytes` holds only at the end of the file.
    public func read(into bytes: UnsafeMutableRawBufferPointer) throws(MediaFileError) -> Int {
        var done = 0
        while done < bytes.count {
            let count = try readAvailable(into: UnsafeMutableRawBufferPointer(rebasing: bytes[done...]))
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads the bytes that are available, waiting for at least one.
    ///
    /// - Returns: the number of bytes; 0 only at the end of the file, or when `bytes` is empty.
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

    /// Skips `count` bytes.
    ///
    /// - Returns: the number of bytes skipped; fewer than `count` only at the end of the file.
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

    /// Runs `body` with the next `count` bytes, or fewer at the end of the file, without consuming them; at
    /// most 64 KiB.
    public func peek<Result>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws(MediaFileError) -> Result
    {
        precondition(count <= block.count)
        while unread.count < count, try fillBlock() {}
        return body(UnsafeRawBufferPointer(rebasing: block[unread].prefix(count)))
    }

    /// The end of a line of text.
    enum LineEnd {
        case newline, endOfFile, tooLong
    }

    /// Consumes one line and runs `body` with it, without its newline. A line longer than `limit` is not consumed,
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

    /// Goes back to the start.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` for a pipe.
    public func rewind() throws(MediaFileError) { try seek(to: 0) }

    /// Sets the position, in bytes from the start; beyond the end there is nothing to read.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` for a pipe.
    public func seek(to offset: Int64) throws(MediaFileError) {
        guard isSeekable else {
            throw MediaFileError(
                .formatUnsupported, operation: "rewind", subject: path,
                message: "A pipe cannot be read twice; save it as a file first.")
        }
        let (target, overflow) = base.addingReportingOverflow(max(0, offset))
        guard !overflow else { throw MediaFileError(errno: EINVAL, operation: "rewind", subject: path) }
        guard lseek(descriptor, off_t(target), SEEK_SET) >= 0 else {
            throw MediaFileError(errno: errno, operation: "rewind", subject: path)
        }
        unread = 0..<0
        consumed = max(0, offset)
    }

    /// For work that goes on for long without a wait, as the search in a file without an index.
    ///
    /// - Throws: `interrupted` when ``interruptDescriptor`` can be read.
    package func checkInterruption() throws(MediaFileError) {
        guard interruptDescriptor >= 0,
            pollInput(-1, interruptedBy: interruptDescriptor, until: .zero).contains(.interrupted)
        else { return }
        throw MediaFileError(
            .interrupted, operation: "read the file", subject: path, message: "The search in the file was ended.")
    }

    /// Marks the position for ``returnToMark()``, in a pipe too: the bytes that are read from a pipe from here on are
    /// kept in memory until the next mark or ``forgetMark()``.
    package func mark() {
        rereading.mark(at: position, unread: UnsafeRawBufferPointer(rebasing: block[unread]), keeping: !isSeekable)
    }

    /// Removes the mark and the bytes that are kept for it.
    package func forgetMark() { rereading.forgetMark() }

    /// Goes back to the mark, which stays.
    package func returnToMark() throws(MediaFileError) {
        guard let mark = rereading.mark else { return }
        if isSeekable { return try seek(to: mark) }
        rereading.returnToMark()
        unread = 0..<0
        consumed = mark
    }

    /// Runs `body`; when a wait in it is interrupted, restores the position, so that `body` can be repeated.
    func whole<Result>(_ body: () throws -> Result) throws -> Result {
        if interruptDescriptor >= 0 { mark() }
        do {
            return try body()
        } catch let error as MediaFileError where error.code == .interrupted {
            try returnToMark()
            throw error
        }
    }

    /// Adds bytes to the block; false at the end of the file. Moves the unread bytes to the front of the block.
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
                    .interrupted, operation: "read the file", subject: path,
                    message: "The wait for data was ended; nothing is lost.")
            }
            guard count >= 0 else {
                throw MediaFileError(errno: Int32(-count), operation: "read the file", subject: path)
            }
        }
        rereading.keep(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        consumed += Int64(count)
        return count
    }
}

private let blockSize = 64 * 1024

/// Replays a pipe from a mark: keeps the bytes that were read since, and returns them again.
private struct Rereading {
    /// The mark in bytes from the start; nil for none.
    private(set) var mark: Int64?

    private var isKeeping = false
    private var kept: [UInt8] = []
    /// The bytes to return again, from `next` on.
    private var again: [UInt8] = []
    private var next = 0

    /// - Parameter unread: the bytes after the mark that are read from the pipe already.
    mutating func mark(at position: Int64, unread: UnsafeRawBufferPointer, keeping: Bool) {
        mark = position
        isKeeping = keeping
        kept.removeAll(keepingCapacity: true)
        if keeping { kept.append(contentsOf: unread) }
    }

    mutating func forgetMark() {
        mark = nil
        isKeeping = false
        kept = []
    }

    mutating func returnToMark() {
        again = kept + again[next...]
        next = 0
        kept.removeAll(keepingCapacity: true)
    }

    /// Records bytes that were read from the pipe.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if isKeeping { kept.append(contentsOf: bytes) }
    }

    /// Returns bytes to read again; 0 without any.
    mutating func take(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(bytes.count, again.count - next)
        guard count > 0 else { return 0 }
        again.withUnsafeBytes { source in
            bytes.baseAddress!.copyMemory(from: source.baseAddress! + next, byteCount: count)
        }
        next += count
        if next == again.count {
            again = []
            next = 0
        }
        return count
    }
}
