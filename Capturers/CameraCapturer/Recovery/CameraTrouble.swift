import VideoCapturing

/// Why a stream does not go on.
enum CameraTrouble: Error {
    /// A system call says so.
    case fault(CameraFault)
    /// No frame came within the limit.
    case stalled
    /// The driver has ended the stream (`EPIPE`, `V4L2_BUF_FLAG_LAST`).
    case ended
    /// The input's signal has changed.
    case sourceChanged
    /// The input has no usable signal, though the driver makes frames.
    case noSignal(SignalProblem)
    /// Nothing of the camera's.
    case failed(CaptureError)
}
