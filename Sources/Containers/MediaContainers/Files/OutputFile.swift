import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file, pipe or socket that is written from front to back, parts of which can be rewritten later.
///
/// ```
/// │ record │ record │ record │ bytes of the open record │
///                            └ endRecord() set this mark; a write that fails cuts the file back to it
/// ```
///
/// Small writes are gathered in one reused block; large ones go directly to the kernel together with it.
/// ``endRecord()`` passes everything to the kernel, so a process that is killed loses at most the open record. The
/// file is not synchronized to the disk (`fsync`).
///
/// A write waits for a pipe whose reader reads nothing, indefinitely unless there is a ``stallTimeout``.
///
/// A pipe without a reader is reported as ``MediaFileErrorCode/closedPipe`` only in a process that ignores
/// `SIGPIPE`; otherwise the signal ends the process.
///
/// Thread-safe, but writes of two threads would interleave: one writer at a time owns a file.
public final class OutputFile: Sendable {
    /// The path, or `standard output`.
    public let path: String
    /// Whether ``patch(_:at:)`` works: a regular file that is not opened for appending.
    public let isSeekable: Bool
    /// Whether a write may have to wait for a reader: a pipe, FIFO, socket or terminal.
    public let waitsForReader: Bool

    private let state: Locked<State>
    /// The file that this object has created; nil for one that existed.
    private let created: FileIdentity?
    private let count = Atomic<Int64>(0)
    /// Separate from the state, which a waiting write keeps locked.
    private let stallLimit = Locked(StallLimit())

    private struct StallLimit {
        var timeout: Duration?
        /// No wait ends earlier than a timeout after it was set.
        var start = MediaTime.zero
    }

    private struct State: ~Copyable {
        /// Below zero once closed.
        var descriptor: Int32
        var target: WriteTarget
        let ownsDescriptor: Bool
        /// The offset of our first byte in the file: not 0 when a shell has written before us.
        let base: Int64
        let block: UnsafeMutableRawBufferPointer
        var fill = 0
        /// The end of the last complete record.
        var boundary: Int64 = 0
        /// The first failure; every later write throws it again.
        var failure: MediaFileError?

        init(_ target: consuming WriteTarget, descriptor: Int32, ownsDescriptor: Bool, base: Int64) {
            self.descriptor = descriptor
            self.ownsDescriptor = ownsDescriptor
            self.base = base
            self.target = target
            block = .allocate(byteCount: blockSize, alignment: 64)
        }

        deinit { block.deallocate() }
    }

    /// Creates a file, or opens standard output for `-`.
    ///
    /// An existing file is an error unless `overwrite` is true; an existing pipe or device is written to, since that
    /// destroys nothing. A file that another process is recording to is left to it: it is locked while it is written
    /// (`F_SETLK`). Waits for the reader of a FIFO.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether an existing file is truncated.
    ///   - isWanted: called 50 times per second while a FIFO has no reader; false ends the wait.
    /// - Throws: `interrupted` when the wait for a reader was ended, `fileInUse` when the file is being written; another
    ///   `MediaFileError` when it cannot be created.
    public convenience init(
        path: String, overwrite: Bool = false, isWanted: () -> Bool = { true }
    ) throws(MediaFileError) {
        guard path != "-" else {
            self.init(descriptor: STDOUT_FILENO, name: "standard output", closing: false)
            return
        }
        let (descriptor, isNew) = try OutputFile.open(path, overwrite: overwrite, isWanted)
        self.init(descriptor: descriptor, name: path, closing: true, isNew: isNew)
    }

    /// Writes to an open descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: the file or pipe, open for writing.
    ///   - name: the name in error messages.
    ///   - closing: whether ``close()`` closes the descriptor; if not, a failed write does not truncate the file
    ///     either.
    public convenience init(descriptor: Int32, name: String, closing: Bool) {
        self.init(descriptor: descriptor, name: name, closing: closing, isNew: false)
    }

    private init(descriptor: Int32, name: String, closing: Bool, isNew: Bool) {
        var status = stat()
        let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        created = isNew && isRegular ? FileIdentity(status) : nil
        let position = isRegular ? lseek(descriptor, 0, SEEK_CUR) : -1
        path = name
        isSeekable = position >= 0 && !isAppending(descriptor)
        let target = WriteTarget(descriptor)
        waitsForReader = target.waitsForReader
        state = Locked(State(target, descriptor: descriptor, ownsDescriptor: closing, base: max(0, Int64(position))))
    }

