import CJPEG
import VideoCapturing

extension CodecError {
    /// A failure of libjpeg, or of ours around it.
    ///
    /// - Parameters:
    ///   - detail: what was found, without a full stop.
    ///   - nextStep: what to do about a kind of picture that is not taken.
    init(jpeg result: cjpeg_result, detail: String, operation: String, nextStep: String) {
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
    static func noJPEGContext(_ operation: String) -> CodecError {
        CodecError(jpeg: CJPEG_OUT_OF_MEMORY, detail: "libjpeg could not be set up", operation: operation, nextStep: "")
    }

    /// A picture's memory could not be made.
    init(_ error: any Error, makingPictureFor operation: String) {
        if let error = error as? CodecError {
            self = error
            return
        }
        let error = error as? CaptureError
        let isMemory = error?.code == .outOfMemory
        self.init(
            isMemory ? .outOfMemory : .formatUnsupported, operation: operation, subject: error?.subject ?? "JPEG",
            message: error?.message ?? "The picture could not be made.")
    }
}
