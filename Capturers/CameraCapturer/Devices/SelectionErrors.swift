import VideoCapturing

extension CameraSelector {
    static var noName: CaptureError {
        CaptureError(
            .invalidConfiguration, operation: "find the camera",
            message: "The name of the camera is empty; give its path, its id or a part of its name, or none at all for "
                + "the first camera that can be used.")
    }

    /// The error for a node that is no camera, as its capabilities say.
    static func notACamera(_ path: String, _ capabilities: DeviceCapabilities) -> CaptureError {
        notACamera(path, NodeKind(capabilities) ?? .otherNode)
    }

    static func notACamera(_ path: String, _ kind: NodeKind) -> CaptureError {
        let next = kind.remedy ?? "choose one of the cameras that there are"
        return CaptureError(
            .invalidConfiguration, operation: "open the camera", subject: path,
            message: "This is \(kind), not a camera; \(next).")
    }

    static func noMatch(_ text: String, _ cameras: [CameraDevice]) -> CaptureError {
        let names = cameras.flatMap { [$0.name, $0.id, $0.path] + $0.links.all }
        let guess = nearestName(to: text, in: names).map { "did you mean \"\($0)\"? There" } ?? "there"
        return CaptureError(
            .deviceNotFound, operation: "find the camera", subject: text,
            message: "There is no such camera; \(guess) is \(list(cameras)).")
    }

    static func ambiguous(_ text: String, _ cameras: [CameraDevice]) -> CaptureError {
        let equal = Set(cameras.map(\.name)).count < cameras.count
        let choices = list(cameras, detail: equal ? \.id : \.path)
        return CaptureError(
            .invalidConfiguration, operation: "find the camera", subject: text,
            message: "This fits \(cameras.count) cameras; choose by path or id: \(choices).")
    }

    /// The first of them, since a sentence must stay one.
    private static func list(_ cameras: [CameraDevice], detail: KeyPath<CameraDevice, String>? = nil) -> String {
        let shown = cameras.prefix(8).map { camera in
            let detail = detail.flatMap { $0 == \.path ? nil : ", " + camera[keyPath: $0] } ?? ""
            return "\(camera.name) (\(camera.path)\(detail))"
        }
        let rest = cameras.count - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}
