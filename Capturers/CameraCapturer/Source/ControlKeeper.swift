import VideoCapturing

/// Keeps what a camera's controls are set to, so that it has them again after an unplug: what they were at the opening,
/// and every change since, by whichever program, as the driver tells of it.
///
/// Belongs to the capture thread.
final class ControlKeeper {
    private var snapshot: ControlSnapshot
    /// What `exposure_dynamic_framerate` was before it was switched off; nil when it was not.
    private var automaticRate: CameraControlValue?

    /// Reads the controls and sets those that the user wants.
    ///
    /// Throws `invalidConfiguration` for a control that there is not, or a value that it does not take.
    init(_ node: DeviceNode, configuration: CameraConfiguration) throws(CaptureError) {
        let controls = ControlSet(node)
        if configuration.keepsFrameRate { automaticRate = controls.keepFrameRate() }
        try controls.set(configuration.controls.map { (name: $0.name, text: $0.value) })
        snapshot = controls.snapshot()
    }

    /// The controls whose changes are to be told.
    var identifiers: [UInt32] { snapshot.identifiers }

    /// Whether the camera may expose longer than its rate allows.
    var mayLowerRate: Bool { snapshot.mayLowerRate }

    /// A control was changed.
    func note(id: UInt32, value: Int64) { snapshot.note(id: id, value: value) }

    /// Sets all controls of a camera that has come back.
    func restore(_ node: DeviceNode, onFailure: (_ name: String, _ reason: String) -> Void) {
        for failure in ControlSet(node).restore(snapshot) { onFailure(failure.name, failure.reason) }
    }

    /// Gives back what was changed for the length of the capture only.
    func giveBack(_ node: DeviceNode) {
        if let automaticRate { ControlSet(node).giveBackFrameRate(automaticRate) }
    }
}
