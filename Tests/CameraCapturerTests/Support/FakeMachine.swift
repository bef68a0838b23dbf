import TestTools
import V4L2Support

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A folder with a machine's `/sys`, `/dev` and `/etc`, removed at the end of the test. Its nodes are ordinary files;
/// the driver answers for them.
final class FakeMachine {
    private let folder = TemporaryFolder()
    var root: String { folder.path }
    let driver = FakeControlDriver()
    private var removals = 0
    var places: MachinePlaces { MachinePlaces(root: root) }
    var directory: CameraDirectory { CameraDirectory(places: places, calls: driver) }

    init(hasVideoClass: Bool = true) {
        makeFolder("/dev")
        makeFolder("/etc")
        if hasVideoClass { makeFolder("/sys/class/video4linux") }
    }

    func path(_ node: String) -> String { "\(root)/dev/\(node)" }

    /// A node of a webcam.
    func addUSB(
        _ name: String, port: String = "1-1", product: String = "046d:082d", serial: String? = nil,
        interface: Int = 0, index: Int = 0, _ node: FakeControlDriver.Node = .init()
    ) {
        let controller = "/sys/devices/pci0000:00/0000:00:14.0/usb1"
        let numbers = product.split(separator: ":").map(String.init)
        write("\(controller)/\(port)/idVendor", numbers[0])
        write("\(controller)/\(port)/idProduct", numbers[1])
        if let serial { write("\(controller)/\(port)/serial", serial) }
        write("\(controller)/\(port)/\(port):1.\(interface)/bInterfaceNumber", "0\(interface)")
        add(name, device: "\(controller)/\(port)/\(port):1.\(interface)", subsystem: "usb", index: index, node)
    }

    /// A node of a device that is part of the machine.
    func addPlatform(_ name: String, device: String, index: Int = 0, _ node: FakeControlDriver.Node) {
        add(name, device: "/sys/devices/platform/\(device)", subsystem: "platform", index: index, node)
    }

    private func add(
        _ name: String, device: String, subsystem: String, index: Int, _ node: FakeControlDriver.Node
    ) {
        let folder = "\(device)/video4linux/\(name)"
        write(folder + "/name", node.card)
        write(folder + "/index", "\(index)")
        write(folder + "/dev", "81:\(name.filter(\.isNumber))")
        link(folder + "/device", to: root + device)
        link(device + "/subsystem", to: "/sys/bus/\(subsystem)")
        link("/sys/class/video4linux/\(name)", to: root + folder)
        write("/dev/\(name)", "")
        driver[path(name)] = node
    }

    /// Pulls a device out.
    func remove(_ name: String) {
        let link = "\(root)/sys/class/video4linux/\(name)"
        if let folder = FileReading.resolved(link) {
            // Not deleted: as in sysfs, the next folder must not get its number.
            makeFolder("/gone")
            removals += 1
            rename(folder, "\(root)/gone/\(removals)")
        }
        unlink(link)
        unlink(path(name))
        driver[path(name)] = nil
    }

    func write(_ path: String, _ text: String) {
        makeFolder(FileReading.folder(of: path))
        let file = fopen(root + path, "w")!
        fputs(text + "\n", file)
        fclose(file)
    }

    func link(_ path: String, to target: String) {
        makeFolder(FileReading.folder(of: path))
        unlink(root + path)
        symlink(target, root + path)
    }

    func makeFolder(_ path: String) {
        var folder = root
        for part in path.split(separator: "/") {
            folder += "/\(part)"
            mkdir(folder, 0o755)
        }
    }

}

extension FakeControlDriver.Node {
    static func webcam(_ card: String = "HD Pro Webcam C920") -> Self { Self(card: card) }
    static var metadata: Self { Self(card: "HD Pro Webcam C920", capabilities: 0x0480_0000 | 0x0080_0000) }
    static func vivid(_ number: Int) -> Self {
        Self(card: "vivid", driver: "vivid", bus: "platform:vivid-00\(number)")
    }
    static var unicam: Self {
        Self(card: "unicam", driver: "unicam", bus: "platform:fe801000.csi")
    }
    static var codec: Self {
        Self(
            card: "bcm2835-codec-decode", driver: "bcm2835-codec", bus: "platform:bcm2835-codec",
            capabilities: 0x0400_4000)
    }
}
