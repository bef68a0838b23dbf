import MediaContainers
import VideoCapturing

extension FileSource {
    /// Maps an error of reading a file to a `CaptureError`.
    static func captureError(_ error: any Error, path: String) -> CaptureError {
        switch error {
        case let error as CaptureError: error
        case let error as MediaFileError:
            CaptureError(
                code(of: error), operation: error.operation, subject: error.subject ?? path, errno: error.systemError,
                message: error.message)
        case let error as CodecError:
            CaptureError(.unavailable, operation: error.operation, subject: path, message: error.message)
        default:
            CaptureError(.system, operation: "read the file", subject: path, message: "\(error)")
        }
    }

    private static func code(of error: MediaFileError) -> CaptureError.Code {
        switch error.code {
        case .notFound: .deviceNotFound
        case .permissionDenied: .permissionDenied
        case .corruptData: .corruptData
        case .formatUnsupported: .formatUnsupported
        case .limitExceeded: .invalidConfiguration
        case .interrupted: .invalidState
        case .fileExists, .fileInUse, .readOnly, .noSpace, .closedPipe, .unreachable, .stalled, .system: .system
        }
    }
}
