import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the camera that a user has named.
///
/// The text is a path (`/dev/video0`, or a link to it), the name of a link in `/dev/v4l/by-id` or `by-path` with or
/// without its folder, a ``CameraDevice/id``, a number, or a part of the camera's name (case-insensitive). Nil stands
/// for the first usable camera.
package struct CameraSelector: Sendable, Hashable {
    /// The text from the user.
    package let text: String?

    /// Makes a selector; nil stands for the first usable camera.
    package init(_ text: String? = nil) {
        self.text = text
    }

    /// The camera, which can be opened now unless another program uses it.
    ///
    /// - Throws: `deviceNotFound` for no camera or no such camera; `invalidConfiguration` for an empty name, a device
    ///   that is not a camera, or a name that fits several; `permissionDenied`, `deviceLost`, `deviceBusy` or `system`
    ///   for a camera that does not open.
    package func resolve(in directory: CameraDirectory = CameraDirectory()) throws(CaptureError) -> CameraDevice {
        if let text, text.allSatisfy(\.isWhitespace) { throw CameraSelector.noName }
        let nodes = try directory.nodes()
        let cameras = nodes.filter(directory.isListed)
        let device =
            if let text {
                try find(text, nodes: nodes, cameras: cameras, directory)
            } else {
                try first(of: cameras, nodes: nodes, directory)
            }
        if let error = device.accessError { throw error }
        return device
    }

    private func first(
        of cameras: [CameraDevice], nodes: [CameraDevice], _ directory: CameraDirectory
    ) throws(CaptureError) -> CameraDevice {
        // An unusable one is still the best answer: its error names the next step.
        if let found = cameras.first(where: \.access.isUsable) ?? cameras.first { return found }
        throw NoCameraAdvice(directory.places).error(nodes: nodes)
    }

    private func find(
        _ text: String, nodes: [CameraDevice], cameras: [CameraDevice], _ directory: CameraDirectory
    ) throws(CaptureError) -> CameraDevice {
        if text.contains("/"), let found = try node(at: text, nodes, directory) { return found }
        let number = text.allSatisfy { $0.isASCII && $0.isNumber } ? Int(text) : nil
        if let found = nodes.first(where: { $0.node.name == text || $0.node.name == number.map { "video\($0)" } }) {
            return found
        }
        if let found = cameras.first(where: { $0.id == text }) { return found }
        let known = cameras.filter { directory.identity($0).contains(text) }
        if known.count == 1 { return known[0] }
        if let found = nodes.first(where: { $0.links.all.contains(text) }) { return found }
        return try named(text, cameras: cameras, nodes: nodes, directory)
    }

    /// The node at a path; nil when nothing is there.
    private func node(
        at path: String, _ nodes: [CameraDevice], _ directory: CameraDirectory
    ) throws(CaptureError) -> CameraDevice? {
        let devices = directory.places.devices
        // Links may be relative to `/dev` or `/dev/v4l`.
        for path in [path, "\(devices)/\(path)", "\(devices)/v4l/\(path)"] {
            guard let resolved = FileReading.resolved(path), let status = FileReading.status(of: path) else { continue }
            let folder = FileReading.resolved(devices) ?? devices
            let isDevice = status.st_mode & S_IFMT == S_IFCHR
            let number = DeviceNumber(status.st_rdev).description
            if let found = nodes.first(where: {
                resolved == "\(folder)/\($0.node.name)" || (isDevice && $0.node.device == number)
            }) {
                return found
            }
            throw CameraSelector.notACamera(path, CameraSelector.kind(status, name: FileReading.name(of: resolved)))
        }
        // The kernel may list a node that does not exist in `/dev`.
        return nodes.first { $0.path == path }
    }

    private static func kind(_ status: stat, name: String) -> CameraDevice.NodeKind {
        switch status.st_mode & S_IFMT {
        case S_IFDIR: .folder
        case S_IFREG: .file
        case S_IFCHR where DeviceNumber(status.st_rdev).major == DeviceNumber.videoMajor:
            CameraDevice.NodeKind(nodeName: name) ?? .otherNode
        default: .otherDevice
        }
    }

    private func named(
        _ text: String, cameras: [CameraDevice], nodes: [CameraDevice], _ directory: CameraDirectory
    ) throws(CaptureError) -> CameraDevice {
        let wanted = text.lowercased()
        let fitting = wanted.isEmpty ? [] : cameras.filter { $0.name.lowercased().contains(wanted) }
        let exact = fitting.filter { $0.name.lowercased() == wanted }
        // Usable cameras have priority over others that fit.
        for group in [exact.filter(\.access.isUsable), fitting.filter(\.access.isUsable), exact, fitting] {
            guard !group.isEmpty else { continue }
            guard group.count == 1 else { throw CameraSelector.ambiguous(text, group) }
            return group[0]
        }
        guard !cameras.isEmpty else { throw NoCameraAdvice(directory.places).error(nodes: nodes) }
        throw CameraSelector.noMatch(text, cameras)
    }
}

