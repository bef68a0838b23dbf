#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What went wrong with a capture: the kind, what was being done to which device, the system's code
/// beneath, and a sentence that tells a person what to do next.
public struct CaptureError: Error, Sendable, Hashable {
    /// The kinds of failure that a program may want to tell apart.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// A call came out of the order init → (start → stop)* → release.
        case invalidState
        /// A setting is out of range or does not fit the others.
        case invalidConfiguration
        /// There is no such device, file, display or address.
        case deviceNotFound
        /// Another program has the device.
        case deviceBusy
        /// The user may not use the device or file.
        case permissionDenied
        /// The device cannot deliver what was asked.
        case formatUnsupported
        /// The device has gone away.
        case deviceLost
        /// No frame came for longer than the source allows.
        case stalled
        /// The data of a source are damaged.
        case corruptData
        /// There are no more frames.
        case endOfStream
        /// A library or display that is needed is not there.
        case unavailable
        /// The machine has no memory left.
        case outOfMemory
        /// The operating system refused; see ``CaptureError/systemError``.
        case system
    }

    /// The kind of failure.
    public var code: Code
    /// What was being done, as in `open the camera`.
    public var operation: String
    /// To which device or file, as in `/dev/video0`.
    public var subject: String?
    /// The `errno` beneath, when a system call failed.
    public var systemError: Int32?
    /// A sentence for the user, with the next step.
    public var message: String

    /// Names and passwords in URLs (`//user:password@`) are masked in the subject and the message.
    public init(_ code: Code, operation: String, subject: String? = nil, errno: Int32? = nil, message: String) {
        self.code = code
        self.operation = operation
        self.subject = subject.map(maskingUserInfo)
        self.systemError = errno
        self.message = maskingUserInfo(in: message)
    }
}

extension CaptureError: CustomStringConvertible {
    /// One line: the subject, the sentence, and in brackets what the system said.
    public var description: String {
        describe(subject: subject, operation: operation, message: message, systemError: systemError)
    }
}

/// The one shape in which the errors of captures, codecs and files are told to a person:
/// `subject: message (operation: what the system said)`.
package func describe(subject: String?, operation: String, message: String, systemError: Int32?) -> String {
    var text = subject.map { "\($0): " } ?? ""
    text += message
    if let systemError { text += " (\(operation): \(String(cString: strerror(systemError))))" }
    return text
}
