import PipeWireSupport
import VideoCapturing

extension PipeWireSource {
    static var stopped: CaptureError {
        CaptureError(
            .invalidState, operation: "open a PipeWire node", subject: "PipeWire",
            message: "The capture was stopped while it waited for PipeWire.")
    }

    func notFound(_ connection: PipeWireConnection) -> CaptureError {
        let names = connection.nodes.values.videoSources.map { "\($0.name) (\(printable($0.title, limit: 60)))" }
        let all = names.isEmpty ? "No node gives pictures now." : "There are \(names.joined(separator: ", "))."
        return CaptureError(
            .deviceNotFound, operation: "open a PipeWire node", subject: settings.sourceName ?? "PipeWire",
            message: "There is no such source of pictures. \(all)")
    }

    func failure(_ node: PipeWireNode, _ reason: String) -> CaptureError {
        let isFormat = reason.contains("format")
        return CaptureError(
            isFormat ? .formatUnsupported : .deviceNotFound, operation: "open a PipeWire node", subject: node.title,
            message: isFormat
                ? "The node offers no raw pictures in ordinary memory (\(reason)); choose another one."
                : "The node cannot be reached (\(reason)); choose another one.")
    }

    func notLinked(_ node: PipeWireNode) -> CaptureError {
        CaptureError(
            .unavailable, operation: "open a PipeWire node", subject: node.title,
            message: "The node sends nothing within 5 s. A session manager must link it; start one with: "
                + "systemctl --user start wireplumber")
    }
}
