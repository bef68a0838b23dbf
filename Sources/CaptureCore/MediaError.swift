#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The one shape of the errors of captures, codecs, files and servers: the kind, the operation and its subject, the
/// system's or library's code beneath, and a sentence for the user with the next step.
///
/// Each part of the framework has codes of its own: ``CaptureError``, ``CodecError`` and others are aliases.
public struct MediaError<Kind: MediaErrorCode>: CategorizedError, Sendable, Hashable {
    /// The kinds of failure that a program may want to distinguish.
    public typealias Code = Kind

    /// The kind of failure.
    public var code: Code
    /// The operation that failed, as in `open the camera`.
    public var operation: String
    /// The device, file, codec or peer, as in `/dev/video0`; `standard input` and `standard output` for `-`.
    public var subject: String?
    /// The `errno` beneath, when a system call failed.
    public var systemError: Int32?
    /// The library's own code beneath, when a call of it failed.
    public var libraryCode: Int32?
    /// A sentence for the user, with the next step.
    public var message: String

    /// Creates an error. User names and passwords in URLs (`//user:password@`) are masked in the subject and the message.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - operation: the operation that failed, as in `open the camera`.
    ///   - subject: the device, file, codec or peer.
    ///   - errno: the `errno` beneath.
    ///   - libraryCode: the library's own code beneath.
    ///   - message: a sentence for the user, with the next step.
    public init(
        _ code: Code, operation: String, subject: String? = nil, errno: Int32? = nil, libraryCode: Int32? = nil,
        message: String
    ) {
        self.code = code
        self.operation = operation
        self.subject = subject.map(maskingUserInfo)
        self.systemError = errno
        self.libraryCode = libraryCode
        self.message = maskingUserInfo(in: message)
    }

    public var category: ErrorCategory { code.category }
}

extension MediaError: CustomStringConvertible {
    /// One line, `subject: message (operation: what the system or library said)`.
    public var description: String {
        var text = subject.map { "\($0): " } ?? ""
        text += message
        if let systemError { text += " (\(operation): \(String(cString: strerror(systemError))))" }
        if let libraryCode { text += " (\(operation): library code \(libraryCode))" }
        return text
    }
}

/// The codes of one part of the framework; see ``MediaError``.
public protocol MediaErrorCode: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {
    /// The group of failures to which the code belongs.
    var category: ErrorCategory { get }
}

/// An error whose group of failures is known, whichever part of the framework it comes from.
public protocol CategorizedError: Error {
    /// The group of failures.
    var category: ErrorCategory { get }
}

/// A group of failures that ask for the same reaction, such as an exit code. Cases may be added.
public enum ErrorCategory: String, Sendable, Hashable, CaseIterable {
    /// A setting or an option is wrong.
    case usage
    /// There is no such device, file, display or address.
    case notFound
    /// Another program has the device, file or address.
    case busy
    /// The user may not do this.
    case noPermission
    /// The device, format or peer does not support the request.
    case unsupported
    /// The data, or what a peer sends, are damaged or against the protocol.
    case invalidData
    /// The disk, or the user's share of it, is full.
    case noSpace
    /// A device, reader or peer is gone, or no longer answers.
    case disconnected
    /// A library, display or memory is not there.
    case unavailable
    /// The operating system refused.
    case system
    /// The caller ended a wait; the operation can be repeated.
    case interrupted
    /// Calls came out of order.
    case `internal`
}

/// An error of a capture.
public typealias CaptureError = MediaError<CaptureErrorCode>

/// An error of an encoder or decoder.
public typealias CodecError = MediaError<CodecErrorCode>

/// What can fail in a capture.
public enum CaptureErrorCode: String, MediaErrorCode {
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
    /// The device cannot deliver the requested format.
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
    /// The operating system refused; see ``MediaError/systemError``.
    case system

    public var category: ErrorCategory {
        switch self {
        case .invalidState: .internal
        case .invalidConfiguration: .usage
        case .deviceNotFound: .notFound
        case .deviceBusy: .busy
        case .permissionDenied: .noPermission
        case .formatUnsupported: .unsupported
        case .deviceLost, .stalled: .disconnected
        case .corruptData, .endOfStream: .invalidData
        case .unavailable, .outOfMemory: .unavailable
        case .system: .system
        }
    }
}

/// What can fail in an encoder or decoder.
public enum CodecErrorCode: String, MediaErrorCode {
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
    /// The library failed; see ``MediaError/libraryCode``.
    case library

    public var category: ErrorCategory {
        switch self {
        case .invalidConfiguration: .usage
        case .formatUnsupported: .unsupported
        case .corruptData: .invalidData
        case .unavailable, .outOfMemory, .library: .unavailable
        }
    }
}
