import V4L2Support
import VideoCapturing

/// A stream with its monitors: stalls, losses, damage, the rate. Belongs to the capture thread; not checked for
/// overlapping accesses, as in ``CaptureStream``.
final class RunningStream {
    let stream: CaptureStream
    let output: StreamOutput
    let check: BufferCheck
    let plan: DeliveryPlan
    /// The negotiated rate.
    let rate: FrameRate?
    /// The age from which a waiting frame is stale, in nanoseconds: twice the frame interval, at least 50 ms.
    let freshness: Int64

    @exclusivity(unchecked) var stall: StallDetector
    @exclusivity(unchecked) var sequence = SequenceCounter()
    @exclusivity(unchecked) var damage = DamageReport()
    @exclusivity(unchecked) var rateCheck = RateCheck()
    /// The time of the next check of conditions that the wait for frames does not report: the signal of an input that
    /// has one, and the pending events while `VIDIOC_DQBUF` waits. Nil when there is nothing to check.
    @exclusivity(unchecked) var nextCheck: MediaTime?
    /// The timings of the signal when the stream began.
    let timings: SignalTimings?
    /// The number of successive `poll` results with an error.
    @exclusivity(unchecked) var errorPolls = 0
    /// The number of successive `poll` results without a frame in the driver's queue.
    @exclusivity(unchecked) var falseReadiness = 0
    /// Whether a complete frame was captured.
    @exclusivity(unchecked) var hasDelivered = false
    /// Whether the last frame could not be decoded. Frames that look complete may be damaged then.
    @exclusivity(unchecked) var isUndecodable = false
    /// Whether the last wait has ended without a frame, so that the next one continues it.
    @exclusivity(unchecked) var isStillWaiting = true

    /// Limits waits in `VIDIOC_DQBUF`; nil while `poll` waits for frames.
    @exclusivity(unchecked) private(set) var watchdog: DequeueWatchdog?
    /// Whether waiting in `VIDIOC_DQBUF` is still to be tried.
    @exclusivity(unchecked) private(set) var mayWaitInDequeue: Bool

    @exclusivity(unchecked) private var stopDescriptor: Int32 = -1

    var node: DeviceNode { stream.node }

    init(stream: CaptureStream, output: StreamOutput, decision: CameraMode.Decision, startedAt: MediaTime) {
        self.stream = stream
        self.output = output
        check = BufferCheck(stream.format, pixelFormat: output.pixelFormat)
        plan = decision.plan
        rate = decision.negotiated.rate
        // A packet that is left out costs those that need it.
        freshness =
            decision.requested.media.isPackets
            ? .max : max((rate?.frameInterval ?? .milliseconds(33)) * 2, .milliseconds(50)).nanoseconds
        stall = StallDetector(streamStart: startedAt)
        let hasSignal = VideoInput.hasSignal(stream.node)
        if hasSignal { nextCheck = startedAt }
        timings = hasSignal ? SignalTimings(stream.node) : nil
        // A change of the signal is an event, which must be handled at once.
        mayWaitInDequeue = !hasSignal && stream.node.capabilities.endsWaits
    }

    deinit { end() }

    /// Makes `VIDIOC_DQBUF` wait for frames from now on if possible; otherwise `poll` keeps waiting.
    ///
    /// The caller must check again for a stop that was requested before.
    func waitInDequeue(_ context: any CameraContext) {
        mayWaitInDequeue = false
        guard stream.setWaiting(true) else { return }
        do throws(CaptureError) {
            let watchdog = try DequeueWatchdog(
                deadline: stall.deadline, limit: stall.limit, streamOff: stream.switchingOff)
            context.setStopHandler { [weak watchdog] in watchdog?.stop() }
            self.watchdog = watchdog
            nextCheck = .zero
        } catch {
            stream.setWaiting(false)
        }
    }

    /// Makes `poll` wait for frames again, for the rest of the stream.
    func waitInPoll() {
        guard let watchdog else { return }
        watchdog.end()
        self.watchdog = nil
        stream.setWaiting(false)
        nextCheck = nil
        isStillWaiting = true
    }

