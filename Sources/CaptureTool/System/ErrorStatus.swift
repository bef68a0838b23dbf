import MJPEGServer
import MediaContainers
import VideoCapturing

extension Refusal {
    /// The operation of errors that the tool itself makes when options do not fit the input: then the command line is
    /// at fault, and not the input.
    static let checkingOptions = "compare with the options"

    /// A capture that could not be set up or started.
    ///
    /// - Parameter hasInput: whether the source reads what the user named, which is then at fault, rather than the
    ///   settings he gave.
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

    /// An output that could not be made.
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

    /// A server that could not begin.
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
