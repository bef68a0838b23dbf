import VideoCapturing

extension CameraDevice {
    /// The camera's controls with their values. Opens it for a moment, also while a program captures from it.
    ///
    /// Throws `deviceBusy`, `permissionDenied`, `deviceLost` or `system` when it does not open.
    public func controls() throws(CaptureError) -> [CameraControl] { try controls(SystemDeviceCalls()) }

    /// Sets a control by its name, and gives what the driver has made of the value: drivers round to their steps.
    ///
    /// Throws as ``controls()``, and `invalidConfiguration` for a control that there is not, or a value that it does not
    /// take now.
    @discardableResult
    public func setControl(_ name: String, to text: String) throws(CaptureError) -> CameraControlValue {
        try setControl(name, to: text, SystemDeviceCalls()).value
    }

    func setControl(
        _ name: String, to text: String, _ calls: any DeviceCalls
    ) throws(CaptureError) -> (id: UInt32, value: CameraControlValue) {
        let controls = ControlSet(try open(calls))
        let control = try controls.control(named: name)
        return (control.id, try controls.set(control, to: text))
    }

    func controls(_ calls: any DeviceCalls) throws(CaptureError) -> [CameraControl] {
        ControlSet(try open(calls)).all()
    }

    private func open(_ calls: any DeviceCalls) throws(CaptureError) -> DeviceNode {
        do {
            return try DeviceNode(opening: path, calls: calls)
        } catch {
            throw openError(error)
        }
    }
}
