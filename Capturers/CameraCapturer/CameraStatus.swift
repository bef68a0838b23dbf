import VideoCapturing

/// What the capture thread tells and any thread may ask.
final class CameraStatus: Sendable {
    struct Contents {
        var device: CameraDevice?
        var decision: CameraModeDecision?
        var statistics = CameraStatistics()
        var exporter: BufferExporter?
        var eventHandler: (@Sendable (CameraEvent) -> Void)?
    }

    let contents = Locked(Contents())

    func count(_ change: (inout CameraStatistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    /// Calls the handler, without the lock.
    func tell(_ event: CameraEvent) {
        contents.withLock { $0.eventHandler }?(event)
    }
}
