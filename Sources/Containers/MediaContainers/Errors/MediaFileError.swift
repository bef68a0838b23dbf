import VideoCapturing

/// What went wrong with a media file; of the same shape as `CaptureError`.
public struct MediaFileError: Error, Sendable, Hashable {
    /// The kinds of failure that a program may want to tell apart.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The file to be written exists already.
        case fileExists
        /// There is no such file or folder.
        case notFound
        /// The user may not read or write there.
        case permissionDenied
        /// The file system is mounted for reading only.
        case readOnly
        /// The disk, or the user's share of it, is full.
        case noSpace
        /// Nobody reads the pipe or socket any more.
        case closedPipe
        /// The reader of a pipe has taken nothing for the stall timeout; see ``OutputFile/stallTimeout``.
        case stalled
        /// The data are damaged, or not what the name promises.
        case corruptData
        /// The format is unknown, or cannot hold or deliver this.
        case formatUnsupported
        /// A size is beyond what the format, the system or this library allows.
        case limitExceeded
        /// A wait for data was ended from outside; nothing is lost, and the same call may be made again.
        case interrupted
        /// The operating system refused; see ``MediaFileError/systemError``.
        case system
    }

    /// The kind of failure.
    public var code: Code
    /// What was being done, as in `write the file`.
    public var operation: String
    /// With which file; `standard output` and `standard input` for `-`.
    public var path: String?
    /// The `errno` beneath, when a system call failed.
    public var systemError: Int32?
    /// A sentence for the user, with the next step.
    public var message: String

    /// Names and passwords in URLs (`//user:password@`) are masked in the path and the message.
    public init(_ code: Code, operation: String, path: String? = nil, errno: Int32? = nil, message: String) {
        self.code = code
        self.operation = operation
        self.path = path.map(maskingUserInfo)
        self.systemError = errno
        self.message = maskingUserInfo(in: message)
    }
}

extension MediaFileError: CustomStringConvertible {
    /// One line: the path, the sentence, and in brackets what the system said.
    public var description: String {
        describe(subject: path, operation: operation, message: message, systemError: systemError)
    }
}
