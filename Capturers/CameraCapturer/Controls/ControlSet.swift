import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The controls of an open camera. Belongs to the thread that owns the node. Not for the frame path, since each request
/// to a webcam goes over its cable.
struct ControlSet {
    let node: DeviceNode
    private let query: ControlQuery
    private let access: ControlAccess

    init(_ node: DeviceNode) {
        self.node = node
        query = ControlQuery(node: node)
        access = ControlAccess(node: node)
    }

    /// All controls with their values, in the driver's order.
    func all() -> [CameraControl] {
        query.all().map { control in
            var control = control
            control.value = value(of: control)
            return control
        }
    }

    /// The control of that name with its value; `-` and `_` as well as upper and lower case are the same.
    ///
    /// - Throws: `invalidConfiguration` with the nearest name when the camera has no such control.
    func control(named name: String) throws(CaptureError) -> CameraControl {
        let controls = query.all()
        let wanted = CameraControl.name(for: name)
        guard var control = controls.first(where: { $0.name == wanted }) else {
            throw unknown(name, controls.map(\.name))
        }
        control.value = value(of: control)
        return control
    }

    /// The control of that number with its value; nil when the camera has none.
    func control(id: Int32) -> CameraControl? {
        guard var control = query.control(id: UInt32(id)) else { return nil }
        control.value = value(of: control)
        return control
    }

    /// Sets a control from a text, as ``CameraControl/parse(_:)`` reads it.
    ///
    /// - Returns: the value that the driver has set: drivers round to their steps.
    /// - Throws: `invalidConfiguration` for an unknown control, one that cannot be set now, or an impossible value;
    ///   `deviceLost` when the camera is gone; `system` when it refuses.
    @discardableResult
    func set(_ name: String, to text: String) throws(CaptureError) -> CameraControl.Value {
        try set(control(named: name), to: text)
    }

    /// As ``set(_:to:)-text``, for a control that was looked up.
    func set(_ control: CameraControl, to text: String) throws(CaptureError) -> CameraControl.Value {
        try checkSettable(control)
        return try write(control.parse(text), to: control)
    }

    /// Sets a control to a value; see ``set(_:to:)-text``.
    @discardableResult
    func set(_ name: String, to value: CameraControl.Value) throws(CaptureError) -> CameraControl.Value {
        let control = try control(named: name)
        try checkSettable(control)
        try control.check(value)
        return try write(value, to: control)
    }

    /// Sets several controls, automatics before the controls that they rule, whatever the order of `settings`.
    ///
    /// - Throws: the error of the first that fails; those before it are set.
    func set(_ settings: [(name: String, text: String)]) throws(CaptureError) {
        let controls = query.all()
        let first = Set(controls.filter(AutomaticControls.comesFirst).map(\.name))
        let isFirst = { (setting: (name: String, text: String)) in first.contains(CameraControl.name(for: setting.name))
        }
        for setting in settings.filter(isFirst) + settings.filter({ !isFirst($0) }) {
            try set(setting.name, to: setting.text)
        }
    }

    /// The value of a control; nil when it cannot be read or the camera does not answer.
    func value(of control: CameraControl) -> CameraControl.Value? {
        control.kind == .button || control.isWriteOnly ? nil : try? access.value(of: control)
    }

    /// Sets a control whose value was checked.
    @discardableResult
    func write(_ value: CameraControl.Value, to control: CameraControl) throws(CaptureError) -> CameraControl.Value {
        do throws(IoctlFailure) {
            return try access.set(control, to: value)
        } catch {
            throw refusal(control, value, error)
        }
    }

    /// - Throws: `invalidConfiguration` with the next step when a control cannot be set now.
    func checkSettable(_ control: CameraControl) throws(CaptureError) {
        if control.isReadOnly {
            throw invalid(control.name, "This control can be read only; the camera sets it.")
        }
        if control.isGrabbed {
            throw invalid(control.name, "This control cannot be changed while frames are captured; set it before.")
        }
        guard control.isInactive else { return }
        guard let master = AutomaticControls.master(of: control.id), let automatic = self.control(id: Int32(master.id)),
            let value = automatic.value
        else {
            throw invalid(
                control.name, "This control is inactive while another one rules it; switch the automatic off first.")
        }
        let manual = CameraControl.Value(master.manual, automatic.kind)
        throw invalid(
            control.name,
            "This control is inactive while \(automatic.name) is \(automatic.describe(value)); "
                + "set \(automatic.name)=\(automatic.describe(manual)) first.")
    }

