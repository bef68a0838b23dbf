import VideoCapturing

/// Why a server does not serve: the kind, what was being done to what, the system's code, and a sentence for a person.
public struct MJPEGServerError: Error, Sendable, Hashable {
    /// The kinds of failure that a program may want to tell apart.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// A setting is out of range or does not fit the others.
        case invalidConfiguration
        /// Another program listens there.
        case addressInUse
        /// The machine has no such address.
        case addressNotFound
        /// The user may not listen there.
        case permissionDenied
        /// The certificate or its key cannot be used.
        case certificate
        /// The server serves already.
        case invalidState
        /// The operating system refused; see ``MJPEGServerError/systemError``.
        case system
    }

    /// The kind of failure.
    public var code: Code
    /// What was being done, as in `listen`.
    public var operation: String
    /// To what, as in `127.0.0.1:8080`.
    public var subject: String?
    /// The `errno` beneath, when a system call failed.
    public var systemError: Int32?
    /// A sentence for the user, with the next step.
    public var message: String

    public init(_ code: Code, operation: String, subject: String? = nil, errno: Int32? = nil, message: String) {
        self.code = code
        self.operation = operation
        self.subject = subject
        self.systemError = errno
        self.message = message
    }
}

extension MJPEGServerError: CustomStringConvertible {
    /// One line: the subject, the sentence, and in brackets what the system said.
    public var description: String {
        describe(subject: subject, operation: operation, message: message, systemError: systemError)
    }
}
