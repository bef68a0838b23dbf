import CLibV4L2
import FrameProcessing
import V4L2Support
import VideoCapturing

/// A camera as a source of frames, or of packets for a ``CameraPacketSource``: opens it, streams, and recovers from
/// faults.
///
/// Runs on the capture thread. Extensions contain the parts: opening, waiting for frames, recovery. The properties of
/// the frame path are not checked for overlapping accesses, as in ``CaptureStream``.
final class CameraSource: FrameSource {
    /// Whether the camera streams.
    enum State {
        /// It streams; frames are expected.
        case running(RunningStream)
        /// It does not stream. Also before the start and after the stop, as `resuming`.
        case interrupted(CameraInterruption)
    }

    /// Whether the camera was unplugged and has not delivered a frame since.
    enum Absence {
        case none
        /// It was unplugged.
        case unplugged
        /// It was unplugged, and opening it again was tried.
        case triedAgain
    }

    var settings: CaptureSettings
    var pacing: FramePacing { .device }
    var contentHint: VideoContentHint { .motion }

    let configuration: CameraCapturer.Configuration
    let directory: CameraDirectory
    var calls: any DeviceCalls { directory.calls }
    let status: CameraStatus
    let processor = FrameProcessor()

    // From open to close.
    var device: CameraDevice?
    var session: CameraSession?
    var controls: ControlRestorer?
    var hotplug: HotplugWatch?
    @exclusivity(unchecked) var wants = CaptureWants()
    @exclusivity(unchecked) var orientation = CameraOrientation()
    /// The packets' parameter sets; nil for frames.
    var parameterSets: ParameterSets?

    // From start to stop.
    @exclusivity(unchecked) var state = State.interrupted(.resuming)
    @exclusivity(unchecked) var retryPolicy = RetryPolicy()
    @exclusivity(unchecked) var limiter = FrameRateLimiter()
    @exclusivity(unchecked) var timestamps = TimestampValidator()
    @exclusivity(unchecked) var losses = PendingLosses()
    var absence = Absence.none
    /// Whether the camera has streamed since the start.
    var hasStreamed = false
    /// The problem of the signal that was reported last, so as not to report it each second.
    var reportedProblem: CameraCapturer.Event.SignalProblem?
    /// The size of the signal of the last stream; nil for inputs without timings.
    var signalSize: PixelSize?
    /// Whether it was reported that frames have two fields.
    var hasReportedFields = false

    init(
        _ configuration: CameraCapturer.Configuration, status: CameraStatus, directory: CameraDirectory
    ) {
        self.configuration = configuration
        self.status = status
        self.directory = directory
        // The requested format until the camera is known.
        let size = configuration.preset ?? .vga640x480
        settings = CaptureSettings(
            format: VideoFormat(
                .nv12, width: size.width, height: size.height,
                estimatedFramesPerSecond: configuration.desiredFrameRate), sourceName: configuration.device)
    }

    func start(_ context: FrameContext) throws { try begin(context) }

    func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        guard case .frame(let frame) = try nextSample(context) else { return nil }
        return frame
    }

    /// The next frame or packet, with recovery from faults; nil when the capture is being stopped, or there are new wants.
    func nextSample(_ context: any CameraContext) throws -> CameraSample? {
        while !context.mustReturn {
            guard case .running(let running) = state else {
                try recover(context)
                continue
            }
            if status.shot.isPending {
                takeSizedShot(context)
                continue
            }
            do throws(CameraStreamError) {
                defer { countLosses(context) }
                if let sample = try awaitSample(running, context) { return sample }
            } catch {
                try interrupt(after: error, context)
            }
        }
        return nil
    }

    /// Counts the losses since the last call, also those after which no frame comes.
    private func countLosses(_ context: any CameraContext) {
        guard losses.lost | losses.corrupt != 0 else { return }
        // Those that follow are of no use before the next key frame.
        if case .running(let running) = state, case .packets(let maker) = running.output, maker.codec != .jpeg {
            session?.forceKeyFrame()
        }
        context.countLosses(lost: losses.lost, corrupt: losses.corrupt)
        losses.lost = 0
        losses.corrupt = 0
    }

    func adapt(to wants: CaptureWants) {
        self.wants = wants
        if case .running(let running) = state, case .frames(let maker) = running.output { maker.wants = wants }
    }

    func stop() {
        endStream()
        state = .interrupted(.resuming)
        reportedProblem = nil
        retryPolicy = RetryPolicy()
        absence = .none
    }

    func close() {
        session.map { controls?.restoreFrameRateControl($0.node) }
        closeSession()
        controls = nil
        hotplug = nil
    }
}

/// The counts of lost frames that the capture has not counted yet.
struct PendingLosses {
    var lost: UInt64 = 0
    var corrupt: UInt64 = 0
    /// Captured frames, whether delivered or not; for the limiter.
    var taken: UInt64 = 0
}

/// Why the camera does not stream.
enum CameraInterruption: Hashable {
    /// It is about to be opened and started.
    case resuming
    /// It has failed; the next step of the ``RetryPolicy`` is due.
    case failing
    /// It was unplugged.
    case disconnected
    /// Another program uses it.
    case busy
    /// The user is not permitted to open it.
    case noPermission
    /// The input has no usable signal.
    case noSignal(CameraCapturer.Event.SignalProblem)
}

/// Validates a driver's timestamps, frame by frame.
///
/// A valid timestamp is of the monotonic clock, not in the future, later than the last one and not older than ten
/// seconds; an invalid one is replaced by the time of arrival.
struct TimestampValidator {
    /// In nanoseconds.
    private static let longestDelay: Int64 = 10_000_000_000

    private var last: MediaTime?

    /// - Parameters:
    ///   - timestamp: the driver's timestamp.
    ///   - flags: `V4L2_BUF_FLAG_…` of the buffer.
    ///   - now: the time of arrival.
    /// - Returns: the time of the frame, and whether it is the driver's.
    mutating func validate(_ timestamp: MediaTime, flags: UInt32, now: MediaTime) -> (time: MediaTime, isTrusted: Bool)
    {
        let kind = flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK)
        let isTrusted =
            kind == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC) && timestamp <= now
            && now.nanoseconds(since: timestamp) < TimestampValidator.longestDelay
            && last.map { timestamp > $0 } ?? true
        let time = isTrusted ? timestamp : now
        last = time
        return (time, isTrusted)
    }
}
