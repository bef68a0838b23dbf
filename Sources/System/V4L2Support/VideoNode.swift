import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A video node as the kernel lists it, before it is opened.
package struct VideoNode: Sendable, Hashable {
    /// Its name in `/dev`: `video0`.
    package let name: String
    /// The number at the end of the name.
    package let number: Int
    /// The path to open.
    package let path: String
    /// The kernel's name for it, to show; empty when there is none.
    package let title: String
    /// Major and minor number, `81:0`; empty when unknown.
    package let device: String
    /// The device that it belongs to.
    package let hardware: NodeHardware
    /// The inode of its folder in sysfs, which is a new one each time that a driver binds the device; nil where sysfs
    /// is not visible.
    package let registration: UInt64?

    /// All nodes, by number. Empty where the kernel has no video driver loaded.
    ///
    /// Where the kernel's list is hidden (in some sandboxes) the nodes are those in `/dev`.
    ///
    /// - Throws: `system` when the system has no descriptors or memory left to read the list.
    package static func all(_ places: MachinePlaces) throws(CaptureError) -> [VideoNode] {
        var names = FileReading.names(in: places.videoClass)
        let number = errno
        if names == nil, [EMFILE, ENFILE, ENOMEM].contains(number) {
            throw CaptureError(
                .system, operation: "list the video devices", subject: places.videoClass, errno: number,
                message: "The list of video devices cannot be read; close other files or programs, then try again.")
        }
        names = names ?? videoDevices(in: places.devices)
        return (names ?? []).compactMap { VideoNode(name: $0, places) }
            .sorted { ($0.number, $0.name) < ($1.number, $1.name) }
    }

    package init?(name: String, _ places: MachinePlaces) {
        guard let number = VideoNode.number(in: name) else { return nil }
        let folder = "\(places.videoClass)/\(name)"
        self.name = name
        self.number = number
        path = "\(places.devices)/\(name)"
        title = FileReading.line(of: folder + "/name") ?? ""
        device = FileReading.line(of: folder + "/dev") ?? ""
        hardware = NodeHardware(folder: folder)
        registration = FileReading.status(of: folder).map { UInt64($0.st_ino) }
    }

    /// Whether the device was present all the time since the earlier listing: neither unplugged nor unbound from its
    /// driver.
    package func hasStayed(since earlier: VideoNode) -> Bool {
        registration != nil && registration == earlier.registration && hardware == earlier.hardware
    }

    private static func number(in name: String) -> Int? {
        let digits = String(name.reversed().prefix { $0.isASCII && $0.isNumber }.reversed())
        return digits.isEmpty || digits.count == name.count ? nil : Int(digits)
    }

    private static func videoDevices(in folder: String) -> [String] {
        (FileReading.names(in: folder) ?? []).filter { name in
            guard name.hasPrefix("video"), let status = FileReading.status(of: "\(folder)/\(name)") else {
                return false
            }
            return status.st_mode & S_IFMT == S_IFCHR && DeviceNumber(status.st_rdev).major == DeviceNumber.videoMajor
        }
    }

    /// Whether the node captures video by udev's database, which is readable even where the node is not; nil without
    /// udev.
    package func capturesByUdev(_ places: MachinePlaces) -> Bool? {
        guard !device.isEmpty, let entry = FileReading.text(of: "\(places.udevData)/c\(device)", atMost: 16384) else {
            return nil
        }
        let key = "E:ID_V4L_CAPABILITIES="
        guard let line = entry.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return nil }
        return line.dropFirst(key.count).split(separator: ":").contains("capture")
    }
}

/// A device number, split as Linux does (`gnu_dev_major`).
package struct DeviceNumber: Hashable, CustomStringConvertible {
    package static let videoMajor: UInt = 81

    package let major: UInt
    package let minor: UInt

    package init(_ number: dev_t) {
        let number = UInt(number)
        major = (number >> 8) & 0xfff | (number >> 32) & ~0xfff
        minor = number & 0xff | (number >> 12) & ~0xff
    }

    package var description: String { "\(major):\(minor)" }
}

/// The device of a video node, from the kernel's device tree in sysfs.
package struct NodeHardware: Sendable, Hashable {
    /// The identification of a USB device.
    package struct USB: Sendable, Hashable {
        package var vendor: String
        package var product: String
        package var serial: String?
    }

    /// Nil for devices that are not on USB.
    package var usb: USB?
    /// The USB interface's number; 0 elsewhere.
    package var interface = 0
    /// The node's number within its interface or device.
    package var index = 0
    /// The port, which is the same after a reboot: `usb-0000:00:14.0-1.2`, `platform-vivid.0`; nil for devices without
    /// one.
    package var port: String?

    /// - Parameter folder: the node's folder in sysfs.
    package init(folder: String) {
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

    /// `usb-CONTROLLER-PORT`, as the USB drivers form `bus_info`. Without the bus number, which depends on the order in
    /// which controllers were found.
    private static func usbPort(_ device: String) -> String {
        let parts = device.split(separator: "/").map(String.init)
        let root = parts.lastIndex { $0.hasPrefix("usb") && Int($0.dropFirst(3)) != nil }
        let controller = root.flatMap { $0 > 0 ? parts[$0 - 1] : nil } ?? "usb"
        let name = parts.last ?? ""
        let port = name.split(separator: "-", maxSplits: 1).last.map(String.init) ?? name
        return "usb-\(controller)-\(port)"
    }
}
