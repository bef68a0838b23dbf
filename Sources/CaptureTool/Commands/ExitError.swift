import MJPEGServer
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
    /// The operation of the errors that the tool itself throws for options that do not fit the input: usage errors, not
    /// input errors.
    static let checkingOptions = "compare with the options"

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
            case .noSpace, .closedPipe, .unreachable, .stalled, .corruptData, .limitExceeded, .interrupted, .system:
                .inputOutput
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

    /// A server that could not be started.
    init(_ error: MJPEGServerError) {
        let status: ExitStatus =
            switch error.code {
            case .invalidConfiguration: .usage
            case .addressNotFound, .certificate: .noInput
            case .addressInUse: .busy
            case .permissionDenied: .noPermission
            case .invalidState, .system: .unavailable
            }
        self.init(status, "\(error)")
    }
}
