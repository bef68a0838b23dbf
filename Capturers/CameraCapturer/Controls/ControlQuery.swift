import CLibV4L2

/// Reads what controls a driver has. Nothing a driver answers makes it go on for ever.
struct ControlQuery {
    let node: DeviceNode

    /// No driver has as many.
    private static let most = 1024
    private static let mostItems = 256

    /// All controls that a program can set or read, in the driver's order, without their values. Arrays and structures
    /// are left out.
    func all() -> [CameraControl] {
        var controls: [CameraControl] = []
        var names: Set<String> = []
        var id: UInt32 = 0
        for _ in 0..<ControlQuery.most {
            var query = v4l2_query_ext_ctrl()
            query.id = id | clibv4l2_control_next
            guard (try? node.request(.queryControl, &query)) != nil, query.id > id else { break }
            id = query.id
            guard var control = control(query) else { continue }
            // Two of the same title must not hide each other.
            var count = 2
            while !names.insert(control.name).inserted {
                control = CameraControl(control, name: CameraControl.name(for: control.title) + "_\(count)")
                count += 1
            }
            controls.append(control)
        }
        return controls
    }

    /// One control as it is now, without its value; nil when the driver does not have it.
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
            defaultValue: number.map { CameraControlValue($0, kind) }, value: nil, flags: query.flags,
            isLong: query.type == V4L2_CTRL_TYPE_INTEGER64.rawValue)
    }

    private func kind(_ query: v4l2_query_ext_ctrl) -> CameraControl.Kind? {
        let (least, most) = (min(query.minimum, query.maximum), max(query.minimum, query.maximum))
        switch query.type {
        case V4L2_CTRL_TYPE_INTEGER.rawValue, V4L2_CTRL_TYPE_INTEGER64.rawValue:
            return .integer(range: least...most, step: max(1, Int64(clamping: query.step)))
        case V4L2_CTRL_TYPE_BOOLEAN.rawValue: return .boolean
        case V4L2_CTRL_TYPE_MENU.rawValue: return .menu(items(query, least...most))
        case V4L2_CTRL_TYPE_INTEGER_MENU.rawValue: return .integerMenu(items(query, least...most))
        case V4L2_CTRL_TYPE_BITMASK.rawValue:
            return .bitmask(Int64(UInt32(truncatingIfNeeded: query.maximum)))
        case V4L2_CTRL_TYPE_BUTTON.rawValue: return .button
        case V4L2_CTRL_TYPE_STRING.rawValue:
            // A driver that claims more than any has would cost that much memory.
            let limit: (Int64) -> Int = { Int(min(max(0, $0), 1 << 16)) }
            return .text(lengths: limit(least)...limit(most))
        default: return nil
        }
    }

    private func items(_ query: v4l2_query_ext_ctrl, _ range: ClosedRange<Int64>) -> [CameraControl.MenuItem] {
        let first = max(0, range.lowerBound)
        return (0..<Int64(ControlQuery.mostItems)).compactMap { offset in
            guard offset <= range.upperBound - first else { return nil }
            var menu = v4l2_querymenu()
            menu.id = query.id
            menu.index = UInt32(truncatingIfNeeded: first + offset)
            // A choice that is refused is one that the camera does not have.
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
