import VideoCapturing

/// A capture that stops automatically after a number of frames, or after a duration by the frames' timestamps. Exact to
/// the frame: no later frame is passed on.
///
/// Also sets the orientation of the frames, for sources that do not know it.
final class LimitedCapture: VideoCapture {
    private let capture: any VideoCapture
    private let gate: FrameGate

    /// - Parameter onLimit: called once, on the capture's thread, after the last frame was passed on.
    init(
        _ capture: any VideoCapture, frames: UInt64? = nil, duration: Duration? = nil,
        orientation: VideoOrientation = .up, onLimit: @escaping @Sendable () -> Void
    ) {
        self.capture = capture
        // Inside `consumeFrame` a stop takes effect immediately, without waiting.
        gate = FrameGate(frames: frames, duration: duration, orientation: orientation) { [weak capture] in
            try? capture?.stopCapture()
            onLimit()
        }
        capture.videoCaptureConsumer = gate
    }

    /// The frames that were passed on so far.
    var passed: PassedFrames { gate.passed }

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
}

/// The frames that a ``LimitedCapture`` has passed on.
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

/// Passes frames on until a limit is reached.
private final class FrameGate: VideoCaptureConsumer {
    private struct State {
        var passed = PassedFrames()
        var hasEnded = false
        weak var consumer: (any VideoCaptureConsumer)?
    }

    private let state = Locked(State())
    private let frames: UInt64?
    private let duration: Duration?
    private let orientation: VideoOrientation
    private let onLimit: @Sendable () -> Void

    init(
        frames: UInt64?, duration: Duration?, orientation: VideoOrientation, onLimit: @escaping @Sendable () -> Void
    ) {
        self.frames = frames
        self.duration = duration
        self.orientation = orientation
        self.onLimit = onLimit
    }

    var passed: PassedFrames { state.withLock { $0.passed } }

    var consumer: (any VideoCaptureConsumer)? {
        get { state.withLock { $0.consumer } }
        set { state.withLock { $0.consumer = newValue } }
    }

    func consumeFrame(_ frame: VideoFrame) {
        let (consumer, isLast) = state.withLock { state -> ((any VideoCaptureConsumer)?, Bool) in
            guard !state.hasEnded else { return (nil, false) }
            if let duration, let first = state.passed.first, frame.timestamp - first >= duration {
                state.hasEnded = true
                state.passed.end = first.advanced(by: duration)
                return (nil, true)
            }
            state.passed.first = state.passed.first ?? frame.timestamp
            state.passed.last = frame.timestamp
            state.passed.count += 1
            state.hasEnded = state.passed.count == frames
            return (state.consumer, state.hasEnded)
        }
        if let consumer {
            var frame = frame
            if orientation != .up { frame.orientation = orientation }
            consumer.consumeFrame(frame)
        }
        if isLast { onLimit() }
    }
}
