import CLibV4L2
import V4L2Support
import VideoCapturing

/// Restores a camera's controls after an unplug. Tracks their values from the opening on: changes by this program at
/// once, changes by others when the driver's event is read, which is at once while the device is polled and each half
/// second otherwise.
///
/// A camera that was not unplugged keeps its controls while its node is closed; changes by other programs meanwhile are
/// not undone.
///
/// Belongs to the capture thread.
final class ControlRestorer {
    private var snapshot: ControlSnapshot
    /// The value of `exposure_dynamic_framerate` before it was switched off; nil when it was not.
    private var automaticRate: CameraControl.Value?
    /// The camera has lost its controls, and not all are restored yet.
    private var hasLoss = false

    /// Sets the controls of the configuration and reads all.
    ///
    /// - Throws: `invalidConfiguration` for an unknown control or an impossible value.
    init(_ node: DeviceNode, configuration: CameraCapturer.Configuration) throws(CaptureError) {
        let controls = ControlSet(node)
        if configuration.keepsFrameRate { automaticRate = controls.keepFrameRate() }
        try controls.set(configuration.controls.map { (name: $0.name, text: $0.value) })
        snapshot = controls.snapshot()
    }

    /// The controls whose change events are needed.
    var identifiers: [UInt32] { snapshot.identifiers }

    /// Whether the camera may expose longer than its rate allows.
    var mayLowerRate: Bool { snapshot.mayLowerRate }

    /// Records a change that the driver has reported.
    func record(id: UInt32, value: Int64) { snapshot.record(id: id, value: value) }

    /// Records the values that this program has set.
    func record(_ values: [UInt32: CameraControl.Value]) {
        for (id, value) in values { snapshot.record(id: id, value: value) }
    }

    /// The camera was unplugged or unbound from its driver, and has lost the values of its controls.
    func recordLoss() { hasLoss = true }

    /// The camera is open again: reads the values that other programs have set meanwhile.
    func update(_ node: DeviceNode) {
        if !hasLoss { snapshot.update(ControlSet(node).all()) }
    }

    /// Restores the controls, if the camera has lost them.
    func restore(_ node: DeviceNode, onFailure: (_ name: String, _ reason: String) -> Void) {
        guard hasLoss else { return }
        let failures = ControlSet(node).restore(snapshot)
        for failure in failures { onFailure(failure.name, failure.reason) }
        // Drops the events of controls that became active meanwhile: they carry the values from before the restoration.
        _ = try? NodeEvents.take(node)
        hasLoss = !failures.isEmpty
    }

    /// A frame was captured: controls that are not restored yet are given up.
    func finishRestoring() { hasLoss = false }

    /// Restores the control that was changed for the duration of the capture only.
    func restoreFrameRateControl(_ node: DeviceNode) {
        if let automaticRate { ControlSet(node).restoreFrameRate(automaticRate) }
    }
}

/// The values of a camera's controls, for setting them again.
struct ControlSnapshot: Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        let id: UInt32
        let name: String
        let kind: CameraControl.Kind
        /// Whether it must be set before the others.
        let comesFirst: Bool
        /// Nil as long as an automatic rules the control: its value was not set by a program then.
        var value: CameraControl.Value?
    }

    private(set) var entries: [Entry] = []

    init(_ controls: [CameraControl] = []) {
        entries = controls.compactMap { control in
            guard control.kind != .button, !control.isReadOnly, !control.isWriteOnly,
                !control.isVolatile || control.isInactive
            else { return nil }
            return Entry(
                id: control.id, name: control.name, kind: control.kind,
                comesFirst: AutomaticControls.comesFirst(control), value: control.isInactive ? nil : control.value)
        }
    }

    /// The controls that can change.
    var identifiers: [UInt32] { entries.map(\.id) }

    /// Records another value, set by any program.
    mutating func record(id: UInt32, value: Int64) {
        guard let entry = entries.first(where: { $0.id == id }) else { return }
        if case .text = entry.kind { return }
        record(id: id, value: CameraControl.Value(value, entry.kind))
    }

    /// As ``record(id:value:)``, texts included.
    mutating func record(id: UInt32, value: CameraControl.Value) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].value = value
    }

    /// Takes the present values. Controls without a value keep the recorded one.
    mutating func update(_ controls: [CameraControl]) {
        for control in controls {
            guard let index = entries.firstIndex(where: { $0.id == control.id }) else { continue }
            if control.isInactive {
                entries[index].value = nil
            } else if let value = control.value {
                entries[index].value = value
            }
        }
    }

    /// Whether the camera may expose longer than its rate allows: `exposure_dynamic_framerate` is on, and exposure is
    /// automatic.
    var mayLowerRate: Bool {
        func number(_ id: Int32) -> Int64? { entries.first { $0.id == UInt32(id) }?.value?.number }
        guard let priority = number(V4L2_CID_EXPOSURE_AUTO_PRIORITY), priority != 0 else { return false }
        let byHand = [V4L2_EXPOSURE_MANUAL, V4L2_EXPOSURE_SHUTTER_PRIORITY].map { Int64($0.rawValue) }
        return number(V4L2_CID_EXPOSURE_AUTO).map { !byHand.contains($0) } ?? true
    }
}

extension ControlSet {
    /// A control that could not be set again.
    struct RestoreFailure: Sendable, Hashable {
        let name: String
        /// A sentence for the user.
        let reason: String
    }

    /// The values of the controls. Those that the camera changes automatically are left out.
    func snapshot() -> ControlSnapshot { ControlSnapshot(all()) }

    /// Restores controls: automatics first, then the controls that they leave to manual setting. Controls that have
    /// their value already are not set. Call it before requesting buffers, since some controls cannot be changed after.
    func restore(_ snapshot: ControlSnapshot) -> [RestoreFailure] {
        let ordered = snapshot.entries.filter(\.comesFirst) + snapshot.entries.filter { !$0.comesFirst }
        return ordered.compactMap(restore)
    }

    private func restore(_ entry: ControlSnapshot.Entry) -> RestoreFailure? {
        guard let wanted = entry.value else { return nil }
        // Read only now, since the controls before may have changed it.
        guard let control = control(id: Int32(bitPattern: entry.id)) else {
            return RestoreFailure(name: entry.name, reason: "The camera no longer has it.")
        }
        // An automatic rules it: its value counts, not the recorded one.
        if control.isInactive || control.value == wanted { return nil }
        do throws(CaptureError) {
            try checkSettable(control)
            try control.check(wanted)
            try write(wanted, to: control)
            return nil
        } catch {
            return RestoreFailure(name: entry.name, reason: error.message)
        }
    }
}