    deinit { try? close() }

    /// The bytes written so far, including those still in the block; after a failure the bytes of complete records.
    /// Never waits for a slow disk or pipe.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    /// The failure that ended the writing, if there was one.
    public var failure: MediaFileError? { state.withLock { $0.failure } }

    /// How long a reader may read nothing before a write throws `stalled`; nil, the default, for indefinitely. For a write
    /// that waits already the time counts from this assignment, so that a program that exits can abandon it. A slow reader
    /// that reads some bytes is always waited for. Only where ``waitsForReader``: writes to a disk have no timeout.
    public var stallTimeout: Duration? {
        get { stallLimit.withLock { $0.timeout } }
        set {
            stallLimit.withLock { limit in
                limit = StallLimit(timeout: newValue, start: MonotonicClock().now)
            }
        }
    }

    /// Appends bytes.
    ///
    /// - Throws: `MediaFileError`; after a failure every write throws the first one again.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(MediaFileError) {
        try state.withLock { (state) throws(MediaFileError) in
            try checkUsable(&state)
            count.wrappingAdd(Int64(bytes.count), ordering: .relaxed)
            if bytes.count >= directSize {
                try hand(over: &state, and: bytes)
                return
            }
            if bytes.count > state.block.count - state.fill {
                try hand(over: &state, and: UnsafeRawBufferPointer(start: nil, count: 0))
            }
            guard let source = bytes.baseAddress else { return }
            state.block.baseAddress!.advanced(by: state.fill).copyMemory(from: source, byteCount: bytes.count)
            state.fill += bytes.count
        }
    }

    /// Passes all bytes to the kernel and completes the record: when a later write fails, a file that this object owns is
    /// truncated to the last complete record.
    public func endRecord() throws(MediaFileError) {
        try state.withLock { (state) throws(MediaFileError) in
            try checkUsable(&state)
            try hand(over: &state, and: UnsafeRawBufferPointer(start: nil, count: 0))
            state.boundary = bytesWritten
        }
    }

    /// Rewrites bytes of complete records. Only when ``isSeekable``; also after a failed write, as long as the file is
    /// open.
    ///
    /// - Parameters:
    ///   - bytes: the new bytes.
    ///   - offset: the position of the first one, in bytes from the first byte that was written here.
    public func patch(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(MediaFileError) {
        precondition(isSeekable, "a pipe cannot be patched")
        try state.withLock { (state) throws(MediaFileError) in
            precondition(
                offset >= 0 && offset + Int64(bytes.count) <= state.boundary, "a patch lies within whole records")
            guard state.descriptor >= 0 else { throw closedError }
            let code = writeAll(state.descriptor, bytes, at: state.base + offset)
            guard code == 0 else { throw MediaFileError(errno: code, operation: "rewrite a header", subject: path) }
        }
    }

    /// Passes everything to the kernel and closes the file; later calls do nothing.
    ///
    /// - Throws: `MediaFileError` when the last bytes could not be written; the descriptor is closed nevertheless.
    public func close() throws(MediaFileError) {
        try state.withLock { (state) throws(MediaFileError) in
            guard state.descriptor >= 0 else { return }
            if state.failure == nil {
                do throws(MediaFileError) {
                    try hand(over: &state, and: UnsafeRawBufferPointer(start: nil, count: 0))
                } catch {}
            }
            // Linux frees the descriptor even when close is interrupted: never again.
            if state.ownsDescriptor, closeDescriptor(state.descriptor) != 0, errno != EINTR, state.failure == nil {
                state.failure = MediaFileError(errno: errno, operation: "close the file", subject: path)
            }
            state.descriptor = -1
            state.target.close()
            if let failure = state.failure { throw failure }
        }
    }

    /// Removes the file, when this object has created it and it still has its name.
    ///
    /// - Returns: whether it was removed.
    @discardableResult
    package func removeIfCreated() -> Bool {
        var status = stat()
        guard let created, lstat(path, &status) == 0, FileIdentity(status) == created else { return false }
        return unlink(path) == 0
    }

    /// Writes the block and `bytes` after it.
    private func hand(over state: inout State, and bytes: UnsafeRawBufferPointer) throws(MediaFileError) {
        let block = UnsafeRawBufferPointer(start: state.block.baseAddress, count: state.fill)
        let result = state.target.write(block, bytes, isGivenUp: isStalled)
        state.fill = 0
        guard result.code != 0 else { return }
        let failure =
            result.code == ETIMEDOUT
            ? stalled(unwritten: block.count + bytes.count - result.written)
            : MediaFileError(errno: result.code, operation: "write", subject: path)
        state.failure = failure
        // An unknown part of the incomplete record has been written: it no longer counts, and is truncated where the
        // file is our own. Where it cannot be, players stop at the incomplete record.
        count.store(state.boundary, ordering: .relaxed)
        if isSeekable, state.ownsDescriptor {
            _ = ftruncate(state.descriptor, off_t(state.base + state.boundary))
        }
        throw failure
    }

    /// Whether the wait for a reader that has read nothing since then has timed out.
    private func isStalled(since start: MediaTime) -> Bool {
        stallLimit.withLock { limit in
            guard let timeout = limit.timeout else { return false }
            return MonotonicClock().now - max(start, limit.start) >= timeout
        }
    }

    private func stalled(unwritten: Int) -> MediaFileError {
        MediaFileError(
            .stalled, operation: "write", subject: path,
            message: "The reader has taken nothing for \(stallTimeout ?? .zero); \(unwritten) bytes, and what follows, "
                + "were not written. Check the program that reads it.")
    }

    private func checkUsable(_ state: inout State) throws(MediaFileError) {
        if let failure = state.failure { throw failure }
        if state.descriptor < 0 { throw closedError }
    }

    private var closedError: MediaFileError {
        MediaFileError(.system, operation: "write", subject: path, message: "The file is closed; open it again.")
    }
}

