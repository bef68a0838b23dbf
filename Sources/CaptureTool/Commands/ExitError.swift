import MediaContainers
import VideoCapturing

/// The tool's exit codes, those of `<sysexits.h>`.
public enum ExitStatus: Int32, Sendable, Hashable, CaseIterable {
    /// Success.
    case success = 0
    /// The command line is invalid.
    case usage = 64
    /// No such device, input or folder, or an input that cannot be read.
    case noInput = 66
    /// A library or display is missing.
    case unavailable = 69
    /// Reading or writing failed.
    case inputOutput = 74
    /// The device is in use.
    case busy = 75
    /// Permission denied.
    case noPermission = 77
    /// A second interrupt ended the run immediately.
    case interrupted = 130
}

/// An error that ends the tool: one sentence for the user, and the exit code.
struct ExitError: Error, Sendable, Hashable {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension ExitError {
    /// An option that cannot be used.
    init(_ error: OptionError) { self.init(.usage, error.description) }

    /// A capture that could not be set up or started.
    ///
    /// - Parameter hasInput: whether the source reads an input that the user named; invalid data is then an input error
    ///   rather than a usage error.
    init(_ error: CaptureError, hasInput: Bool) {
        let status: ExitStatus =
            switch error.code {
            case .invalidConfiguration, .formatUnsupported: hasInput ? .noInput : .usage
            case .deviceNotFound, .corruptData, .endOfStream: .noInput
            case .deviceBusy: .busy
            case .permissionDenied: .noPermission
            case .unavailable, .outOfMemory: .unavailable
            case .invalidState, .deviceLost, .stalled, .system: .inputOutput
            }
        self.init(status, "\(error)")
    }

    /// A capture that has failed while it ran.
    init(whileRunning error: CaptureError) {
        let status: ExitStatus =
            switch error.code {
            case .deviceBusy: .busy
            case .permissionDenied: .noPermission
            case .unavailable, .outOfMemory: .unavailable
            default: .inputOutput
            }
        self.init(status, "\(error)")
    }

    /// An output that could not be created.
    init(opening error: MediaFileError) {
        let status: ExitStatus =
            switch error.code {
            case .fileExists, .formatUnsupported: .usage
            case .notFound: .noInput
            case .permissionDenied, .readOnly: .noPermission
            case .noSpace, .closedPipe, .stalled, .corruptData, .limitExceeded, .interrupted, .system: .inputOutput
            }
        self.init(status, "\(error)")
    }

    /// An output or the encoder that has failed while the capture ran.
    init(writing error: any Error) {
        self.init(error is CodecError ? .unavailable : .inputOutput, "\(error)")
    }

    /// An encoder that could not be set up.
    init(_ error: CodecError) {
        self.init(error.code == .invalidConfiguration ? .usage : .unavailable, "\(error)")
    }

    /// Anything that has kept a run from starting.
    ///
    /// - Parameters:
    ///   - error: what was thrown by the source, an encoder or an output.
    ///   - isInputAtFault: whether invalid data are the fault of an input that the user named.
    init(opening error: any Error, isInputAtFault: Bool) {
        switch error {
        case let error as ExitError: self = error
        case let error as OptionError: self.init(error)
        case let error as CaptureError: self.init(error, hasInput: isInputAtFault)
        case let error as MediaFileError: self.init(opening: error)
        case let error as CodecError: self.init(error)
        case let error as any CategorizedError: self.init(ExitStatus(error.category), "\(error)")
        default: self.init(.unavailable, "\(error)")
        }
    }
}

extension ExitStatus {
    /// The exit code for an error of any part of the framework.
    init(_ category: ErrorCategory) {
        self =
            switch category {
            case .usage: .usage
            case .notFound, .invalidData: .noInput
            case .busy: .busy
            case .noPermission: .noPermission
            case .unsupported, .unavailable, .internal: .unavailable
            case .noSpace, .disconnected, .system, .interrupted: .inputOutput
            }
    }
}