    /// Ends the stream and the watchdog.
    func end() {
        waitInPoll()
        stream.release()
    }

    /// The context's stop descriptor, which stays the same once it is made; cached, since the context takes a lock for
    /// it.
    func stopDescriptor(_ context: any CameraContext) -> Int32 {
        if stopDescriptor < 0 { stopDescriptor = context.stopDescriptor }
        return stopDescriptor
    }
}

/// What the buffers of a stream become.
enum StreamOutput {
    case frames(FrameMaker)
    case packets(PacketMaker)

    /// The format of the buffers; nil when only the driver's flags say whether one is complete.
    var pixelFormat: PixelFormat? {
        switch self {
        case .frames(let maker): maker.pixelFormat
        case .packets(let maker): maker.codec == .jpeg ? .mjpeg : nil
        }
    }
}

/// What a camera delivers of one buffer.
enum CameraSample {
    case frame(SourceFrame)
    case packet(MediaPacket)
}

/// Counts the frames that a driver has lost, from the gaps in its sequence numbers.
///
/// The numbers wrap at 2³². A driver that restarts its counter or does not count has no gaps.
struct SequenceCounter {
    /// Larger gaps count as a restart of the counter: ten minutes at 60 frames per second.
    private static let largestGap: UInt32 = 36_000

    private var last: UInt32?

    /// The number of frames missing between the last buffer and this one.
    mutating func lost(before sequence: UInt32) -> UInt64 {
        defer { last = sequence }
        guard let last else { return 0 }
        let step = sequence &- last
        guard step > 1, step <= SequenceCounter.largestGap else { return 0 }
        return UInt64(step - 1)
    }
}

/// Measures, once for each stream, whether a camera keeps the negotiated rate: over the first two seconds.
struct RateCheck {
    private var start: MediaTime?
    private var count: Int64 = 0
    private(set) var isDone = false

    /// - Parameters:
    ///   - now: the time of a frame.
    ///   - lost: the frames that were lost just before it, which the camera has captured nevertheless.
    ///   - negotiated: the negotiated rate; nil when unknown.
    /// - Returns: the measured rate, when it is below 80 % of the negotiated one.
    mutating func recordFrame(at now: MediaTime, lost: UInt64, negotiated: FrameRate?) -> FrameRate? {
        guard !isDone, let negotiated else { return nil }
        guard let start else {
            self.start = now
            return nil
        }
        count += 1 + Int64(clamping: lost)
        let elapsed = now - start
        guard elapsed >= .seconds(2) else { return nil }
        isDone = true
        let expected = negotiated.frameIndex(at: elapsed)
        guard count * 10 < expected * 8 else { return nil }
        return FrameRate(interval: .nanoseconds(elapsed.nanoseconds / max(1, count)))
    }
}

/// Decides when damaged frames are reported: at more than five percent over the second that follows a damaged one, and
/// then not again for ten seconds.
struct DamageReport {
    /// Nil while no frame is damaged, so that a faultless camera costs nothing.
    private var windowStart: MediaTime?
    private var quietUntil: MediaTime?
    private var damaged: UInt64 = 0
    private var total: UInt64 = 0

    /// Whether undamaged buffers must be recorded as well.
    var isCounting: Bool { windowStart != nil }

    /// Records one buffer. Returns the counts to report, if any.
    mutating func record(isDamaged: Bool, at now: MediaTime) -> (damaged: UInt64, total: UInt64)? {
        guard let start = windowStart else {
            // The frame that begins the window is not counted: there would be one too many otherwise.
            if isDamaged { windowStart = now }
            return nil
        }
        total += 1
        if isDamaged { damaged += 1 }
        guard now.nanoseconds(since: start) >= 1_000_000_000 else { return nil }
        defer {
            windowStart = nil
            damaged = 0
            total = 0
        }
        guard damaged * 20 > total, quietUntil.map({ now >= $0 }) ?? true else { return nil }
        quietUntil = now.advanced(by: .seconds(10))
        return (damaged, total)
    }
}