extension OutputFile {
    private static let operation = "make the file"

    private static func open(
        _ path: String, overwrite: Bool, _ isWanted: () -> Bool
    ) throws(MediaFileError) -> (descriptor: Int32, isNew: Bool) {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO { return (try openFIFO(path, isWanted), false) }
        var descriptor = openFile(path, O_WRONLY | O_CREAT | O_EXCL)
        let isNew = descriptor >= 0
        if descriptor == -EEXIST, overwrite { descriptor = openFile(path, O_WRONLY | O_CREAT) }
        if descriptor >= 0 {
            do throws(MediaFileError) { try claim(descriptor, path, empties: !isNew) } catch {
                _ = closeDescriptor(descriptor)
                throw error
            }
            return (descriptor, isNew)
        }
        guard descriptor == -EEXIST else {
            throw MediaFileError(errno: -descriptor, operation: operation, subject: path)
        }
        // Neither created nor truncated, so that a regular file that has replaced it meanwhile stays unchanged.
        let existing = openFile(path, O_WRONLY)
        if existing >= 0, fstat(existing, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return (existing, false) }
        if existing >= 0 { _ = closeDescriptor(existing) }
        throw MediaFileError(errno: existing == -EISDIR ? EISDIR : EEXIST, operation: operation, subject: path)
    }

    /// Locks a regular file against other processes until it is closed, and removes its content if wanted.
    private static func claim(_ descriptor: Int32, _ path: String, empties: Bool) throws(MediaFileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        // File systems that have no locks are written to as they are.
        if fcntl(descriptor, F_SETLK, &lock) != 0, errno == EAGAIN || errno == EACCES {
            throw MediaFileError(
                .fileInUse, operation: operation, subject: path, errno: errno,
                message: "Another program is recording to this file; wait until it has ended, or choose another name.")
        }
        if empties, ftruncate(descriptor, 0) != 0 {
            throw MediaFileError(errno: errno, operation: operation, subject: path)
        }
    }

    /// Without blocking, which only a signal could end. There is no event for the arrival of a reader.
    private static func openFIFO(_ path: String, _ isWanted: () -> Bool) throws(MediaFileError) -> Int32 {
        while isWanted() {
            let descriptor = openFile(path, O_WRONLY | O_NONBLOCK)
            if descriptor >= 0 { return descriptor }
            guard descriptor == -ENXIO else {
                throw MediaFileError(errno: -descriptor, operation: operation, subject: path)
            }
            usleep(20_000)
        }
        throw MediaFileError(
            .interrupted, operation: operation, subject: path, message: "The wait for a reader was ended.")
    }
}

/// The file behind a name.
private struct FileIdentity: Equatable {
    private let device: dev_t
    private let inode: ino_t

    init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
    }
}

/// The size of the block: some rows of a frame or many small packets for one system call.
private let blockSize = 256 * 1024
/// From this size on a copy costs more than a second entry in the `iovec` list.
private let directSize = 32 * 1024