    private func unknown(_ name: String, _ names: [String]) -> CaptureError {
        if names.isEmpty { return invalid(name, "The camera has no controls; leave it out.") }
        let guess = nearestName(to: CameraControl.name(for: name), in: names).map { "did you mean \($0)?" }
        let shown = names.prefix(12).joined(separator: ", ") + (names.count > 12 ? ", …" : "")
        return invalid(name, "The camera has no such control; \(guess ?? "it has \(shown).")")
    }

    private func invalid(_ name: String, _ message: String) -> CaptureError {
        CaptureError(.invalidConfiguration, operation: "set the control", subject: name, message: message)
    }

    private func refusal(_ control: CameraControl, _ value: CameraControl.Value, _ failure: IoctlFailure)
        -> CaptureError
    {
        func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
            CaptureError(
                code, operation: failure.request, subject: control.name, errno: failure.number, message: message)
        }
        if failure.isDeviceGone { return error(.deviceLost, "The camera is gone; plug it in again, then try again.") }
        switch failure.number {
        case ERANGE, EINVAL:
            return error(
                .invalidConfiguration, "The camera does not take \(value) now; try another of \(control.choices).")
        case EBUSY:
            return error(
                .invalidConfiguration, "This control cannot be changed while frames are captured; set it before.")
        case EACCES:
            return error(.invalidConfiguration, "This control cannot be set now; switch the automatic off first.")
        default:
            return error(.system, "The camera refused \(value); leave the control out, or try another value.")
        }
    }
}

extension ControlSet {
    /// Keeps the camera from exposing longer than its rate allows, which halves the rate in low light: sets
    /// `exposure_dynamic_framerate` to off.
    ///
    /// - Returns: the value for ``restoreFrameRate(_:)``; nil when there is nothing to restore: the camera does not
    ///   have the control, has it off, or refuses.
    func keepFrameRate() -> CameraControl.Value? {
        guard let control = control(id: V4L2_CID_EXPOSURE_AUTO_PRIORITY), let value = control.value,
            value.number != 0, !control.isReadOnly,
            (try? write(CameraControl.Value(0, control.kind), to: control)) != nil
        else { return nil }
        return value
    }

    /// Restores the control that ``keepFrameRate()`` has changed, unless it was changed since.
    func restoreFrameRate(_ value: CameraControl.Value) {
        guard let control = control(id: V4L2_CID_EXPOSURE_AUTO_PRIORITY), control.value?.number == 0 else { return }
        _ = try? write(value, to: control)
    }
}

/// The controls that rule others (automatic exposure rules the exposure time): the pairs of the V4L2 specification.
enum AutomaticControls {
    /// A control that rules others, and its value that permits setting them manually.
    struct Master: Hashable {
        let id: UInt32
        let manual: Int64
    }

    private static let masters: [Int32: Master] = [
        V4L2_CID_EXPOSURE_ABSOLUTE: exposure,
        V4L2_CID_EXPOSURE: exposure,
        V4L2_CID_IRIS_ABSOLUTE: exposure,
        V4L2_CID_GAIN: Master(id: UInt32(V4L2_CID_AUTOGAIN), manual: 0),
        V4L2_CID_WHITE_BALANCE_TEMPERATURE: whiteBalance,
        V4L2_CID_DO_WHITE_BALANCE: whiteBalance,
        V4L2_CID_RED_BALANCE: whiteBalance,
        V4L2_CID_BLUE_BALANCE: whiteBalance,
        V4L2_CID_FOCUS_ABSOLUTE: Master(id: UInt32(V4L2_CID_FOCUS_AUTO), manual: 0),
        V4L2_CID_FOCUS_RELATIVE: Master(id: UInt32(V4L2_CID_FOCUS_AUTO), manual: 0),
        V4L2_CID_HUE: Master(id: UInt32(V4L2_CID_HUE_AUTO), manual: 0),
        V4L2_CID_BRIGHTNESS: Master(id: UInt32(V4L2_CID_AUTOBRIGHTNESS), manual: 0),
        V4L2_CID_ISO_SENSITIVITY: Master(id: UInt32(V4L2_CID_ISO_SENSITIVITY_AUTO), manual: 0),
    ]
    private static let exposure = Master(
        id: UInt32(V4L2_CID_EXPOSURE_AUTO), manual: Int64(V4L2_EXPOSURE_MANUAL.rawValue))
    private static let whiteBalance = Master(id: UInt32(V4L2_CID_AUTO_WHITE_BALANCE), manual: 0)
    private static let identifiers = Set(masters.values.map(\.id))

    /// The control that overrides this one by the specification; nil without one.
    static func master(of id: UInt32) -> Master? { Int32(exactly: id).flatMap { masters[$0] } }

    /// Whether a control must be set before others, since it may make them active.
    static func comesFirst(_ control: CameraControl) -> Bool {
        control.changesOthers || identifiers.contains(control.id)
    }
}
