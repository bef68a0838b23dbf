#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension MediaFileError {
    /// The error for a failed system call: the one place where an `errno` becomes a kind and a sentence.
    init(errno code: Int32, operation: String, path: String) {
        let (kind, message) = MediaFileError.explain(code)
        self.init(kind, operation: operation, path: path, errno: code, message: message)
    }

    private static func explain(_ code: Int32) -> (Code, String) {
        switch code {
        case EEXIST: (.fileExists, "The file exists already; choose another name, or allow it to be overwritten.")
        case ENOENT: (.notFound, "There is no such file or folder; check the path.")
        case ENOTDIR: (.notFound, "A part of the path is a file, not a folder; check the path.")
        case EISDIR: (.system, "This is a folder; name a file in it.")
        case EACCES, EPERM:
            (.permissionDenied, "You may not use this file; check its permissions and those of its folder.")
        case EROFS: (.readOnly, "The file system is mounted for reading only; choose another folder.")
        case ENOSPC, EDQUOT: (.noSpace, "The disk is full; free some space or choose another disk.")
        case EFBIG: (.limitExceeded, "The file has reached the size limit; raise `ulimit -f` or start a new file.")
        case EPIPE, ECONNRESET: (.closedPipe, "Nobody reads the output any more; check the program it is piped to.")
        case EMFILE, ENFILE:
            (.limitExceeded, "Too many files are open; close some or raise `ulimit -n`.")
        case EIO: (.system, "The disk or device failed; check it, and the system's log.")
        default: (.system, "The system refused; see the reason in brackets.")
        }
    }
}
