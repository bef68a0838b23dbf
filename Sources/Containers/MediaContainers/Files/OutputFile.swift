import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file, pipe or socket that is written from front to back, with places that may be rewritten later.
///
/// ```
/// │ record │ record │ record │ bytes of the open record │
///                            └ endRecord() set this mark; a write that fails cuts the file back to it
/// ```
///
/// Small writes are gathered in one block that is used again and again; large ones go straight to the
/// kernel together with it. ``endRecord()`` hands everything to the kernel, so a process that is killed
/// loses at most the open record. Nothing is forced to the disk itself.
///
/// A pipe whose reader takes nothing is waited for, indefinitely unless there is a ``stallTimeout``.
///
/// A pipe without a reader is reported as ``MediaFileError/Code/closedPipe`` only in a process that ignores
/// `SIGPIPE`; otherwise the signal ends the process.
///
/// Safe to use from any thread, but writes of two threads would mix: one writer at a time owns a file.
public final class OutputFile: Sendable {
    /// The path, or `standard output`.
    public let path: String
    /// Whether ``patch(_:at:)`` works: a regular file that is not opened for appending.
    public let isSeekable: Bool
    /// Whether a write may have to wait for a reader: a pipe, FIFO, socket or terminal.
    public let waitsForReader: Bool

    private let state: Locked<State>
    private let count = Atomic<Int64>(0)
    /// Apart from the state, which is locked by a write that waits.
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
        /// Where in the file our first byte is: not at 0 when a shell has written before us.
        let base: Int64
        let block: UnsafeMutableRawBufferPointer
        var fill = 0
        /// How much of the output is whole records.
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

    /// Makes a file, or takes standard output for `-`.
    ///
    /// A file that exists is an error unless `overwrite` is true; a pipe or a device that exists is written
    /// to, since that destroys nothing. Waits for the reader of a FIFO.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether a file that exists is emptied.
    ///   - isWanted: asked 50 times per second while a FIFO has no reader; false ends the wait.
    /// - Throws: `interrupted` when the wait for a reader was ended; other `MediaFileError` when the file cannot be made.
    public convenience init(
        path: String, overwrite: Bool = false, isWanted: () -> Bool = { true }
    ) throws(MediaFileError) {
        guard path != "-" else {
            self.init(descriptor: STDOUT_FILENO, name: "standard output", closing: false)
            return
        }
        self.init(descriptor: try OutputFile.open(path, overwrite: overwrite, isWanted), name: path, closing: true)
    }

    /// Writes to a descriptor that is open already.
    ///
    /// - Parameters:
    ///   - descriptor: the file or pipe, open for writing.
    ///   - name: what error messages call it.
    ///   - closing: whether ``close()`` closes the descriptor; without it a failed write does not shorten
    ///     the file either.
    public init(descriptor: Int32, name: String, closing: Bool) {
        var status = stat()
        let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        let position = isRegular ? lseek(descriptor, 0, SEEK_CUR) : -1
        path = name
        isSeekable = position >= 0 && !isAppending(descriptor)
        let target = WriteTarget(descriptor)
        waitsForReader = target.waitsForReader
        state = Locked(State(target, descriptor: descriptor, ownsDescriptor: closing, base: max(0, Int64(position))))
    }

    deinit { try? close() }

    /// The bytes written so far, those still in the block included; after a failure the bytes of whole records.
    /// Never waits for a slow disk or pipe.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    /// The failure that ended the writing, if there was one.
    public var failure: MediaFileError? { state.withLock { $0.failure } }

    /// How long a reader may take nothing before a write throws `stalled`; nil, the default, for indefinitely. Counts
    /// from now on for a write that waits already; so a program that ends can give it up. A reader that is slow but takes
    /// some bytes is always waited for. Only where ``waitsForReader``: no disk is given up.
    public var stallTimeout: Duration? {
        get { stallLimit.withLock { $0.timeout } }
        set {
            stallLimit.withLock { limit in
                limit = StallLimit(timeout: newValue, start: MonotonicClock().now)
            }
        }
    }

    /// Adds bytes at the end.
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

    /// Hands all bytes to the kernel, and marks this as a place where the file may end: when a later write
    /// fails, a file of our own is cut back to it.
    public func endRecord() throws(MediaFileError) {
        try state.withLock { (state) throws(MediaFileError) in
            try checkUsable(&state)
            try hand(over: &state, and: UnsafeRawBufferPointer(start: nil, count: 0))
            state.boundary = bytesWritten
        }
    }

