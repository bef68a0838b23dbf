import CLibV4L2
import VideoCapturing

/// What the controls of a camera were set to, to set them again.
struct ControlSnapshot: Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        let id: UInt32
        let name: String
        let kind: CameraControl.Kind
        /// Whether it is to be set before the others.
        let comesFirst: Bool
        /// Nil as long as an automatic has the control: what it reads as then is nobody's wish.
        var value: CameraControlValue?
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

    /// The controls whose changes are worth to be noted.
    var identifiers: [UInt32] { entries.map(\.id) }

    /// A control was set to another value, by whichever program.
    mutating func note(id: UInt32, value: Int64) {
        guard let entry = entries.first(where: { $0.id == id }) else { return }
        if case .text = entry.kind { return }
        note(id: id, value: CameraControlValue(value, entry.kind))
    }

    /// As ``note(id:value:)``, texts included.
    mutating func note(id: UInt32, value: CameraControlValue) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].value = value
    }

    /// What the controls are set to now. Those that do not answer stay as they were.
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
        /// A sentence.
        let reason: String
    }

    /// What the controls are set to. Those that the camera changes by itself are left out.
    func snapshot() -> ControlSnapshot { ControlSnapshot(all()) }

    /// Sets controls as they were: automatics first, then what they leave to be set by hand. What is so already is not
    /// set again. Done before buffers are requested, since some controls cannot be changed after.
    func restore(_ snapshot: ControlSnapshot) -> [RestoreFailure] {
        let ordered = snapshot.entries.filter(\.comesFirst) + snapshot.entries.filter { !$0.comesFirst }
        return ordered.compactMap(restore)
    }

    private func restore(_ entry: ControlSnapshot.Entry) -> RestoreFailure? {
        guard let wanted = entry.value else { return nil }
        // Looked at only now, since those before may have changed it.
        guard let control = control(id: Int32(bitPattern: entry.id)) else {
            return RestoreFailure(name: entry.name, reason: "The camera does not have it any more.")
        }
        // An automatic has it, as it had before: its wish counts, not an old value.
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
