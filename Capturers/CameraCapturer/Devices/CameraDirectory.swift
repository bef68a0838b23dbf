import CLibV4L2
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The cameras of this machine.
///
/// They are taken from the kernel's list in `/sys/class/video4linux`. A camera is a node whose own capabilities
/// (`device_caps`) say that it captures pictures into buffers, and that has at least one format; the other nodes of a
/// webcam, codecs, outputs and radios are left out. Nodes that the user may not open are listed as such.
///
/// **The stable id** (``CameraDevice/id``) is the first of these that there is; it never depends on the number in
/// `/dev`:
/// 1. the link in `/dev/v4l/by-id`, unless another camera here has the same maker, model and serial number;
/// 2. the link in `/dev/v4l/by-path`;
/// 3. without udev, on USB, `usb-VENDOR:PRODUCT-SERIAL-INTERFACE.INDEX`, unless another camera here has the same;
/// 4. elsewhere the driver's `bus_info`, with the node's index where several cameras have the same;
/// 5. the port: `usb-CONTROLLER-PORT-INTERFACE.INDEX`, or the bus and the device's name there.
///
/// All of these names find a camera, not only the one that is shown. Equal cameras without serial numbers are told
/// apart by their ports.
///
/// Any thread may use it. Listing opens each camera for a moment and never waits for one.
public struct CameraDirectory: Sendable {
    let places: MachinePlaces
    let calls: any DeviceCalls

    /// The machine's own.
    public init() { self.init(places: MachinePlaces()) }

    init(places: MachinePlaces, calls: any DeviceCalls = SystemDeviceCalls()) {
        self.places = places
        self.calls = calls
    }

    /// The machine's cameras: those that can be used first, each group by number. Empty when there are none.
    ///
    /// Throws `system` when the machine has no file descriptors or memory left.
    public static func cameras() throws(CaptureError) -> [CameraDevice] { try CameraDirectory().cameras() }

    /// The cameras: those that can be used first, each group by number. Empty when there are none.
    ///
    /// Throws `system` when the machine has no file descriptors or memory left.
    public func cameras() throws(CaptureError) -> [CameraDevice] {
        let listed = try nodes().filter(isListed)
        return listed.filter(\.access.isUsable) + listed.filter { !$0.access.isUsable }
    }

    /// The camera that has this stable id, or another of its names, now; nil when it is not here, or when several
    /// cameras go by that name.
    public func camera(id: String) throws(CaptureError) -> CameraDevice? {
        let found = try cameras().filter { $0.id == id || identity($0).contains(id) }
        return found.first { $0.id == id } ?? (found.count == 1 ? found[0] : nil)
    }

    /// The same camera again, after it was unplugged: by its id, else by maker, model and serial number, and by the
    /// port where that leaves several. Does not wait for udev to make its links.
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
        // The index may differ while someone holds the old node.
        let same = cameras.filter {
            known.bus.isEmpty || $0.bus.isEmpty
                ? $0.node.hardware.port != nil && $0.node.hardware.port == hardware.port : $0.bus == known.bus
        }
        return same.count == 1 ? same[0] : same.first { $0.node.hardware.index == hardware.index }
    }

    /// All video nodes, cameras or not, by number; what is no camera says so in its access.
    func nodes() throws(CaptureError) -> [CameraDevice] {
        let nodes = try VideoNode.all(places)
        let links = NodeLinks(places)
        let looks = nodes.map { NodeLook($0, places: places, calls: calls) }
        let buses = looks.filter(\.access.isUsable).map(\.bus)
        return zip(nodes, looks).map { node, look in
            let links = links.links(to: node)
            let identity = CameraIdentity(
                node, links: links, bus: look.bus, among: nodes,
                isOnlyOnBus: buses.filter { $0 == look.bus }.count < 2)
            return CameraDevice(
                id: identity.id, name: look.name.isEmpty ? node.name : look.name, path: node.path,
                bus: look.bus.isEmpty ? node.hardware.port ?? "" : look.bus, driver: look.driver, access: look.access,
                links: links, node: node)
        }
    }

    /// All names of a camera.
    func identity(_ camera: CameraDevice) -> Set<String> {
        let bus = camera.access.isUsable ? camera.bus : ""
        return CameraIdentity(camera.node, links: camera.links, bus: bus, among: [], isOnlyOnBus: true).names
    }

    /// A node that cannot be opened is listed unless something says that it is no camera.
    func isListed(_ device: CameraDevice) -> Bool {
        switch device.access {
        case .usable: return true
        case .notACamera: return false
        case .noPermission, .noNode, .failed:
            if NodeKind(nodeName: device.node.name) != nil { return false }
            if let captures = device.node.capturesByUdev(places) { return captures }
            // The second node of a webcam's interface gives metadata.
            return device.node.hardware.usb == nil || device.node.hardware.index == 0
        }
    }
}
