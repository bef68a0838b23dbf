import FrameProcessing
import VideoCapturing

/// A camera as a frame source: opens, streams, and gets over whatever happens to it.
///
/// All of it runs on the capture thread; the parts are in extensions: opening, waiting for frames, recovery. What each
/// frame needs is not checked for overlapping accesses, as in ``CaptureStream``.
final class CameraSource: FrameSource {
    var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .motion }

    let configuration: CameraConfiguration
    let directory: CameraDirectory
    var calls: any DeviceCalls { directory.calls }
    let status: CameraStatus
    let processor = FrameProcessor()

    // From open to close.
    var device: CameraDevice?
    var session: CameraSession?
    var controls: ControlKeeper?
    var hotplug: HotplugWatch?
    @exclusivity(unchecked) var wants = CaptureWants()
    @exclusivity(unchecked) var orientation = CameraOrientation()

    // While frames come or are waited for.
    @exclusivity(unchecked) var running: RunningStream?
    @exclusivity(unchecked) var outage: Outage?
    @exclusivity(unchecked) var ladder = FaultLadder()
    @exclusivity(unchecked) var limiter = FrameRateLimiter()
    @exclusivity(unchecked) var timestamps = TimestampJudge()
    @exclusivity(unchecked) var losses = PendingLosses()
    /// The camera has gone, and no frame has come since.
    var isReturning = false
    /// The camera was found again and tried, and no frame has come since.
    var wasTriedInVain = false
    /// What was told last of the signal, so as not to tell it each second.
    var reported: CameraEvent?

    init(
        _ configuration: CameraConfiguration, status: CameraStatus, directory: CameraDirectory
    ) {
        self.configuration = configuration
        self.status = status
        self.directory = directory
        // Until the camera is known, what was asked for.
        let asked = configuration.preset ?? .vga640x480
        settings = CaptureSettings(
            format: VideoFormat(
                .nv12, width: asked.width, height: asked.height,
                estimatedFramesPerSecond: configuration.desiredFrameRate), sourceName: configuration.device)
    }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        while !context.isStopping {
            guard outage == nil, let running else {
                try recover(context)
                continue
            }
            do throws(CameraTrouble) {
                if let frame = try awaitFrame(running, context) { return frame }
            } catch {
                try note(error, context)
            }
        }
        return nil
    }

    func adapt(to wants: CaptureWants) {
        self.wants = wants
        running?.maker.wants = wants
    }

    func stop() {
        endStream()
        outage = nil
        reported = nil
        ladder = FaultLadder()
        isReturning = false
        wasTriedInVain = false
    }

    func close() {
        session.map { controls?.giveBack($0.node) }
        closeSession()
        controls = nil
        hotplug = nil
    }
}

/// Frames that are lost, until the next frame carries their number.
struct PendingLosses {
    var lost: UInt64 = 0
    var corrupt: UInt64 = 0
    /// Frames that came, whether delivered or not; for the limiter.
    var taken: UInt64 = 0
}

/// What is waited for while no frames come.
enum Outage: Hashable {
    /// Nothing: the camera is to be opened and to stream.
    case resuming
    /// The next step of the fault ladder is due.
    case failing
    /// The camera is gone.
    case disconnected
    /// Another program has it.
    case busy
    /// The user may not open it.
    case noPermission
    /// The input has no usable signal.
    case noSignal(SignalProblem)
}
