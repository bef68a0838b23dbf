import CLibV4L2

extension ControlSet {
    /// Keeps the camera from exposing longer than its rate allows, which halves the rate in low light: sets
    /// `exposure_dynamic_framerate` to off.
    ///
    /// Returns what it was, to be given to ``giveBackFrameRate(_:)``; nil when there is nothing to give back: the camera
    /// does not have the control, has it off, or refuses.
    func keepFrameRate() -> CameraControlValue? {
        guard let control = control(id: V4L2_CID_EXPOSURE_AUTO_PRIORITY), let value = control.value,
            value.number != 0, !control.isReadOnly,
            (try? write(CameraControlValue(0, control.kind), to: control)) != nil
        else { return nil }
        return value
    }

    /// Gives back what ``keepFrameRate()`` has changed, unless someone has changed it since.
    func giveBackFrameRate(_ value: CameraControlValue) {
        guard let control = control(id: V4L2_CID_EXPOSURE_AUTO_PRIORITY), control.value?.number == 0 else { return }
        _ = try? write(value, to: control)
    }
}
