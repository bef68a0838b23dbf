import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The cameras of this machine.
///
/// They are read from the kernel's list in `/sys/class/video4linux`. A camera is a node whose own capabilities
/// (`device_caps`) include capture into buffers, and that has at least one format; the other nodes of a webcam, codecs,
/// outputs and radios are left out. Nodes that the user is not permitted to open are listed as such.
///
/// **The stable id** (``CameraDevice/id``) is the first available of these; it never depends on the number in `/dev`:
/// 1. the link in `/dev/v4l/by-id`, unless another camera here has the same maker, model and serial number;
/// 2. the link in `/dev/v4l/by-path`;
/// 3. without udev, on USB, `usb-VENDOR:PRODUCT-SERIAL-INTERFACE.INDEX`, unless another camera here has the same;
/// 4. elsewhere the driver's `bus_info`, with the node's index where several cameras have the same;
/// 5. the port: `usb-CONTROLLER-PORT-INTERFACE.INDEX`, or the bus and the device's name there.
///
/// All of these names find a camera, not only the one that is shown. Identical cameras without serial numbers are
/// distinguished by their ports.
///
/// Can be used on any thread. Listing opens each camera for a moment and never waits for one.
public struct CameraDirectory: Sendable {
    let places: MachinePlaces
    let calls: any DeviceCalls

    /// The directory of this machine.
    public init() { self.init(places: MachinePlaces()) }

    init(places: MachinePlaces, calls: any DeviceCalls = SystemDeviceCalls()) {
        self.places = places
        self.calls = calls
    }

    /// The machine's cameras: the usable ones first, each group by number. Empty when there are none.
    ///
    /// - Throws: `system` when the machine has no file descriptors or memory left.
    public static func cameras() throws(CaptureError) -> [CameraDevice] { try CameraDirectory().cameras() }

    /// The cameras: the usable ones first, each group by number. Empty when there are none.
    ///
    /// - Throws: `system` when the machine has no file descriptors or memory left.
    public func cameras() throws(CaptureError) -> [CameraDevice] {
        let listed = try nodes().filter(isListed)
        return listed.filter(\.access.isUsable) + listed.filter { !$0.access.isUsable }
    }

    /// The camera that has this stable id now, or this name among its others.
    ///
    /// - Returns: nil when it is not connected, or when several cameras have that name.
    /// - Throws: as ``cameras()-swift.method``.
    public func camera(id: String) throws(CaptureError) -> CameraDevice? {
        let found = try cameras().filter { $0.id == id || identity($0).contains(id) }
        return found.first { $0.id == id } ?? (found.count == 1 ? found[0] : nil)
    }

    /// The same camera after a replug: by maker, model and serial number, and by the port where several match; cameras
    /// that are not on USB by their id or bus. Does not wait for udev to make its links.
    ///
    /// - Returns: nil when it is not connected.
    /// - Throws: as ``cameras()-swift.method``.
    public func camera(like known: CameraDevice) throws(CaptureError) -> CameraDevice? {
        let cameras = try cameras()
        let hardware = known.node.hardware
        if let usb = hardware.usb {
            let same = cameras.filter {
                $0.node.hardware.usb == usb && $0.node.hardware.interface == hardware.interface
                    && $0.node.hardware.index == hardware.index
            }
            return same.count == 1 ? same[0] : same.first { $0.node.hardware.port == hardware.port }
        }
        if let found = cameras.first(where: { $0.id == known.id }) { return found }
        // The index may differ while the old node is still open.
        let same = cameras.filter {
            known.bus.isEmpty || $0.bus.isEmpty
                ? $0.node.hardware.port != nil && $0.node.hardware.port == hardware.port : $0.bus == known.bus
        }
        return same.count == 1 ? same[0] : same.first { $0.node.hardware.index == hardware.index }
    }

    /// All video nodes by number, also those that are not cameras, whose `access` says so.
    func nodes() throws(CaptureError) -> [CameraDevice] {
        let nodes = try VideoNode.all(places)
        let links = NodeLinks(places)
        let probes = nodes.map { NodeProbe($0, places: places, calls: calls) }
        let buses = probes.filter(\.access.isUsable).map(\.bus)
        return zip(nodes, probes).map { node, probe in
            let links = links.links(to: node)
            let identity = CameraIdentity(
                node, links: links, bus: probe.bus, among: nodes,
                isOnlyOnBus: buses.filter { $0 == probe.bus }.count < 2)
            return CameraDevice(
                id: identity.id, name: probe.name.isEmpty ? node.name : probe.name, path: node.path,
                bus: probe.bus.isEmpty ? node.hardware.port ?? "" : probe.bus, driver: probe.driver,
                access: probe.access,
                links: links, node: node)
        }
    }

    /// All names of a camera.
    func identity(_ camera: CameraDevice) -> Set<String> {
        let bus = camera.access.isUsable ? camera.bus : ""
        return CameraIdentity(camera.node, links: camera.links, bus: bus, among: [], isOnlyOnBus: true).names
    }

