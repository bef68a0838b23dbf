/// What a video node belongs to, as the kernel's device tree in sysfs has it.
struct NodeHardware: Sendable, Hashable {
    /// The numbers of a USB device.
    struct USB: Sendable, Hashable {
        var vendor: String
        var product: String
        var serial: String?
    }

    /// Nil for what is not on USB.
    var usb: USB?
    /// The USB interface's number; 0 elsewhere.
    var interface = 0
    /// Counts the nodes of one interface or device.
    var index = 0
    /// The place it is attached at, which is the same after a reboot: `usb-0000:00:14.0-1.2`, `platform-vivid.0`;
    /// nil for devices that are attached to nothing.
    var port: String?

    /// - Parameter folder: the node's folder in sysfs.
    init(folder: String) {
        index = FileReading.line(of: folder + "/index").flatMap { Int($0) } ?? 0
        guard let device = FileReading.resolved(folder + "/device") else { return }
        let subsystem = FileReading.target(of: device + "/subsystem").map { FileReading.name(of: $0) + "-" } ?? ""
        port = subsystem + FileReading.name(of: device)
        // The parent is an interface of the USB device, seldom the device itself.
        var parent = device
        for _ in 0..<3 {
            if let number = FileReading.line(of: parent + "/bInterfaceNumber") {
                interface = Int(number, radix: 16) ?? 0
            }
            if let vendor = FileReading.line(of: parent + "/idVendor"),
                let product = FileReading.line(of: parent + "/idProduct")
            {
                usb = USB(vendor: vendor, product: product, serial: FileReading.line(of: parent + "/serial"))
                port = NodeHardware.usbPort(parent)
                return
            }
            parent = FileReading.folder(of: parent)
        }
    }

    /// `usb-CONTROLLER-PORT`, as the USB drivers make `bus_info`. The bus's number is left out: it depends on the
    /// order in which controllers were found.
    private static func usbPort(_ device: String) -> String {
        let parts = device.split(separator: "/").map(String.init)
        let root = parts.lastIndex { $0.hasPrefix("usb") && Int($0.dropFirst(3)) != nil }
        let controller = root.flatMap { $0 > 0 ? parts[$0 - 1] : nil } ?? "usb"
        let name = parts.last ?? ""
        let port = name.split(separator: "-", maxSplits: 1).last.map(String.init) ?? name
        return "usb-\(controller)-\(port)"
    }
}
