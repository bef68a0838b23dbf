public import VideoCapturing

/// Why there is no still.
public typealias StillCaptureError = MediaError<StillCapture.ErrorCode>

extension StillCapture {
    /// What can fail in taking a still.
    public enum ErrorCode: String, MediaErrorCode {
        /// A setting is out of range or does not fit the others.
        case invalidConfiguration
        /// The capture delivers no frames and will not do so automatically: it was not started, or has stopped.
        case notRunning
        /// As many requests are outstanding as are allowed.
        case tooManyRequests
        /// No frame came in time.
        case timedOut
        /// The frame is damaged.
        case corruptFrame
        /// The frame could not be encoded.
        case encoding
        /// The camera did not take a setting.
        case control
        /// The name of the file has no number, or is not a name at all.
        case invalidName
        /// There is a file of that name already.
        case fileExists
        /// There is no such folder.
        case folderNotFound
        /// The user may not write there.
        case permissionDenied
        /// The disk is full.
        case diskFull
        /// The machine has no memory left.
        case outOfMemory
        /// The operating system refused; see `MediaError.systemError`.
        case system

        public var category: ErrorCategory {
            switch self {
            case .invalidConfiguration, .invalidName, .fileExists: .usage
            case .notRunning: .disconnected
            case .tooManyRequests: .busy
            case .timedOut: .disconnected
            case .corruptFrame: .invalidData
            case .encoding, .outOfMemory: .unavailable
            case .control: .unsupported
            case .folderNotFound: .notFound
            case .permissionDenied: .noPermission
            case .diskFull: .noSpace
            case .system: .system
            }
        }
    }
}

extension StillCaptureError {
    /// A failure of what makes or encodes pictures.
    init(encoding error: any Error) {
        switch error {
        case let error as StillCaptureError: self = error
        case let error as CaptureError:
            let code: Code =
                switch error.code {
                case .corruptData: .corruptFrame
                case .outOfMemory: .outOfMemory
                default: .encoding
                }
            self.init(
                code, operation: error.operation, subject: error.subject, errno: error.systemError,
                message: error.message)
        case let error as CodecError:
            let code: Code =
                switch error.code {
                case .corruptData: .corruptFrame
                case .outOfMemory: .outOfMemory
                default: .encoding
                }
            self.init(code, operation: error.operation, subject: error.subject, message: error.message)
        default: self.init(.encoding, operation: "encode the still", message: "\(error)")
        }
    }

    static func notRunning(_ state: CaptureState?) -> StillCaptureError {
        let reason =
            switch state {
            case .stopped(let reason)?:
                reason.error.map { "The capture has stopped: \($0)" } ?? "The capture has stopped"
            case nil: "The stills are no longer attached to a publisher"
            default: "The capture does not run"
            }
        return StillCaptureError(
            .notRunning, operation: "take a still", message: "\(reason); start it, then ask again.")
    }

    static func tooMany(_ limit: Int) -> StillCaptureError {
        StillCaptureError(
            .tooManyRequests, operation: "take a still",
            message: "\(limit) requests are outstanding; wait until `readiness` is ready, or raise the limit.")
    }

    static func timedOut(_ timeout: Duration) -> StillCaptureError {
        StillCaptureError(
            .timedOut, operation: "take a still",
            message: "No frame came within \(timeout); check that the source delivers, or allow more time.")
    }
}
