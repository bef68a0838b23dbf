import V4L2Support
import VideoCapturing

extension CameraCapturer {
    /// Statistics of a camera since `initCapture`, in addition to `CaptureStatistics`.
    public struct Statistics: Sendable, Hashable {
        /// Frames delivered in the driver's own memory.
        public var framesLent: UInt64 = 0
        /// Frames copied since the driver needed its buffer back. Packets and JPEG that is delivered as it is, are always copied.
        public var framesCopied: UInt64 = 0
        /// Frames converted, scaled or decoded.
        public var framesConverted: UInt64 = 0
        /// Frames dropped to keep to the desired rate.
        public var framesDecimated: UInt64 = 0
        /// Frames dropped since newer ones were waiting already.
        public var framesSkipped: UInt64 = 0
        /// Damaged frames: marked by the driver, truncated, or no JPEG.
        public var framesDamaged: UInt64 = 0
        /// Frames whose driver's timestamp failed validation, and that have their time of arrival instead.
        public var timestampsReplaced: UInt64 = 0
        /// Restarts of the stream, or openings of the camera, after a failure.
        public var restarts: UInt64 = 0
        /// Returns of the camera after it was unplugged.
        public var reconnects: UInt64 = 0

        /// All counts at zero.
        public init() {}
    }
}

/// The state that the capture thread publishes and any thread may read.
final class CameraStatus: Sendable {
    struct Contents {
        var device: CameraDevice?
        var decision: CameraMode.Decision?
        var statistics = CameraCapturer.Statistics()
        var eventHandler: (@Sendable (CameraCapturer.Event) -> Void)?
        /// The values that this program has set and the capture thread has not taken yet, by the control's identifier.
        var controlsSet: [UInt32: CameraControl.Value] = [:]
    }

    let contents = Locked(Contents())
    /// A frame of another size that was asked for.
    let shot = SizedShot()

    func count(_ change: (inout CameraCapturer.Statistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    /// Records a control that the program has set on another thread, so that the capture thread learns of it even where
    /// the camera is unplugged before its driver sends the event.
    func recordControl(id: UInt32, value: CameraControl.Value) {
        contents.withLock { $0.controlsSet[id] = value }
    }

    /// The values recorded since the last call.
    func takeControls() -> [UInt32: CameraControl.Value] {
        contents.withLock { contents in
            defer { contents.controlsSet.removeAll() }
            return contents.controlsSet
        }
    }

    /// The camera that was found.
    ///
    /// - Throws: `invalidState` before that.
    func knownDevice(_ operation: String, _ subject: String?) throws(CaptureError) -> CameraDevice {
        if let device = contents.withLock({ $0.device }) { return device }
        throw CaptureError(
            .invalidState, operation: operation, subject: subject,
            message: "The camera is not known yet; call initCapture first.")
    }

    /// Sets a control of the camera that was found, and records it.
    func setControl(
        _ name: String, to value: String, _ subject: String?, _ calls: any DeviceCalls
    ) throws(CaptureError) -> CameraControl.Value {
        let done = try knownDevice("set the control", subject).setControl(name, to: value, calls)
        recordControl(id: done.id, value: done.value)
        return done.value
    }

    /// Calls the handler, without the lock.
    func report(_ event: CameraCapturer.Event) {
        contents.withLock { $0.eventHandler }?(event)
    }
}
