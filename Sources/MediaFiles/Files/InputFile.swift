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

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let base: Int64
    private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 64)
    /// The part of the block that is read from the file but not yet taken.
    private var unread = 0..<0
    /// Bytes taken from the file by system calls, those in the block included.
    private var consumed: Int64 = 0

    /// Opens a file, or takes standard input for `-`.
    public convenience init(path: String) throws(MediaFileError) {
        guard path != "-" else {
            self.init(descriptor: STDIN_FILENO, name: "standard input", closing: false)
            return
        }
        let descriptor = openFile(path, O_RDONLY)
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

    /// The bytes from here to the end of the file as it is now; nil for a pipe.
    public var bytesRemaining: Int64? {
        var status = stat()
        guard isSeekable, fstat(descriptor, &status) == 0 else { return nil }
        return max(0, Int64(status.st_size) - base - consumed) + Int64(unread.count)
    }

    /// Fills `bytes`. Returns how many bytes there were; fewer than asked only at the end of the file.
    public func read(into bytes: UnsafeMutableRawBufferPointer) throws(MediaFileError) -> Int {
        var done = 0
        while done < bytes.count {
            if unread.isEmpty {
                if bytes.count - done >= block.count {
                    let count = try take(into: UnsafeMutableRawBufferPointer(rebasing: bytes[done...]))
                    if count == 0 { break }
                    done += count
                    continue
                }
                if try !fillBlock() { break }
            }
            let count = min(unread.count, bytes.count - done)
            (bytes.baseAddress! + done).copyMemory(from: block.baseAddress! + unread.lowerBound, byteCount: count)
            unread.removeFirst(count)
            done += count
        }
        return done
    }

    /// Passes over `count` bytes. Returns how many there were.
    public func skip(_ count: Int) throws(MediaFileError) -> Int {
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
    public func rewind() throws(MediaFileError) {
        guard isSeekable else {
            throw MediaFileError(
                .formatUnsupported, operation: "rewind", path: path,
                message: "A pipe cannot be read twice; save it as a file first.")
        }
        guard lseek(descriptor, off_t(base), SEEK_SET) >= 0 else {
            throw MediaFileError(errno: errno, operation: "rewind", path: path)
        }
        unread = 0..<0
        consumed = 0
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
        let count = readSome(descriptor, into: bytes)
        guard count >= 0 else {
            throw MediaFileError(errno: Int32(-count), operation: "read the file", path: path)
        }
        consumed += Int64(count)
        return count
    }
}

private let blockSize = 64 * 1024
