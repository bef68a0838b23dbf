import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A video node as the kernel lists it, before it is opened.
struct VideoNode: Sendable, Hashable {
    /// Its name in `/dev`: `video0`.
    let name: String
    /// The number at the end of the name.
    let number: Int
    /// The path to open.
    let path: String
    /// The kernel's name for it, for people; empty when it says nothing.
    let title: String
    /// Major and minor number, `81:0`; empty when unknown.
    let device: String
    /// What it belongs to.
    let hardware: NodeHardware
    /// The number of its folder in sysfs, of which there is a new one each time that a driver takes the device; nil
    /// where there is none to see.
    let registration: UInt64?

    /// All nodes, by number. Empty where the kernel has no video driver loaded.
    ///
    /// Where the kernel's list is hidden (some sandboxes do) the nodes in `/dev` are taken as they are.
    ///
    /// Throws when the system has no descriptors or memory left to read the list with.
    static func all(_ places: MachinePlaces) throws(CaptureError) -> [VideoNode] {
        var names = FileReading.names(in: places.videoClass)
        let number = errno
        if names == nil, [EMFILE, ENFILE, ENOMEM].contains(number) {
            throw CaptureError(
                .system, operation: "list the cameras", subject: places.videoClass, errno: number,
                message: "The list of cameras cannot be read; close other files or programs, then try again.")
        }
        names = names ?? videoDevices(in: places.devices)
        return (names ?? []).compactMap { VideoNode(name: $0, places) }
            .sorted { ($0.number, $0.name) < ($1.number, $1.name) }
    }

    init?(name: String, _ places: MachinePlaces) {
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

    /// Whether the device has been there all the time between the two looks: neither pulled out, nor given up by its
    /// driver.
    func hasStayed(since earlier: VideoNode) -> Bool {
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

    /// Whether udev, which may open every node, has seen that it captures pictures; nil without udev.
    func capturesByUdev(_ places: MachinePlaces) -> Bool? {
        guard !device.isEmpty, let notes = FileReading.text(of: "\(places.udevData)/c\(device)", atMost: 16384) else {
            return nil
        }
        let key = "E:ID_V4L_CAPABILITIES="
        guard let line = notes.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return nil }
        return line.dropFirst(key.count).split(separator: ":").contains("capture")
    }
}

/// A device's number, taken apart as Linux does (`gnu_dev_major`).
struct DeviceNumber: Hashable, CustomStringConvertible {
    static let videoMajor: UInt = 81

    let major: UInt
    let minor: UInt

    init(_ number: dev_t) {
        let number = UInt(number)
        major = (number >> 8) & 0xfff | (number >> 32) & ~0xfff
        minor = number & 0xff | (number >> 12) & ~0xff
    }

    var description: String { "\(major):\(minor)" }
}
