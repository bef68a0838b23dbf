import CLibV4L2
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Sets controls for some frames and puts them back: remembers the value of each before its first change, and switches
/// the automatics off that rule it.
struct ControlAdjuster {
    /// What a control was before the first adjustment.
    private struct Original {
        let control: CameraControl
        let value: CameraControl.Value
    }

    /// In the order of their first changes: automatics come before the controls that they rule.
    private var originals: [Original] = []
    /// Controls that an automatic ruled before: it is the automatic that is put back.
    private var ruled: Set<UInt32> = []
    /// The exposure before the first adjustment, to which stops are relative; an automatic may have ruled it.
    private var baseExposure: CameraControl.Value?

    var isEmpty: Bool { originals.isEmpty }

    /// Makes the settings of an adjustment.
    ///
    /// - Returns: the values that the driver has set, by the controls' identifiers.
    /// - Throws: as `ControlSet.set`; the controls set by then are remembered.
    mutating func adjust(
        _ adjustment: CaptureAdjustment, _ controls: ControlSet, didSet: (UInt32, CameraControl.Value) -> Void
    ) throws(CaptureError) {
        for setting in adjustment.settings {
            switch setting {
            case .exposure(let stops): try setExposure(stops, controls, didSet)
            case .control(let name, let text):
                let control = try controls.control(
                    named: CameraControl.name(for: name) == "focus" ? "focus_absolute" : name)
                try set(control, controls, didSet) { (control) throws(CaptureError) in try control.parse(text) }
            }
        }
    }

    /// Puts all back, the last change first, so that automatics rule again at the end.
    ///
    /// - Parameter didSet: called with the original values, even if the camera has gone: they are set when it returns.
    /// - Throws: the first error.
    mutating func restore(
        _ controls: ControlSet?, didSet: (UInt32, CameraControl.Value) -> Void
    ) throws(CaptureError) {
        var failure: CaptureError?
        for original in originals.reversed() {
            didSet(original.control.id, original.value)
            guard let controls else { continue }
            do throws(CaptureError) {
                try controls.write(original.value, to: original.control)
            } catch {
                failure = failure ?? error
            }
        }
        self = ControlAdjuster()
        if let failure { throw failure }
    }

    /// - Parameter parse: the value; called when the control can be set, with its present one.
    private mutating func set(
        _ control: CameraControl, _ controls: ControlSet, _ didSet: (UInt32, CameraControl.Value) -> Void,
        _ parse: (CameraControl) throws(CaptureError) -> CameraControl.Value
    ) throws(CaptureError) {
        var control = control
        let value = try parse(control)
        if control.isInactive, let master = AutomaticControls.master(of: control.id),
            let automatic = controls.control(id: Int32(master.id))
        {
            let manual = CameraControl.Value(master.manual, automatic.kind)
            remember(automatic)
            ruled.insert(control.id)
            didSet(automatic.id, try controls.write(manual, to: automatic))
            control = controls.control(id: Int32(bitPattern: control.id)) ?? control
        } else {
            remember(control)
        }
        try controls.checkSettable(control)
        try control.check(value)
        didSet(control.id, try controls.write(value, to: control))
    }

    /// A control without a value, such as a button, has nothing to be put back.
    private mutating func remember(_ control: CameraControl) {
        guard let value = control.value, control.kind != .button, !ruled.contains(control.id),
            !originals.contains(where: { $0.control.id == control.id })
        else { return }
        originals.append(Original(control: control, value: value))
    }

    // MARK: Exposure

    private mutating func setExposure(
        _ stops: Double, _ controls: ControlSet, _ didSet: (UInt32, CameraControl.Value) -> Void
    ) throws(CaptureError) {
        let found = [V4L2_CID_EXPOSURE_ABSOLUTE, V4L2_CID_EXPOSURE].lazy.compactMap { controls.control(id: $0) }.first
        guard let control = found, case .integer(let range, _) = control.kind, let present = control.value else {
            throw ControlAdjuster.invalid(
                "exposure", "The camera has no control of its exposure; leave it out, or bracket another control.")
        }
        let base = baseExposure ?? present
        baseExposure = base
        let value = try ControlAdjuster.exposure(base.number ?? 0, stops: stops, range: range, name: control.name)
        try set(control, controls, didSet) { _ in .integer(value) }
    }

    /// The exposure time that is `stops` from another one.
    ///
    /// - Throws: `invalidConfiguration` for one out of the range, with the stops that are possible.
    static func exposure(
        _ base: Int64, stops: Double, range: ClosedRange<Int64>, name: String
    ) throws(CaptureError) -> Int64 {
        guard base > 0, stops.isFinite else {
            throw invalid(name, "The present exposure is \(base), which has no stops; set it before.")
        }
        let wanted = (Double(base) * exp2(stops)).rounded()
        guard wanted >= Double(range.lowerBound), wanted <= Double(range.upperBound), wanted >= 1 else {
            func text(_ bound: Int64) -> String { fixed(log2(Double(max(1, bound)) / Double(base)), 1) }
            throw invalid(
                name,
                "\(fixed(stops, 1)) stops are out of the camera's range; from the present exposure it can do "
                    + "\(text(range.lowerBound)) to \(text(range.upperBound)).")
        }
        return Int64(wanted)
    }

    private static func invalid(_ name: String, _ message: String) -> CaptureError {
        CaptureError(.invalidConfiguration, operation: "adjust the camera", subject: name, message: message)
    }
}
