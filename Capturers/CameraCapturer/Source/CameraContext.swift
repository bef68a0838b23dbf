import PacketCapturing
import VideoCapturing

/// What the loop of a camera needs of its capture, whether that delivers frames or packets.
protocol CameraContext: Sendable {
    /// The time now, by the capture's clock.
    var now: MediaTime { get }
    /// Whether the capture is being stopped.
    var isStopping: Bool { get }
    /// Whether the loop is to return, with nil if there is nothing: the capture is being stopped, or there are new wants.
    var mustReturn: Bool { get }
    /// Readable for `poll` once the capture is being stopped; -1 when the system has no descriptor left.
    var stopDescriptor: Int32 { get }
    /// Sleeps until a time, or until the capture is being stopped; true when the time was reached.
    func wait(until deadline: MediaTime) -> Bool
    /// Sets the handler that is called once the capture is being stopped; nil removes it.
    func setStopHandler(_ handler: (@Sendable () -> Void)?)
    /// Reports that nothing comes for now, and why.
    func reportInterruption(_ reason: CaptureState.InterruptionReason)
    /// Counts lost frames or packets, and damaged ones that were left out.
    func countLosses(lost: UInt64, corrupt: UInt64)
}

extension FrameContext: CameraContext {
    func wait(until deadline: MediaTime) -> Bool { wait(until: deadline, endsForWants: false) }
}

/// The context of a capture of packets, for the loop of a camera.
struct CameraPacketContext: CameraContext {
    let context: PacketContext

    var now: MediaTime { context.now }
    var isStopping: Bool { context.isStopping }
    /// Nil would be the end of the packets, and consumers of packets have no wants.
    var mustReturn: Bool { context.isStopping }
    var stopDescriptor: Int32 { context.stopDescriptor }
    func wait(until deadline: MediaTime) -> Bool { context.wait(until: deadline) }
    func setStopHandler(_ handler: (@Sendable () -> Void)?) { context.setStopHandler(handler) }
    func reportInterruption(_ reason: CaptureState.InterruptionReason) { context.reportInterruption(reason) }
    func countLosses(lost: UInt64, corrupt: UInt64) {
        context.reportLoss(Int(clamping: lost &+ corrupt), of: CameraPacketSource.track)
    }
}
