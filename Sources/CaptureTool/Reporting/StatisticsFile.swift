import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file of statistics, one JSON object on each line, beside what the terminal shows. Used on the main thread.
///
/// It never waits: a pipe whose reader is slow loses lines rather than holding up the run.
final class StatisticsFile {
    private let descriptor: Int32
    private var hasFailed = false

    /// Creates or replaces the file.
    init(path: String) throws(ExitError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o644)
        guard descriptor >= 0 else {
            let code = errno
            throw ExitError(
                [EACCES, EPERM, EROFS].contains(code) ? .noPermission : .inputOutput,
                "--stats-file \(path): \(String(cString: strerror(code))); name a file in a folder that you may write to."
            )
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Writes a line.
    ///
    /// - Returns: a sentence for the user at the first failure; nil otherwise.
    func write(_ line: String) -> String? {
        guard !hasFailed else { return nil }
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { writeBytes(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
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
