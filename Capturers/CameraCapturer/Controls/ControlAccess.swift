import CLibV4L2

/// Gets and sets single controls by `VIDIOC_G_EXT_CTRLS` and `VIDIOC_S_EXT_CTRLS`, unchecked.
struct ControlAccess {
    let node: DeviceNode

    /// What a control is set to.
    func value(of control: CameraControl) throws(IoctlFailure) -> CameraControlValue {
        var argument = v4l2_ext_control()
        argument.id = control.id
        if case .text(let lengths) = control.kind {
            return .text(try text(&argument, capacity: lengths.upperBound + 1))
        }
        try request(.getControls, &argument)
        switch control.kind {
        case .integer where control.isLong: return .integer(argument.value64)
        case .bitmask: return .integer(Int64(UInt32(bitPattern: argument.value)))
        default: return CameraControlValue(Int64(argument.value), control.kind)
        }
    }

    /// Sets a control, and gives what the driver has made of it: it may round to its steps.
    @discardableResult
    func set(_ control: CameraControl, to value: CameraControlValue) throws(IoctlFailure) -> CameraControlValue {
        var argument = v4l2_ext_control()
        argument.id = control.id
        if case .text(let text) = value {
            try setText(&argument, text)
            return value
        }
        let number = value.number ?? 0
        if control.isLong {
            argument.value64 = number
        } else {
            argument.value = Int32(truncatingIfNeeded: number)
        }
        try request(.setControls, &argument)
        guard control.kind != .button, !control.isWriteOnly else { return value }
        return (try? self.value(of: control)) ?? value
    }

    private func request(_ request: DeviceRequest, _ argument: inout v4l2_ext_control) throws(IoctlFailure) {
        try withUnsafeMutablePointer(to: &argument) { pointer throws(IoctlFailure) in
            var controls = v4l2_ext_controls()
            controls.which = UInt32(V4L2_CTRL_WHICH_CUR_VAL)
            controls.count = 1
            controls.controls = pointer
            try node.request(request, &controls)
        }
    }

    private func text(_ argument: inout v4l2_ext_control, capacity: Int) throws(IoctlFailure) -> String {
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
        defer { buffer.deallocate() }
        buffer.initialize(repeating: 0, count: capacity)
        argument.size = UInt32(capacity)
        argument.string = buffer
        try request(.getControls, &argument)
        return String(
            decoding: UnsafeRawBufferPointer(start: buffer, count: capacity).prefix { $0 != 0 }, as: UTF8.self)
    }

    private func setText(_ argument: inout v4l2_ext_control, _ text: String) throws(IoctlFailure) {
        let bytes = Array(text.utf8CString)
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        defer { buffer.deallocate() }
        buffer.initialize(from: bytes, count: bytes.count)
        argument.size = UInt32(bytes.count)
        argument.string = buffer
        try request(.setControls, &argument)
    }
}