extension CameraSelector {
    fileprivate static var noName: CaptureError {
        CaptureError(
            .invalidConfiguration, operation: "find the camera",
            message: "The name of the camera is empty; give its path, its id or a part of its name, or none at all for "
                + "the first camera that can be used.")
    }

    /// The error for a node that is not a camera by its capabilities.
    static func notACamera(_ path: String, _ capabilities: DeviceCapabilities) -> CaptureError {
        notACamera(path, CameraDevice.NodeKind(capabilities) ?? .otherNode)
    }

    /// The error for a device or file of another kind.
    static func notACamera(_ path: String, _ kind: CameraDevice.NodeKind) -> CaptureError {
        let next = kind.remedy ?? "choose one of the cameras that there are"
        return CaptureError(
            .invalidConfiguration, operation: "open the camera", subject: path,
            message: "This is \(kind), not a camera; \(next).")
    }

    fileprivate static func noMatch(_ text: String, _ cameras: [CameraDevice]) -> CaptureError {
        let names = cameras.flatMap { [$0.name, $0.id, $0.path] + $0.links.all }
        let guess = nearestName(to: text, in: names).map { "did you mean \"\($0)\"? There" } ?? "there"
        return CaptureError(
            .deviceNotFound, operation: "find the camera", subject: text,
            message: "There is no such camera; \(guess) is \(list(cameras)).")
    }

    fileprivate static func ambiguous(_ text: String, _ cameras: [CameraDevice]) -> CaptureError {
        let equal = Set(cameras.map(\.name)).count < cameras.count
        let choices = list(cameras, detail: equal ? \.id : \.path)
        return CaptureError(
            .invalidConfiguration, operation: "find the camera", subject: text,
            message: "This fits \(cameras.count) cameras; choose by path or id: \(choices).")
    }

    /// A list of the first eight, for a sentence.
    private static func list(_ cameras: [CameraDevice], detail: KeyPath<CameraDevice, String>? = nil) -> String {
        let shown = cameras.prefix(8).map { camera in
            let detail = detail.flatMap { $0 == \.path ? nil : ", " + camera[keyPath: $0] } ?? ""
            return "\(camera.name) (\(camera.path)\(detail))"
        }
        let rest = cameras.count - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}

/// The error for a machine without a camera; the next step depends on the kind of machine.
private struct NoCameraAdvice {
    private let places: MachinePlaces

    init(_ places: MachinePlaces) {
        self.places = places
    }

    /// - Parameter nodes: the video nodes of the machine, none of them a camera.
    func error(nodes: [CameraDevice]) -> CaptureError {
        let message: String
        if let node = nodes.first {
            let count =
                nodes.count == 1 ? "The only video node is" : "None of the \(nodes.count) video nodes is a camera;"
            let what = nodes.count == 1 ? "\(node.access)" : "\(node.path) is \(node.access)"
            message = "\(count) \(what), so there is no camera; \(next)."
        } else if FileReading.names(in: places.videoClass) == nil {
            message = "There is no camera, and no driver for one is loaded; \(next)."
        } else {
            message = "There is no camera; \(next)."
        }
        return CaptureError(.deviceNotFound, operation: "find a camera", message: message)
    }

    private var next: String {
        if places.containerMarks.contains(where: { FileReading.status(of: $0) != nil }) {
            return "start the container with --device /dev/video0, or whichever node the camera has outside"
        }
        if FileReading.text(of: places.processes + "/version")?.lowercased().contains("microsoft") == true {
            return "attach the camera to WSL with usbipd"
        }
        if isVirtual {
            return "hand a USB camera through to this virtual machine, then load its driver (sudo modprobe uvcvideo)"
        }
        return "plug one in, or load its driver (sudo modprobe uvcvideo; sudo modprobe vivid makes a test camera)"
    }

    private var isVirtual: Bool {
        let machine = ["sys_vendor", "product_name"].compactMap { FileReading.line(of: "\(places.firmware)/\($0)") }
            .joined(separator: " ").lowercased()
        return ["qemu", "kvm", "virtualbox", "vmware", "virtual machine", "xen"].contains { machine.contains($0) }
    }
}
