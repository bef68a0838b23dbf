import CLibV4L2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What is seen of a node by opening it for a moment.
struct NodeLook {
    let access: CameraAccess
    /// The driver's name for the device, or the kernel's where the driver cannot be asked.
    let name: String
    let bus: String
    let driver: String

    init(_ node: VideoNode, places: MachinePlaces, calls: any DeviceCalls) {
        if let kind = NodeKind(nodeName: node.name) {
            self.init(access: .notACamera(kind), name: node.title)
            return
        }
        do throws(IoctlFailure) {
            let open = try DeviceNode(opening: node.path, calls: calls)
            let capabilities = open.capabilities
            var kind = NodeKind(capabilities)
            if kind == nil, try !NodeLook.hasFormat(open) { kind = .withoutFormats }
            self.init(
                access: kind.map { .notACamera($0) } ?? .usable,
                name: capabilities.card.isEmpty ? node.title : capabilities.card, bus: capabilities.bus,
                driver: capabilities.driver)
        } catch {
            self.init(access: NodeLook.access(error, node, places), name: node.title)
        }
    }

    private init(access: CameraAccess, name: String, bus: String = "", driver: String = "") {
        self.access = access
        self.name = name
        self.bus = bus
        self.driver = driver
    }

    private static func hasFormat(_ node: DeviceNode) throws(IoctlFailure) -> Bool {
        var format = v4l2_fmtdesc()
        let type = node.capabilities.isMultiplanar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE
        format.type = type.rawValue
        do throws(IoctlFailure) {
            try node.request(.enumerateFormats, &format)
            return true
        } catch {
            guard error.isUnsupported else { throw error }
            return false
        }
    }

    private static func access(_ failure: IoctlFailure, _ node: VideoNode, _ places: MachinePlaces) -> CameraAccess {
        switch failure.number {
        case EACCES, EPERM:
            .noPermission(DeviceAccess(path: node.path, errno: failure.number, places))
        case ENOENT:
            .noNode
        case ENOTTY, EINVAL:
            .notACamera(.otherNode)
        default:
            .failed(failure.number)
        }
    }
}
