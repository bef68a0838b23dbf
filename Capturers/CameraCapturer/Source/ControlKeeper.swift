import VideoCapturing

/// Keeps what a camera's controls are set to, so that it has them again after an unplug: what they were at the opening,
/// and every change since: by this program at once, by others as the driver tells of it, which is at once where it is
/// polled, and each half second where it is not.
///
/// A camera that has stayed keeps its controls while its node is closed; what another program has set meanwhile is not
/// undone.
///
/// Belongs to the capture thread.
final class ControlKeeper {
    private var snapshot: ControlSnapshot
    /// What `exposure_dynamic_framerate` was before it was switched off; nil when it was not.
    private var automaticRate: CameraControlValue?
    /// The camera has lost its controls, and not all could be given back yet.
    private var hasLoss = false

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

    /// This program has set controls.
    func note(_ values: [UInt32: CameraControlValue]) {
        for (id, value) in values { snapshot.note(id: id, value: value) }
    }

    /// The camera was pulled out or given up by its driver, and has none of its controls any more.
    func noteLoss() { hasLoss = true }

    /// The camera is open again: learns what other programs have set meanwhile.
    func learn(_ node: DeviceNode) {
        if !hasLoss { snapshot.update(ControlSet(node).all()) }
    }

    /// Sets the controls of a camera that has lost them, and still has to get them back.
    func makeUp(_ node: DeviceNode, onFailure: (_ name: String, _ reason: String) -> Void) {
        guard hasLoss else { return }
        let failures = ControlSet(node).restore(snapshot)
        for failure in failures { onFailure(failure.name, failure.reason) }
        // The driver has told of controls that came alive on the way, with the values from before they were set.
        _ = try? NodeEvents.take(node)
        hasLoss = !failures.isEmpty
    }

    /// A frame has come: what could not be given back until now never will be.
    func settle() { hasLoss = false }

    /// Gives back what was changed for the length of the capture only.
    func giveBack(_ node: DeviceNode) {
        if let automaticRate { ControlSet(node).giveBackFrameRate(automaticRate) }
    }
}