    /// Whether a node is listed: one that cannot be opened is, unless there is evidence that it is not a camera.
    func isListed(_ device: CameraDevice) -> Bool {
        switch device.access {
        case .usable: return true
        case .notACamera: return false
        case .noPermission, .noNode, .failed:
            if CameraDevice.NodeKind(nodeName: device.node.name) != nil { return false }
            if let captures = device.node.capturesByUdev(places) { return captures }
            // The second node of a webcam's interface gives metadata.
            return device.node.hardware.usb == nil || device.node.hardware.index == 0
        }
    }
}

/// The names of a node that do not depend on its number in `/dev`, by the rule of ``CameraDirectory``.
private struct CameraIdentity: Hashable {
    /// The name to show.
    var id: String
    /// All names, for finding.
    var names: Set<String>

    /// - Parameters:
    ///   - node: the node.
    ///   - links: its links.
    ///   - bus: the driver's `bus_info`; empty when the node could not be opened.
    ///   - others: all nodes of the machine.
    ///   - isOnlyOnBus: whether no other camera has the same `bus`.
    init(_ node: VideoNode, links: CameraDevice.Links, bus: String, among others: [VideoNode], isOnlyOnBus: Bool) {
        let hardware = node.hardware
        let place = "\(hardware.interface).\(hardware.index)"
        let twins = others.filter { other in
            other.name != node.name && hardware.usb != nil && other.hardware.usb == hardware.usb
                && other.hardware.index == hardware.index
        }
        let product = hardware.usb.map { usb in
            // Two serial numbers are not expected to differ in such a character only.
            let serial = usb.serial.map { "-" + String($0.map { $0 == "/" || $0.isWhitespace ? "_" : $0 }) } ?? ""
            return "usb-\(usb.vendor):\(usb.product)\(serial)-\(place)"
        }
        let isProductUnique = !twins.contains { $0.hardware.interface == hardware.interface }
        let port = hardware.port.map { "\($0)-\(place)" }
        let busName = bus.isEmpty ? nil : isOnlyOnBus ? bus : "\(bus)-\(hardware.index)"

        let choices: [String?] = [
            twins.isEmpty ? links.byID.first : nil, links.byPath.first, isProductUnique ? product : nil,
            hardware.usb == nil ? busName : nil, port,
        ]
        id = choices.lazy.compactMap { $0 }.first ?? node.name
        names = Set(links.all)
        names.insert(id)
        for name in [product, port, busName] { if let name { names.insert(name) } }
    }
}

/// The links to video nodes that udev has made.
private struct NodeLinks {
    private var byID: [String: [String]] = [:]
    private var byPath: [String: [String]] = [:]

    init(_ places: MachinePlaces) {
        byID = NodeLinks.links(in: places.devices + "/v4l/by-id")
        byPath = NodeLinks.links(in: places.devices + "/v4l/by-path")
    }

    func links(to node: VideoNode) -> CameraDevice.Links {
        CameraDevice.Links(byID: byID[node.name] ?? [], byPath: byPath[node.name] ?? [])
    }

    /// The names of the links by the name of the node, sorted.
    private static func links(in folder: String) -> [String: [String]] {
        var links: [String: [String]] = [:]
        for name in FileReading.names(in: folder) ?? [] {
            guard let target = FileReading.target(of: "\(folder)/\(name)") else { continue }
            links[FileReading.name(of: target), default: []].append(name)
        }
        return links
    }
}

/// The result of opening a node for a moment.
private struct NodeProbe {
    let access: CameraDevice.Access
    /// The driver's name for the device, or the kernel's where the driver cannot be asked.
    let name: String
    let bus: String
    let driver: String

    init(_ node: VideoNode, places: MachinePlaces, calls: any DeviceCalls) {
        if let kind = CameraDevice.NodeKind(nodeName: node.name) {
            self.init(access: .notACamera(kind), name: node.title)
            return
        }
        do throws(IoctlFailure) {
            let open = try DeviceNode(opening: node.path, calls: calls)
            let capabilities = open.capabilities
            var kind = CameraDevice.NodeKind(capabilities)
            if kind == nil, try !NodeProbe.hasFormat(open) { kind = .withoutFormats }
            self.init(
                access: kind.map { .notACamera($0) } ?? .usable,
                name: capabilities.card.isEmpty ? node.title : capabilities.card, bus: capabilities.bus,
                driver: capabilities.driver)
        } catch {
            self.init(access: NodeProbe.access(error, node, places), name: node.title)
        }
    }

    private init(access: CameraDevice.Access, name: String, bus: String = "", driver: String = "") {
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

    private static func access(_ failure: IoctlFailure, _ node: VideoNode, _ places: MachinePlaces)
        -> CameraDevice.Access
    {
        switch failure.number {
        case EACCES, EPERM:
            .noPermission(CameraDevice.Denial(path: node.path, errno: failure.number, places))
        case ENOENT:
            .noNode
        case ENOTTY, EINVAL:
            .notACamera(.otherNode)
        default:
            .failed(failure.number)
        }
    }
}
