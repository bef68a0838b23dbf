import VideoCapturing

/// The frames of a run, from one capture after the other: up to a number of them, or for a duration by their timestamps.
/// Exact to the frame: no later one is passed on.
final class FrameLine: Sendable {
    private struct State {
        var passed = PassedFrames()
        var hasEnded = false
        /// Where frames are taken from, and what takes over with its first frame.
        var current: ObjectIdentifier?
        var next: ObjectIdentifier?
    }

    private let state = Locked(State())
    private let frames: UInt64?
    private let duration: Duration?
    /// The orientation of the frames, for sources that do not know it.
    let orientation: VideoOrientation
    /// Called once, on the capture's thread, after the last frame was passed on.
    let onLimit: @Sendable () -> Void

    init(
        frames: UInt64? = nil, duration: Duration? = nil, orientation: VideoOrientation = .up,
        onLimit: @escaping @Sendable () -> Void
    ) {
        self.frames = frames
        self.duration = duration
        self.orientation = orientation
        self.onLimit = onLimit
    }

    /// The frames that were passed on so far.
    var passed: PassedFrames { state.withLock { $0.passed } }

    /// Lets the first frame of a capture take over.
    func expect(_ capture: LimitedCapture) { state.withLock { $0.next = ObjectIdentifier(capture.gate) } }

    /// Takes frames of this capture alone.
    func setCurrent(_ capture: LimitedCapture) {
        state.withLock { state in
            state.current = ObjectIdentifier(capture.gate)
            state.next = nil
        }
    }

    /// Whether a frame is passed on, and whether nothing is after it.
    fileprivate func admit(_ frame: VideoFrame, from gate: FrameGate) -> (isPassed: Bool, isLast: Bool) {
        let gate = ObjectIdentifier(gate)
        return state.withLock { state in
            if state.next == gate { (state.current, state.next) = (gate, nil) }
            guard state.current == gate else { return (false, false) }
            return admit(at: frame.timestamp, &state)
        }
    }

    /// Whether a packet of the leading track is passed on, and whether nothing is after it.
    func admit(at time: MediaTime) -> (isPassed: Bool, isLast: Bool) { state.withLock { admit(at: time, &$0) } }

    /// Whether nothing more is passed on.
    var isOver: Bool { state.withLock { $0.hasEnded } }

    private func admit(at time: MediaTime, _ state: inout State) -> (isPassed: Bool, isLast: Bool) {
        guard !state.hasEnded else { return (false, false) }
        if let duration, let first = state.passed.first, time - first >= duration {
            state.hasEnded = true
            state.passed.end = first.advanced(by: duration)
            return (false, true)
        }
        state.passed.first = state.passed.first ?? time
        state.passed.last = time
        state.passed.count += 1
        state.hasEnded = state.passed.count == frames
        return (true, state.hasEnded)
    }
}

/// The frames that a ``FrameLine`` has passed on.
struct PassedFrames: Sendable {
    var count: UInt64 = 0
    var first: MediaTime?
    var last: MediaTime?
    /// The end of the requested duration, on the frames' time line; nil until it is reached.
    var end: MediaTime?

    /// The time from the first to the last timestamp, plus one mean interval for the last frame.
    var duration: Duration {
        guard let first, let last, count > 1 else { return .zero }
        return (last - first) * Int(clamping: count) / Int(clamping: count - 1)
    }
}

/// A capture whose frames go through a ``FrameLine``, and which stops at its end.
final class LimitedCapture: VideoCapture {
    private let capture: any VideoCapture
    fileprivate let gate: FrameGate

    /// The frames are passed on once the line takes those of this capture.
    init(_ capture: any VideoCapture, line: FrameLine) {
        self.capture = capture
        // Inside `consumeFrame` a stop takes effect immediately, without waiting.
        gate = FrameGate(line) { [weak capture] in try? capture?.stopCapture() }
        capture.videoCaptureConsumer = gate
    }

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { gate.consumer }
        set { gate.consumer = newValue }
    }
    var videoContentHint: VideoContentHint {
        get { capture.videoContentHint }
        set { capture.videoContentHint = newValue }
    }
    func initCapture() throws(CaptureError) { try capture.initCapture() }
    func startCapture() throws(CaptureError) { try capture.startCapture() }
    func stopCapture() throws(CaptureError) { try capture.stopCapture() }
    func releaseCapture() { capture.releaseCapture() }
    var isCaptureStarted: Bool { capture.isCaptureStarted }
    func captureSettings() -> CaptureSettings { capture.captureSettings() }
    func adapt(to wants: CaptureWants) { capture.adapt(to: wants) }
    func requestRefreshFrame() { capture.requestRefreshFrame() }
    var state: CaptureState { capture.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { capture.stateChanges() }
    var statistics: CaptureStatistics { capture.statistics }
    var adjustable: (any AdjustableCapture)? { capture.adjustable }
    var endOfLastFrame: MediaTime? { capture.endOfLastFrame }
}

/// Where the frames of one capture enter a line.
private final class FrameGate: VideoCaptureConsumer {
    private let consumerReference = Locked(ConsumerReference())
    private let line: FrameLine
    private let stop: @Sendable () -> Void

    private struct ConsumerReference {
        weak var consumer: (any VideoCaptureConsumer)?
    }

    init(_ line: FrameLine, stop: @escaping @Sendable () -> Void) {
        self.line = line
        self.stop = stop
    }

    var consumer: (any VideoCaptureConsumer)? {
        get { consumerReference.withLock { $0.consumer } }
        set { consumerReference.withLock { $0.consumer = newValue } }
    }

    func consumeFrame(_ frame: VideoFrame) {
        let (isPassed, isLast) = line.admit(frame, from: self)
        if isPassed, let consumer {
            var frame = frame
            if line.orientation != .up { frame.orientation = line.orientation }
            consumer.consumeFrame(frame)
        }
        if isLast {
            stop()
            line.onLimit()
        }
    }
}
