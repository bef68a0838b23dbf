import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a refused system call means for a camera.
struct CameraFault {
    enum Kind: Hashable {
        /// Unplugged, or its driver unbound.
        case disconnected
        case busy
        case noPermission
        /// The bus has no room for the mode.
        case noBandwidth
        /// Anything else; trying again may help.
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

    /// The error for a caller who cannot wait until it passes.
    var captureError: CaptureError {
        switch kind {
        case .disconnected:
            return error(.deviceLost, "The camera is gone; plug it in again, then try again.")
        case .busy:
            return DeviceHolder.busyError(path: path, errno: failure.number)
        case .noPermission:
            return DeviceAccess.permissionError(path: path, errno: failure.number)
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
