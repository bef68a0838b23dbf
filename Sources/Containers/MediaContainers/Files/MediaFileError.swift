import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An error of reading or writing a media file.
public typealias MediaFileError = MediaError<MediaFileErrorCode>

/// What can fail in reading or writing a media file.
public enum MediaFileErrorCode: String, MediaErrorCode {
    /// The file to be written exists already.
    case fileExists
    /// Another program is recording to the file.
    case fileInUse
    /// There is no such file or folder.
    case notFound
    /// The user may not read or write there.
    case permissionDenied
    /// The file system is mounted for reading only.
    case readOnly
    /// The disk, or the user's share of it, is full.
    case noSpace
    /// The pipe or socket no longer has a reader.
    case closedPipe
    /// The peer of a network output cannot be reached.
    case unreachable
    /// The reader of a pipe has taken nothing for the stall timeout; see ``OutputFile/stallTimeout``.
    case stalled
    /// The data are damaged, or of another format than the name states.
    case corruptData
    /// The format is unknown, or cannot hold or deliver this.
    case formatUnsupported
    /// A size is beyond what the format, the system or this library allows.
    case limitExceeded
    /// A wait for data was interrupted by the caller; nothing is lost, and the same call can be repeated.
    case interrupted
    /// The operating system refused; see `MediaError.systemError`.
    case system

    public var category: ErrorCategory {
        switch self {
        case .fileExists: .usage
        case .fileInUse: .busy
        case .notFound: .notFound
        case .permissionDenied, .readOnly: .noPermission
        case .noSpace: .noSpace
        case .closedPipe, .unreachable, .stalled: .disconnected
        case .corruptData: .invalidData
        case .formatUnsupported: .unsupported
        case .interrupted: .interrupted
        case .limitExceeded, .system: .system
        }
    }
}

extension MediaFileError {
    /// The error for a failed system call: the only mapping from an `errno` to a code and a message.
    package init(errno code: Int32, operation: String, subject: String) {
        let (kind, message) = MediaFileError.explain(code)
        self.init(kind, operation: operation, subject: subject, errno: code, message: message)
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
        case EPIPE, ECONNRESET: (.closedPipe, "The output no longer has a reader; check the program it is piped to.")
        case EMFILE, ENFILE:
            (.limitExceeded, "Too many files are open; close some or raise `ulimit -n`.")
        case EIO: (.system, "The disk or device failed; check it, and the system's log.")
        default: (.system, "The system refused; see the reason in brackets.")
        }
    }
}
