import FrameProcessing
import VideoCapturing

/// Watches the frames of any capture, and calls when something begins to move and when it no longer moves.
///
/// ```swift
/// let detector = MotionDetector(MotionSettings(ignoredZones: [road])) { event in
///     print(event.kind, "at", event.start, event.region)
/// }
/// try publisher.add(detector, name: "motion")
/// ```
/// It takes whatever the capture delivers for others (``wants``), looks at ten frames per second, and of these at a small
/// picture of their luma. Frames that state their damage, as those of screens do, cost nothing: their damage is the motion.
/// Slow changes of light, switched lights and movements of the camera are no motion. ``MotionAnalyzer`` makes the decisions.
///
/// An event ends when frames have shown no motion for a while; where frames cease, when the detector is removed from its
/// publisher. `consumeFrame` is for one thread at a time; all else is safe to use from any thread.
public final class MotionDetector: FeedbackConsumer {
    /// What counts as motion.
    public let settings: MotionSettings
    private let handler: @Sendable (MotionEvent) -> Void
    private let processor = FrameProcessor(capacity: 2)
    private let state: Locked<State>
    private let observers = ObserverStreams<MotionEvent>()

    fileprivate struct State {
        var analyzer: MotionAnalyzer
        var gate: FrameRateGate
        /// The memory of the last picture.
        var plane = LumaPlane(blank: PixelSize(width: 1, height: 1))
        /// When a frame stated its damage last.
        var lastDamage: MediaTime?
        var statistics = Statistics()
        var lastObservation: MotionObservation?
        var lastError: CaptureError?
    }

    /// A detector.
    ///
    /// - Parameters:
    ///   - settings: what counts as motion.
    ///   - onEvent: called on the thread that delivers frames, or that removes the detector; should return soon.
    public init(
        _ settings: MotionSettings = MotionSettings(), onEvent: @escaping @Sendable (MotionEvent) -> Void = { _ in }
    ) {
        self.settings = settings
        handler = onEvent
        state = Locked(
            State(analyzer: MotionAnalyzer(settings), gate: FrameRateGate(limit: settings.pictureRate)))
    }

    /// A separate stream of all events from now on. It ends when the detector is destroyed.
    public func events() -> AsyncStream<MotionEvent> { observers.stream() }

    /// What the detector can use: frames that the capture delivers for others, at its rate at least; and where there are no others,
    /// few and small frames.
    public var wants: CaptureWants {
        CaptureWants(
            maximumPixelCount: 640 * 480, maximumFrameRate: settings.pictureRate, acceptsCompressed: true,
            acceptsNativeFormat: true, isPassive: true)
    }

    /// The counts up to now.
    public var statistics: Statistics { state.withLock { $0.statistics } }
    /// What the last frame showed; nil before the first.
    public var lastObservation: MotionObservation? { state.withLock { $0.lastObservation } }
    /// Why the last frame that could not be read failed; nil when none has.
    public var lastError: CaptureError? { state.withLock { $0.lastError } }

    public func connectFeedback(_ feedback: CaptureFeedback?) {
        guard let feedback else {
            if let event = state.withLock({ $0.analyzer.finish() }) { report(event) }
            return
        }
        feedback.updateWants(wants)
    }

    public func consumeFrame(_ frame: VideoFrame) {
        let event = state.withLock { state -> MotionEvent? in
            state.statistics.framesReceived += 1
            guard state.gate.admits(frame) else { return nil }
            var frame = frame
            state.gate.accumulator.flush(into: &frame)
            guard let observation = observe(frame, &state) else { return nil }
            state.lastObservation = observation
            return observation.event
        }
        if let event { report(event) }
    }

    private func observe(_ frame: VideoFrame, _ state: inout State) -> MotionObservation? {
        let size = PixelSize(width: frame.width, height: frame.height)
        if let damage = state.damage(of: frame, size) {
            return state.analyzer.analyze(
                damage: damage, of: size, orientation: frame.orientation, at: frame.timestamp)
        }
        let upright = frame.orientation.swapsDimensions ? size.transposed : size
        let small = MotionAnalyzer.pictureSize(for: upright)
        if state.plane.size != small { state.plane = LumaPlane(blank: small) }
        do throws(CaptureError) {
            try processor.readLuma(of: frame, size: small, into: &state.plane.samples)
        } catch {
            state.statistics.framesFailed += 1
            state.lastError = error
            return nil
        }
        state.statistics.framesAnalyzed += 1
        return state.analyzer.analyze(state.plane, at: frame.timestamp)
    }

    private func report(_ event: MotionEvent) {
        if event.kind == .began { state.withLock { $0.statistics.events += 1 } }
        observers.send(event)
        handler(event)
    }
}

extension MotionDetector.State {
    /// The damage that counts as motion; nil where the pixels must be compared.
    fileprivate mutating func damage(of frame: VideoFrame, _ size: PixelSize) -> [PixelRect]? {
        if frame.isRepeat { return [] }
        if let damage = frame.damage {
            lastDamage = frame.timestamp
            return damage
        }
        // So much has changed that the list was too long for its source or its queue.
        guard let lastDamage, frame.timestamp >= lastDamage, frame.timestamp - lastDamage <= .seconds(1) else {
            return nil
        }
        return [PixelRect(x: 0, y: 0, width: size.width, height: size.height)]
    }
}

extension MotionDetector {
    /// What a ``MotionDetector`` has done so far.
    public struct Statistics: Sendable, Hashable {
        /// Frames taken in.
        public var framesReceived: UInt64 = 0
        /// Frames whose pixels were compared; frames that state their damage are not among them.
        public var framesAnalyzed: UInt64 = 0
        /// Frames that could not be read; see ``MotionDetector/lastError``.
        public var framesFailed: UInt64 = 0
        /// Events that began.
        public var events: UInt64 = 0

        /// Counts of nothing.
        public init() {}
    }
}
