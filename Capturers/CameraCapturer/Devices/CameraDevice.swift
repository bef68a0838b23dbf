import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A camera of this machine, in its state when it was listed.
public struct CameraDevice: Sendable, Hashable, Identifiable {
    /// The stable identifier, the same across replugs and reboots whichever `/dev` number the camera gets. See
    /// ``CameraDirectory`` for its form.
    public let id: String
    /// The camera's name to show: `HD Pro Webcam C920`.
    public let name: String
    /// The node to open: `/dev/video0`. May be another one after a replug.
    public let path: String
    /// Where it is attached, as the driver reports it: `usb-0000:00:14.0-1`.
    public let bus: String
    /// The driver's name: `uvcvideo`. Empty when the node could not be opened.
    public let driver: String
    /// Whether this program may use it.
    public let access: CameraDevice.Access
    /// The names of its links in `/dev/v4l/by-id` and `/dev/v4l/by-path`; none without udev.
    public let links: Links
    /// The kernel's entry of it.
    let node: VideoNode

    /// The names under which udev has linked to a node, without their folders.
    public struct Links: Sendable, Hashable {
        /// The links in `/dev/v4l/by-id`, sorted.
        public internal(set) var byID: [String] = []
        /// The links in `/dev/v4l/by-path`, sorted.
        public internal(set) var byPath: [String] = []

        var all: [String] { byID + byPath }
    }

    /// The number in `/dev/videoN`.
    public var number: Int { node.number }
}

extension CameraDevice: CustomStringConvertible {
    /// `HD Pro Webcam C920 (/dev/video0)`.
    public var description: String { "\(name) (\(path))" }
}

extension CameraDevice {
    /// The camera's controls with their values. Opens it for a moment, also while a program captures from it.
    ///
    /// - Throws: `deviceBusy`, `permissionDenied`, `deviceLost` or `system` when it does not open.
    public func controls() throws(CaptureError) -> [CameraControl] { try controls(SystemDeviceCalls()) }

    /// Sets a control by its name.
    ///
    /// - Parameters:
    ///   - name: the control's name, as ``CameraControl/name``.
    ///   - text: the value, as ``CameraControl/parse(_:)`` reads it.
    /// - Returns: the value that the driver has set: drivers round to their steps.
    /// - Throws: as ``controls()``, and `invalidConfiguration` for an unknown control, or a value that is not possible
    ///   now.
    @discardableResult
    public func setControl(_ name: String, to text: String) throws(CaptureError) -> CameraControl.Value {
        try setControl(name, to: text, SystemDeviceCalls()).value
    }

    func setControl(
        _ name: String, to text: String, _ calls: any DeviceCalls
    ) throws(CaptureError) -> (id: UInt32, value: CameraControl.Value) {
        let controls = ControlSet(try open(calls))
        let control = try controls.control(named: name)
        return (control.id, try controls.set(control, to: text))
    }

    func controls(_ calls: any DeviceCalls) throws(CaptureError) -> [CameraControl] {
        ControlSet(try open(calls)).all()
    }

    /// Its controls, open as long as the value lives.
    func openControls(_ calls: any DeviceCalls) throws(CaptureError) -> ControlSet { ControlSet(try open(calls)) }

    private func open(_ calls: any DeviceCalls) throws(CaptureError) -> DeviceNode {
        do {
            return try DeviceNode(opening: path, calls: calls)
        } catch {
            throw openError(error)
        }
    }
}

extension CameraDevice {
    /// The camera's formats with their sizes and rates, in the driver's order. Opens the camera for a moment, also
    /// while a program captures from it, and changes nothing.
    ///
    /// - Throws: `deviceBusy`, `permissionDenied`, `deviceLost` or `system` when it does not open, and
    ///   `invalidConfiguration` when it is no longer a camera.
    public func modes() throws(CaptureError) -> [CameraMode.Group] { try modes(SystemDeviceCalls()) }

    /// The mode that a capture would try first for `request`, and why, by the driver's lists; nothing is set. A capture
    /// may negotiate another one when the driver or the bus refuses this one, and a grabber has other modes once the
    /// timings of its signal are set.
    ///
    /// - Throws: as ``modes()``, and `formatUnsupported` when the camera has no mode for the request.
    public func decide(_ request: CameraMode.Request) throws(CaptureError) -> CameraMode.Decision {
        try decide(request, SystemDeviceCalls())
    }

    func modes(_ calls: any DeviceCalls) throws(CaptureError) -> [CameraMode.Group] {
        var source = try modeSource(calls)
        return try CameraMode.Group.all(from: &source, isConvertible: { V4LConverter.knows($0) })
    }

    func decide(_ request: CameraMode.Request, _ calls: any DeviceCalls) throws(CaptureError) -> CameraMode.Decision {
        var source = try modeSource(calls)
        let ranking = try ModeSearch.candidates(
            from: &source, request: request, isConvertible: { V4LConverter.knows($0) }, subject: name)
        return ModeNegotiation(ranking, subject: name).decision
    }

    private func modeSource(_ calls: any DeviceCalls) throws(CaptureError) -> NodeModeSource {
        let node: DeviceNode
        do {
            node = try DeviceNode(opening: path, calls: calls)
        } catch {
            throw openError(error)
        }
        guard node.capabilities.isCamera else { throw CameraSelector.notACamera(path, node.capabilities) }
        return NodeModeSource(node: node)
    }
}

extension CameraDevice {
    /// Whether this program can use a node, and if not, why.
    public enum Access: Sendable, Hashable {
        /// It opens, and it is a camera.
        case usable
        /// The user is not permitted to open it. Whether it is a camera is not certain.
        case noPermission(CameraDevice.Denial)
        /// It opens, and is not a camera.
        case notACamera(CameraDevice.NodeKind)
        /// The kernel has the camera, but there is no node to open, as in a container without the device.
        case noNode
        /// It does not open; the value is the system's `errno`.
        case failed(Int32)

        /// Whether it opens, and is a camera.
        public var isUsable: Bool { self == .usable }
    }
}

extension CameraDevice.Access: CustomStringConvertible {
    /// For lists: `usable`, `no permission`, `a codec`.
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

    /// The error for a refused call while opening the camera.
    func openError(_ failure: IoctlFailure) -> CaptureError {
        switch failure.number {
        case EBUSY: CameraDevice.Holder.busyError(path: path, errno: EBUSY)
        case EACCES, EPERM: CameraDevice.Denial.permissionError(path: path, errno: failure.number)
        case let number:
            CaptureError(
                failure.isDeviceGone || number == ENOENT ? .deviceLost : .system, operation: failure.request,
                subject: path, errno: number,
                message: "The camera \(name) does not open; unplug it and plug it in again, then try again.")
        }
    }
}
