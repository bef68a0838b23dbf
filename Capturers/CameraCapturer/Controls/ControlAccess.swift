import CLibV4L2
import V4L2Support

/// Gets and sets single controls with `VIDIOC_G_EXT_CTRLS` and `VIDIOC_S_EXT_CTRLS`, without checks.
struct ControlAccess {
    let node: DeviceNode

    /// The value of a control.
    func value(of control: CameraControl) throws(IoctlFailure) -> CameraControl.Value {
        var argument = v4l2_ext_control()
        argument.id = control.id
        if case .text(let lengths) = control.kind {
            return .text(try text(&argument, capacity: lengths.upperBound + 1))
        }
        try node.requestControl(.getControls, &argument)
        switch control.kind {
        case .integer where control.isLong: return .integer(argument.value64)
        case .bitmask: return .integer(Int64(UInt32(bitPattern: argument.value)))
        default: return CameraControl.Value(Int64(argument.value), control.kind)
        }
    }

    /// Sets a control. Returns the value that the driver has set: it may round to its steps.
    @discardableResult
    func set(_ control: CameraControl, to value: CameraControl.Value) throws(IoctlFailure) -> CameraControl.Value {
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
        try node.requestControl(.setControls, &argument)
        guard control.kind != .button, !control.isWriteOnly else { return value }
        return (try? self.value(of: control)) ?? value
    }

    private func text(_ argument: inout v4l2_ext_control, capacity: Int) throws(IoctlFailure) -> String {
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
        defer { buffer.deallocate() }
        buffer.initialize(repeating: 0, count: capacity)
        argument.size = UInt32(capacity)
        argument.string = buffer
        try node.requestControl(.getControls, &argument)
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
        try node.requestControl(.setControls, &argument)
    }
}

/// Enumerates the controls of a driver (`VIDIOC_QUERY_EXT_CTRL`). Bounded, whatever the driver answers.
struct ControlQuery {
    let node: DeviceNode

    /// No driver has as many.
    private static let maximumControls = 1024
    private static let maximumItems = 256

    /// All controls that a program can set or read, in the driver's order, without their values. Arrays and structures
    /// are skipped.
    func all() -> [CameraControl] {
        var controls: [CameraControl] = []
        var names: Set<String> = []
        var id: UInt32 = 0
        for _ in 0..<ControlQuery.maximumControls {
            var query = v4l2_query_ext_ctrl()
            query.id = id | clibv4l2_control_next
            guard (try? node.request(.queryControl, &query)) != nil, query.id > id else { break }
            id = query.id
            guard var control = control(query) else { continue }
            // Controls of the same title get distinct names.
            var count = 2
            while !names.insert(control.name).inserted {
                control = CameraControl(control, name: CameraControl.name(for: control.title) + "_\(count)")
                count += 1
            }
            controls.append(control)
        }
        return controls
    }

    /// One control in its present state, without its value; nil when the driver does not have it.
    func control(id: UInt32) -> CameraControl? {
        var query = v4l2_query_ext_ctrl()
        query.id = id
        guard (try? node.request(.queryControl, &query)) != nil else { return nil }
        return control(query)
    }

    private func control(_ query: v4l2_query_ext_ctrl) -> CameraControl? {
        guard query.flags & UInt32(V4L2_CTRL_FLAG_DISABLED) == 0, query.nr_of_dims == 0, let kind = kind(query) else {
            return nil
        }
        let title = text(query.name)
        let number: Int64? =
            switch kind {
            case .button, .text: nil
            case .bitmask: Int64(UInt32(truncatingIfNeeded: query.default_value))
            default: query.default_value
            }
        return CameraControl(
            id: query.id, name: CameraControl.name(for: title), title: title, kind: kind,
            defaultValue: number.map { CameraControl.Value($0, kind) }, value: nil, flags: query.flags,
            isLong: query.type == V4L2_CTRL_TYPE_INTEGER64.rawValue)
    }

    private func kind(_ query: v4l2_query_ext_ctrl) -> CameraControl.Kind? {
        let (minimum, maximum) = (min(query.minimum, query.maximum), max(query.minimum, query.maximum))
        switch query.type {
        case V4L2_CTRL_TYPE_INTEGER.rawValue, V4L2_CTRL_TYPE_INTEGER64.rawValue:
            return .integer(range: minimum...maximum, step: max(1, Int64(clamping: query.step)))
        case V4L2_CTRL_TYPE_BOOLEAN.rawValue: return .boolean
        case V4L2_CTRL_TYPE_MENU.rawValue: return .menu(items(query, minimum...maximum))
        case V4L2_CTRL_TYPE_INTEGER_MENU.rawValue: return .integerMenu(items(query, minimum...maximum))
        case V4L2_CTRL_TYPE_BITMASK.rawValue:
            return .bitmask(Int64(UInt32(truncatingIfNeeded: query.maximum)))
        case V4L2_CTRL_TYPE_BUTTON.rawValue: return .button
        case V4L2_CTRL_TYPE_STRING.rawValue:
            // Clamped: a driver's absurd claim would cost that much memory.
            let limit: (Int64) -> Int = { Int(min(max(0, $0), 1 << 16)) }
            return .text(lengths: limit(minimum)...limit(maximum))
        default: return nil
        }
    }

    private func items(_ query: v4l2_query_ext_ctrl, _ range: ClosedRange<Int64>) -> [CameraControl.MenuItem] {
        let first = max(0, range.lowerBound)
        return (0..<Int64(ControlQuery.maximumItems)).compactMap { offset in
            guard offset <= range.upperBound - first else { return nil }
            var menu = v4l2_querymenu()
            menu.id = query.id
            menu.index = UInt32(truncatingIfNeeded: first + offset)
            // A refused index is a gap of the menu.
            guard (try? node.request(.queryMenu, &menu)) != nil else { return nil }
            let isNumber = query.type == V4L2_CTRL_TYPE_INTEGER_MENU.rawValue
            return CameraControl.MenuItem(index: first + offset, name: isNumber ? "\(menu.value)" : text(menu.name))
        }
    }
}

extension CameraControl {
    fileprivate init(_ other: CameraControl, name: String) {
        self.init(
            id: other.id, name: name, title: other.title, kind: other.kind, defaultValue: other.defaultValue,
            value: other.value, flags: other.flags, isLong: other.isLong)
    }
}
