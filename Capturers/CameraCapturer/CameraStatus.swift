import VideoCapturing

/// What the capture thread tells and any thread may ask.
final class CameraStatus: Sendable {
    struct Contents {
        var device: CameraDevice?
        var decision: CameraModeDecision?
        var statistics = CameraStatistics()
        var exporter: BufferExporter?
        var eventHandler: (@Sendable (CameraEvent) -> Void)?
        /// What this program has set and the capture thread does not know of yet, by the control's identifier.
        var controlsSet: [UInt32: CameraControlValue] = [:]
    }

    let contents = Locked(Contents())

    func count(_ change: (inout CameraStatistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    /// The program has set a control past the capture thread, which learns of it from here even where the camera is
    /// unplugged before its driver can tell.
    func noteControl(id: UInt32, value: CameraControlValue) {
        contents.withLock { $0.controlsSet[id] = value }
    }

    /// What was noted since the last call.
    func takeControls() -> [UInt32: CameraControlValue] {
        contents.withLock { contents in
            defer { contents.controlsSet.removeAll() }
            return contents.controlsSet
        }
    }

    /// Calls the handler, without the lock.
    func tell(_ event: CameraEvent) {
        contents.withLock { $0.eventHandler }?(event)
    }
}
