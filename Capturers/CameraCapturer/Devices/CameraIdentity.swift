/// The names by which one node is known whatever its number in `/dev`: the rule of ``CameraDirectory`` for them.
struct CameraIdentity: Hashable {
    /// The one to show.
    var id: String
    /// All of them, for finding.
    var names: Set<String>

    /// - Parameters:
    ///   - node: the node.
    ///   - links: its links.
    ///   - bus: what the driver says of the bus; empty when the node could not be opened.
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
            // Two serial numbers that differ in such a character only are not to be expected.
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
