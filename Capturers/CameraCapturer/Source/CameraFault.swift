import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The meaning of a refused system call for a camera.
struct CameraFault {
    enum Kind: Hashable {
        /// Unplugged, or its driver unbound.
        case disconnected
        case busy
        case noPermission
        /// The bus has no room for the mode.
        case noBandwidth
        /// Any other failure; a retry may help.
        case failing
    }

    let failure: IoctlFailure
    /// The node's path.
    let path: String

    init(_ failure: IoctlFailure, path: String) {
        self.failure = failure
        self.path = path
    }

    var kind: Kind {
        switch failure.number {
        case ENODEV, ENXIO, ENOENT: .disconnected
        case EBUSY: .busy
        case EACCES, EPERM: .noPermission
        case ENOSPC: .noBandwidth
        default: .failing
        }
    }

    /// The error for a caller that does not wait for recovery.
    var captureError: CaptureError {
        switch kind {
        case .disconnected:
            return error(.deviceLost, "The camera is gone; plug it in again, then try again.")
        case .busy:
            return CameraDevice.Holder.busyError(path: path, errno: failure.number)
        case .noPermission:
            return CameraDevice.Denial.permissionError(path: path, errno: failure.number)
        case .noBandwidth:
            return error(
                .formatUnsupported,
                "The USB bus has no room for any mode of the camera; unplug other devices or use another port.")
        case .failing:
            return error(
                .system,
                "The camera's driver refused; unplug the camera and plug it in again, then try again.")
        }
    }

    private func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
        CaptureError(code, operation: failure.request, subject: path, errno: failure.number, message: message)
    }
}

/// The reason why a stream has ended.
enum CameraStreamError: Error {
    /// A system call was refused.
    case fault(CameraFault)
    /// No frame was captured within the stall limit, or only damaged ones for too long.
    case stalled
    /// The driver has ended the stream (`EPIPE`, `V4L2_BUF_FLAG_LAST`).
    case ended
    /// The input's signal has changed.
    case sourceChanged
    /// The input has no usable signal, though the driver delivers frames.
    case noSignal(CameraCapturer.Event.SignalProblem)
    /// A failure that is not the camera's.
    case failed(CaptureError)

    /// The error for a caller that does not wait for recovery; nil where the camera only delivers nothing.
    var captureError: CaptureError? {
        switch self {
        case .fault(let fault): fault.captureError
        case .failed(let error): error
        case .stalled, .ended, .sourceChanged, .noSignal: nil
        }
    }
}
