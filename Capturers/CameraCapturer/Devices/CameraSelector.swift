import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Which camera a user means.
///
/// The text is a path (`/dev/video0`, or a link to it), the name of a link in `/dev/v4l/by-id` or `by-path` with or
/// without its folder, a ``CameraDevice/id``, a number, or a part of the camera's name, upper and lower case alike.
/// Nil stands for the first camera that can be used.
public struct CameraSelector: Sendable, Hashable {
    /// What the user has written.
    public let text: String?

    public init(_ text: String? = nil) {
        self.text = text
    }

    /// The camera, which can be opened now unless another program has it.
    ///
    /// Throws `deviceNotFound` for no camera or no such camera, `invalidConfiguration` for no name, what is no camera or
    /// fits several, `permissionDenied`, `deviceLost`, `deviceBusy` or `system` for a camera that does not open.
    public func resolve(in directory: CameraDirectory = CameraDirectory()) throws(CaptureError) -> CameraDevice {
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
        // One that cannot be used is still the best answer: its error says what to do.
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

    /// What a path leads to; nil when nothing is there.
    private func node(
        at path: String, _ nodes: [CameraDevice], _ directory: CameraDirectory
    ) throws(CaptureError) -> CameraDevice? {
        let devices = directory.places.devices
        // Links may be given from any folder above them.
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
        // The kernel may know of a node that is not there to be opened.
        return nodes.first { $0.path == path }
    }

    private static func kind(_ status: stat, name: String) -> NodeKind {
        switch status.st_mode & S_IFMT {
        case S_IFDIR: .folder
        case S_IFREG: .file
        case S_IFCHR where DeviceNumber(status.st_rdev).major == DeviceNumber.videoMajor:
            NodeKind(nodeName: name) ?? .otherNode
        default: .otherDevice
        }
    }

    private func named(
        _ text: String, cameras: [CameraDevice], nodes: [CameraDevice], _ directory: CameraDirectory
    ) throws(CaptureError) -> CameraDevice {
        let wanted = text.lowercased()
        let fitting = wanted.isEmpty ? [] : cameras.filter { $0.name.lowercased().contains(wanted) }
        let exact = fitting.filter { $0.name.lowercased() == wanted }
        // What cannot be used is not what was meant, as long as something else fits.
        for group in [exact.filter(\.access.isUsable), fitting.filter(\.access.isUsable), exact, fitting] {
            guard !group.isEmpty else { continue }
            guard group.count == 1 else { throw CameraSelector.ambiguous(text, group) }
            return group[0]
        }
        guard !cameras.isEmpty else { throw NoCameraAdvice(directory.places).error(nodes: nodes) }
        throw CameraSelector.noMatch(text, cameras)
    }
}
