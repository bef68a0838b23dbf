import CJPEG
import VideoCapturing

extension CodecError {
    /// A failure of libjpeg, or of ours around it.
    ///
    /// - Parameters:
    ///   - detail: the fault, without a full stop.
    ///   - nextStep: the remedy for a kind of picture that is not supported.
    package init(jpeg result: cjpeg_result, detail: String, operation: String, nextStep: String) {
        switch result {
        case CJPEG_DAMAGED:
            self.init(
                .corruptData, operation: operation, subject: "JPEG",
                message: "The picture is damaged: \(detail); drop it and go on with the next.")
        case CJPEG_UNSUPPORTED:
            self.init(
                .formatUnsupported, operation: operation, subject: "JPEG",
                message: "The picture is of a kind that is not taken: \(detail); \(nextStep).")
        case CJPEG_OUT_OF_MEMORY:
            self.init(
                .outOfMemory, operation: operation, subject: "JPEG",
                message: "The machine has no memory left (\(detail)); use a smaller size or shorter queues.")
        default:
            self.init(.library, operation: operation, subject: "JPEG", message: "libjpeg failed: \(detail).")
        }
    }

    /// A context could not be made.
    package static func noJPEGContext(_ operation: String) -> CodecError {
        CodecError(jpeg: CJPEG_OUT_OF_MEMORY, detail: "libjpeg could not be set up", operation: operation, nextStep: "")
    }

    /// The other way round than `CaptureError.init(_:subject:)`; what pools of pictures throw, too.
    init(_ error: CaptureError) {
        let code: Code =
            switch error.code {
            case .formatUnsupported: .formatUnsupported
            case .corruptData: .corruptData
            case .outOfMemory: .outOfMemory
            case .invalidConfiguration: .invalidConfiguration
            default: .library
            }
        self.init(code, operation: error.operation, subject: error.subject, message: error.message)
    }
}

extension CaptureError {
    /// A picture of a stream that could not be decoded.
    init(_ error: CodecError, subject: String) {
        let code: Code =
            switch error.code {
            case .invalidConfiguration: .invalidConfiguration
            case .formatUnsupported: .formatUnsupported
            case .corruptData: .corruptData
            case .unavailable: .unavailable
            case .outOfMemory: .outOfMemory
            case .library: .system
            }
        self.init(code, operation: error.operation, subject: subject, message: error.message)
    }
}
