/// What went wrong in an encoder or decoder; of the same shape as ``CaptureError``.
public struct CodecError: Error, Sendable, Hashable {
    /// The kinds of failure that a program may want to tell apart.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// A setting is out of range, or does not fit the others.
        case invalidConfiguration
        /// The frame's pixel format or size cannot be encoded.
        case formatUnsupported
        /// The data to decode are damaged.
        case corruptData
        /// A device, driver or library that is needed is not there.
        case unavailable
        /// The machine has no memory left.
        case outOfMemory
        /// The library failed; see ``CodecError/libraryCode``.
        case library
    }

    /// The kind of failure.
    public var code: Code
    /// What was being done, as in `encode a frame`.
    public var operation: String
    /// With which codec, as in `VP8`.
    public var subject: String?
    /// The library's own code, when a call of it failed.
    public var libraryCode: Int32?
    /// A sentence for the user, with the next step.
    public var message: String

    public init(_ code: Code, operation: String, subject: String? = nil, libraryCode: Int32? = nil, message: String) {
        self.code = code
        self.operation = operation
        self.subject = subject
        self.libraryCode = libraryCode
        self.message = message
    }
}

extension CodecError: CustomStringConvertible {
    public var description: String {
        var text = describe(subject: subject, operation: operation, message: message, systemError: nil)
        if let libraryCode { text += " (\(operation): library code \(libraryCode))" }
        return text
    }
}