    /// Rewrites bytes that lie before the last ``endRecord()``, `offset` bytes from our first one. Only when
    /// ``isSeekable``; also after a failed write, as long as the file is open.
    public func patch(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(MediaFileError) {
        precondition(isSeekable, "a pipe cannot be patched")
        try state.withLock { (state) throws(MediaFileError) in
            precondition(
                offset >= 0 && offset + Int64(bytes.count) <= state.boundary, "a patch lies within whole records")
            guard state.descriptor >= 0 else { throw closedError }
            let code = writeAll(state.descriptor, bytes, at: state.base + offset)
            guard code == 0 else { throw MediaFileError(errno: code, operation: "rewrite a header", path: path) }
        }
    }

    /// Hands everything to the kernel and closes; later calls do nothing. Throws what the last bytes met
    /// with; the descriptor is closed nevertheless.
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
                state.failure = MediaFileError(errno: errno, operation: "close the file", path: path)
            }
            state.descriptor = -1
            state.target.close()
            if let failure = state.failure { throw failure }
        }
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
            : MediaFileError(errno: result.code, operation: "write", path: path)
        state.failure = failure
        // Of what is not a whole record, an unknown part has gone out: it no longer counts, and is cut off
        // where that harms nobody else. If it cannot be, players stop at the incomplete record.
        count.store(state.boundary, ordering: .relaxed)
        if isSeekable, state.ownsDescriptor {
            _ = ftruncate(state.descriptor, off_t(state.base + state.boundary))
        }
        throw failure
    }

    /// Whether a reader that has taken nothing since then is given up.
    private func isStalled(since start: MediaTime) -> Bool {
        stallLimit.withLock { limit in
            guard let timeout = limit.timeout else { return false }
            return MonotonicClock().now - max(start, limit.start) >= timeout
        }
    }

    private func stalled(unwritten: Int) -> MediaFileError {
        MediaFileError(
            .stalled, operation: "write", path: path,
            message: "The reader has taken nothing for \(stallTimeout ?? .zero); \(unwritten) bytes, and what follows, "
                + "were not written. Check the program that reads it.")
    }

    private func checkUsable(_ state: inout State) throws(MediaFileError) {
        if let failure = state.failure { throw failure }
        if state.descriptor < 0 { throw closedError }
    }

    private var closedError: MediaFileError {
        MediaFileError(.system, operation: "write", path: path, message: "The file is closed; open it again.")
    }
}

extension OutputFile {
    private static let operation = "make the file"

    private static func open(
        _ path: String, overwrite: Bool, _ isWanted: () -> Bool
    ) throws(MediaFileError) -> Int32 {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO { return try openFIFO(path, isWanted) }
        let mode = overwrite ? O_TRUNC : O_EXCL
        let descriptor = openFile(path, O_WRONLY | O_CREAT | mode)
        if descriptor >= 0 { return descriptor }
        guard descriptor == -EEXIST else { throw MediaFileError(errno: -descriptor, operation: operation, path: path) }
        // Neither made nor emptied, so that a regular file that takes the place meanwhile stays unharmed.
        let existing = openFile(path, O_WRONLY)
        if existing >= 0, fstat(existing, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return existing }
        if existing >= 0 { _ = closeDescriptor(existing) }
        throw MediaFileError(errno: existing == -EISDIR ? EISDIR : EEXIST, operation: operation, path: path)
    }

    /// Without blocking, which nothing but a signal could end. No event tells that a reader has come.
    private static func openFIFO(_ path: String, _ isWanted: () -> Bool) throws(MediaFileError) -> Int32 {
        while isWanted() {
            let descriptor = openFile(path, O_WRONLY | O_NONBLOCK)
            if descriptor >= 0 { return descriptor }
            guard descriptor == -ENXIO else {
                throw MediaFileError(errno: -descriptor, operation: operation, path: path)
            }
            usleep(20_000)
        }
        throw MediaFileError(
            .interrupted, operation: operation, path: path, message: "The wait for a reader was ended.")
    }
}

/// The size of the block: some rows of a picture or many small packets for one system call.
private let blockSize = 256 * 1024
/// From this size on a copy costs more than a second entry in the kernel's list.
private let directSize = 32 * 1024
