import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file of statistics, one JSON object on each line, in addition to the terminal's lines. Used on the main thread.
///
/// It does not wait during the run: a pipe whose reader is slow loses lines, but no parts of them. A line that the pipe
/// had no room for in one piece is completed before the next one.
final class StatisticsFile {
    private let descriptor: Int32
    /// The path, while the file is empty and was made here; nil for others.
    private var emptyFile: String?
    private var hasFailed = false
    /// The end of a line that has begun.
    private var rest: ArraySlice<UInt8> = []

    /// How long the end of the last line may take.
    private static let closeTimeout: Int32 = 500

    /// Creates the file, or opens a pipe or device.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - overwrites: whether an existing file is replaced, which is an error otherwise.
    init(path: String, overwrites: Bool = false) throws(ExitError) {
        let flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        var descriptor = open(path, flags | O_CREAT | (overwrites ? 0 : O_EXCL), 0o644)
        var code = errno
        if descriptor >= 0, !overwrites { emptyFile = path }
        if descriptor < 0, code == EEXIST {
            descriptor = open(path, flags)
            code = errno
            var status = stat()
            if descriptor >= 0, fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT == S_IFREG {
                close(descriptor)
                throw ExitError(
                    .usage,
                    "--stats-file \(path): exists already; add --force to overwrite it, or choose another name.")
            }
        }
        // Fails for anything but a file, which has nothing to lose.
        if descriptor >= 0, overwrites { _ = ftruncate(descriptor, 0) }
        self.descriptor = descriptor
        guard descriptor >= 0 else {
            throw ExitError(
                [EACCES, EPERM, EROFS].contains(code) ? .noPermission : .inputOutput,
                "--stats-file \(path): \(String(cString: strerror(code))); name a file in a folder that you may write to."
            )
        }
    }

    /// Opens a file or pipe to add lines, and creates a file that is not there.
    ///
    /// - Parameter path: the file.
    init(appendingTo path: String) throws(ExitError) {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o644)
        guard descriptor >= 0 else {
            throw ExitError(.inputOutput, "--stats-file \(path): \(String(cString: strerror(errno))).")
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if !rest.isEmpty, !hasFailed, poll(&entry, 1, StatisticsFile.closeTimeout) > 0 { _ = writeRest() }
        close(descriptor)
        // Nothing is left of a run that did not begin.
        if let emptyFile { unlink(emptyFile) }
    }

    /// Writes a line, or drops it where a reader is too slow.
    ///
    /// - Returns: a sentence for the user at the first failure; nil otherwise.
    func write(_ line: String) -> String? {
        guard !hasFailed else { return nil }
        if let failure = writeRest() { return failure }
        guard rest.isEmpty else { return nil }
        let bytes = Array((line + "\n").utf8)
        rest = bytes[...]
        let failure = writeRest()
        // Nothing of it was written.
        if rest.count == bytes.count { rest = [] }
        return failure
    }

    /// Writes what the file takes of the line that has begun.
    private func writeRest() -> String? {
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { writeBytes(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                emptyFile = nil
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            default:
                hasFailed = true
                return "The file of --stats-file takes no more: \(String(cString: strerror(errno)))."
            }
        }
        return nil
    }
}

/// `write(2)`, whose name the method hides.
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
