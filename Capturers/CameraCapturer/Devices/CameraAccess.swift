import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Whether a program can use a node, and if not, why.
public enum CameraAccess: Sendable, Hashable {
    /// It opens, and it is a camera.
    case usable
    /// The user may not open it. Whether it is a camera is not known for sure.
    case noPermission(DeviceAccess)
    /// It opens, and it is none.
    case notACamera(NodeKind)
    /// The kernel has the camera, but there is no node to open: as in a container that was not given it.
    case noNode
    /// It does not open; what the system answered (`errno`).
    case failed(Int32)

    /// Whether it opens, and is a camera.
    public var isUsable: Bool { self == .usable }
}

extension CameraAccess: CustomStringConvertible {
    /// A few words for a list: `usable`, `no permission`, `a codec`.
    public var description: String {
        switch self {
        case .usable: "usable"
        case .noPermission: "no permission"
        case .notACamera(let kind): kind.description
        case .noNode: "no node"
        case .failed(let number): String(cString: strerror(number))
        }
    }
}

extension CameraDevice {
    /// Why the node cannot be used, with the next step; nil when it can.
    public var accessError: CaptureError? {
        switch access {
        case .usable:
            nil
        case .noPermission(let access):
            access.error
        case .notACamera(let kind):
            CameraSelector.notACamera(path, kind)
        case .noNode:
            CaptureError(
                .deviceNotFound, operation: "open", subject: path, errno: ENOENT,
                message: "The kernel has the camera \(name), but there is no node for it here; in a container start "
                    + "that with --device \(path).")
        case .failed(let number):
            openError(IoctlFailure(request: "open", number: number))
        }
    }

    /// The error for a call that was refused when the camera was to be opened.
    func openError(_ failure: IoctlFailure) -> CaptureError {
        switch failure.number {
        case EBUSY: DeviceHolder.busyError(path: path, errno: EBUSY)
        case EACCES, EPERM: DeviceAccess.permissionError(path: path, errno: failure.number)
        case let number:
            CaptureError(
                failure.isDeviceGone || number == ENOENT ? .deviceLost : .system, operation: failure.request,
                subject: path, errno: number,
                message: "The camera \(name) does not open; unplug it and plug it in again, then try again.")
        }
    }
}
