import CLibV4L2
import V4L2Support
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A driver behind the system calls that answers what it is, what formats it has, and to its controls; it does not
/// stream. Nodes are found by their paths.
final class FakeControlDriver: DeviceCalls {
    struct Control {
        var id: Int32
        var type: v4l2_ctrl_type
        var title: String
        var minimum: Int64 = 0
        var maximum: Int64 = 1
        var step: UInt64 = 1
        var standard: Int64 = 0
        var flags: Int32 = 0
        var value: Int64 = 0
        var text = ""
        /// The items of a menu, or the numbers of an integer menu; gaps are refused.
        var items: [Int64: String] = [:]
        /// What setting it is refused with, if not zero.
        var refusal: Int32 = 0
    }

    struct Node {
        var card = "Camera"
        var driver = "uvcvideo"
        var bus = "usb-0000:00:14.0-1"
        var capabilities = UInt32(V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING)
        var formats = 1
        /// What `open` is refused with, if not zero.
        var openError: Int32 = 0
        var controls: [Control] = []
        /// Called after a control was set, with its number: to let an automatic rule others.
        var ruling: (@Sendable (inout Node, Int32) -> Void)?
        /// The numbers of the controls that were set, in order.
        var writes: [Int32] = []

        subscript(id: Int32) -> Control {
            get { controls.first { $0.id == id }! }
            set { controls[controls.firstIndex { $0.id == id }!] = newValue }
        }
    }

    private struct State {
        var nodes: [String: Node] = [:]
        var descriptors: [Int32: String] = [:]
        var next: Int32 = 1000
        var opens: [String] = []
    }

    private let state = Locked(State())

    /// A node; nil while there is none at that path.
    subscript(path: String) -> Node? {
        get { state.withLock { $0.nodes[path] } }
        set { state.withLock { $0.nodes[path] = newValue } }
    }

    /// How many nodes are open.
    var openCount: Int { state.withLock { $0.descriptors.count } }

    func open(_ path: String) -> Int32 {
        state.withLock { state in
            guard let node = state.nodes[path] else { return -ENOENT }
            guard node.openError == 0 else { return -node.openError }
            state.next += 1
            state.descriptors[state.next] = path
            return state.next
        }
    }

    func close(_ descriptor: Int32) { state.withLock { _ = $0.descriptors.removeValue(forKey: descriptor) } }

    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        state.withLock { state in
            guard let path = state.descriptors[descriptor] else { return -EBADF }
            guard var node = state.nodes[path] else { return -ENODEV }
            defer { state.nodes[path] = node }
            return FakeControlDriver.answer(request, argument, &node)
        }
    }

    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32, isWritable: Bool
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) { (nil, ENODEV) }

    func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool { false }
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) {}
    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) {}

    static func answer(_ request: UInt, _ argument: UnsafeMutableRawPointer, _ node: inout Node) -> Int32 {
        switch request {
        case clibv4l2_QUERYCAP:
            var capability = v4l2_capability()
            put(node.card, into: &capability.card)
            put(node.driver, into: &capability.driver)
            put(node.bus, into: &capability.bus_info)
            capability.capabilities = node.capabilities | V4L2_CAP_DEVICE_CAPS
            capability.device_caps = node.capabilities
            argument.storeBytes(of: capability, as: v4l2_capability.self)
            return 0
        case clibv4l2_ENUM_FMT:
            return argument.load(as: v4l2_fmtdesc.self).index < node.formats ? 0 : -EINVAL
        case clibv4l2_QUERY_EXT_CTRL: return query(argument, node)
        case clibv4l2_QUERYMENU: return menu(argument, node)
        case clibv4l2_G_EXT_CTRLS, clibv4l2_S_EXT_CTRLS:
            return access(argument, &node, isSetting: request == clibv4l2_S_EXT_CTRLS)
        default: return -ENOTTY
        }
    }

    private static func query(_ argument: UnsafeMutableRawPointer, _ node: Node) -> Int32 {
        var query = argument.load(as: v4l2_query_ext_ctrl.self)
        let id = query.id & ~clibv4l2_control_next
        let sorted = node.controls.sorted { $0.id < $1.id }
        let isNext = query.id & clibv4l2_control_next != 0
        guard let control = sorted.first(where: { isNext ? $0.id > id : $0.id == id }) else { return -EINVAL }
        query.id = UInt32(control.id)
        query.type = control.type.rawValue
        put(control.title, into: &query.name)
        query.minimum = control.minimum
        query.maximum = control.maximum
        query.step = control.step
        query.default_value = control.standard
        query.flags = UInt32(control.flags)
        argument.storeBytes(of: query, as: v4l2_query_ext_ctrl.self)
        return 0
    }

    private static func menu(_ argument: UnsafeMutableRawPointer, _ node: Node) -> Int32 {
        var menu = argument.load(as: v4l2_querymenu.self)
        guard let control = node.controls.first(where: { $0.id == menu.id }),
            let item = control.items[Int64(menu.index)]
        else { return -EINVAL }
        if control.type == V4L2_CTRL_TYPE_INTEGER_MENU {
            menu.value = Int64(item)!
        } else {
            put(item, into: &menu.name)
        }
        argument.storeBytes(of: menu, as: v4l2_querymenu.self)
        return 0
    }

    private static func access(
        _ argument: UnsafeMutableRawPointer, _ node: inout Node, isSetting: Bool
    ) -> Int32 {
        let controls = argument.load(as: v4l2_ext_controls.self)
        guard controls.count == 1, let pointer = controls.controls,
            let index = node.controls.firstIndex(where: { $0.id == pointer.pointee.id })
        else { return -EINVAL }
        var control = node.controls[index]
        let isLong = control.type == V4L2_CTRL_TYPE_INTEGER64
        guard isSetting else {
            if control.type == V4L2_CTRL_TYPE_STRING {
                guard pointer.pointee.size > control.text.utf8.count else { return -ENOSPC }
                strcpy(pointer.pointee.string, control.text)
            } else if isLong {
                pointer.pointee.value64 = control.value
            } else {
                pointer.pointee.value = Int32(truncatingIfNeeded: control.value)
            }
            return 0
        }
        if control.refusal != 0 { return -control.refusal }
        if control.type == V4L2_CTRL_TYPE_STRING {
            control.text = String(cString: pointer.pointee.string)
        } else {
            let value = isLong ? pointer.pointee.value64 : Int64(pointer.pointee.value)
            if control.type == V4L2_CTRL_TYPE_BITMASK || control.type == V4L2_CTRL_TYPE_BUTTON {
                control.value = value
            } else {
                guard control.minimum <= value, value <= control.maximum else { return -ERANGE }
                // As the kernel rounds.
                let step = Int64(control.step)
                control.value = control.minimum + (value - control.minimum + step / 2) / step * step
            }
        }
        node.controls[index] = control
        node.writes.append(control.id)
        node.ruling?(&node, control.id)
        return 0
    }

    private static func put<Field>(_ text: String, into field: inout Field) {
        withUnsafeMutableBytes(of: &field) { bytes in
            for (index, byte) in text.utf8.prefix(bytes.count - 1).enumerated() { bytes[index] = byte }
        }
    }
}
