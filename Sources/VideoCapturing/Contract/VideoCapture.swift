/// A source of pictures: OpenTok's custom video capturer, with Swift's errors.
///
/// To write one, conform a small type to ``FrameSource`` and pass it to a ``SourceCapturer``, which provides thread,
/// pacing, states, errors, restart and statistics. Conform to this protocol directly only
/// for what a frame source cannot express. Either way, `ConformanceSuite` in `CapturerTestKit` checks
/// every sentence that follows.
///
/// **Order.** init → (start → stop)* → release. After release the capture is idle and may be initialized
/// again. A start before init, or after release, throws `invalidState`, and so does a stop before init.
/// Repeated calls of init, start, stop and release are harmless. Release while running stops first.
/// A capture can be restarted after it was stopped, or after it stopped on its own account, any number of times.
///
/// **Threads.** Every member may be used from any thread, except that init, start and release must not be
/// called from inside `consumeFrame`. Frames are delivered one at a time, on the capture's own thread,
/// never on the main thread and never on the cooperative pool.
///
/// **Stop.** When ``stopCapture()`` has returned, no call of the consumer is running and none will come.
/// It may be called from inside `consumeFrame`; there it takes effect once that call returns.
///
/// **Frames.** Timestamps are of the monotonic clock, strictly increase, and go on increasing over
/// restarts. Sequence numbers increase; they skip by the number of lost frames. Each frame
/// is complete: planes and strides fit the buffer, size, pixel format and color are true.
///
/// **States.** Every change is seen by every ``stateChanges()`` stream, in order, none left out. The first
/// error wins; a restart clears it.
public protocol VideoCapture: CaptureLifeCycle {
    /// Where frames go; held weakly. Set before start; a change while running takes effect with the next
    /// frame. Frames without a consumer are dropped and counted.
    var videoCaptureConsumer: (any VideoCaptureConsumer)? { get set }

    /// What kind of pictures these are; the capture's own default until it is set.
    var videoContentHint: VideoContentHint { get set }

    /// Acquires the device and determines the settings. Blocks until that is done.
    func initCapture() throws(CaptureError)

    /// Begins to deliver frames. Blocks until the device streams or has refused.
    func startCapture() throws(CaptureError)

    /// Ends the delivery of frames and stops streaming.
    ///
    /// - Throws: `invalidState` before init; `stalled` when the source did not return within its timeout (the
    ///   rule holds even then: no further call of the consumer will come).
    func stopCapture() throws(CaptureError)

    /// Stops if necessary, and releases the device.
    func releaseCapture()

    /// Whether frames are being delivered or are about to be: starting, running or interrupted.
    var isCaptureStarted: Bool { get }

    /// The settings that will be delivered; before init the requested ones.
    func captureSettings() -> CaptureSettings

    /// Takes what the consumers can use, from the next frame on. May be called in any state.
    func adapt(to wants: CaptureWants)

    /// Asks for a complete fresh frame, from which a new viewer can begin, also where nothing has changed. A request
    /// that the capture cannot serve is ignored. May be called in any state. (WebRTC's `RequestRefreshFrame`.)
    func requestRefreshFrame()

    /// The state now.
    var state: CaptureState { get }

    /// A new stream of all changes of state from now on. It ends when the capture is destroyed.
    func stateChanges() -> AsyncStream<CaptureState.Change>

    /// The statistics since init.
    var statistics: CaptureStatistics { get }

    /// Sets the device differently for some frames; nil, the default, for a capture that cannot. May be used in any state.
    var adjustable: (any AdjustableCapture)? { get }

    /// The time up to which the last frame is shown, on the time line of the frames, once no frame will follow; nil, the
    /// default, where only the clock says when it is over.
    var endOfLastFrame: MediaTime? { get }
}

extension VideoCapture {
    /// Ignores the request: every frame is complete.
    public func requestRefreshFrame() {}
}

/// Takes the frames of a capture.
public protocol VideoCaptureConsumer: AnyObject, Sendable {
    /// Takes one frame. Called on the capture's thread (or on a queue's), one call at a time; should return
    /// before the next frame is due. Keep the value to keep the frame.
    func consumeFrame(_ frame: VideoFrame)
}

/// A consumer that has wants of its own: an encoder that cannot keep up, a server without viewers.
///
/// A ``VideoPublisher`` connects it when it is added; there is nothing else to wire.
public protocol FeedbackConsumer: VideoCaptureConsumer {
    /// Hands over what the consumer reports its wants to, and nil when it is removed. Called on the thread that adds or
    /// removes the consumer, before the first frame and after the last.
    func connectFeedback(_ feedback: CaptureFeedback?)
}

/// What a consumer asks of the capture that serves it. Safe to use from any thread.
public struct CaptureFeedback: Sendable {
    private let onWants: @Sendable (CaptureWants) -> Void
    private let onRefresh: @Sendable () -> Void

    /// - Parameters:
    ///   - onWants: called with what the consumer can use, each time it changes.
    ///   - onRefresh: called for each request for a complete fresh frame.
    public init(
        onWants: @escaping @Sendable (CaptureWants) -> Void, onRefresh: @escaping @Sendable () -> Void
    ) {
        self.onWants = onWants
        self.onRefresh = onRefresh
    }

    /// Replaces what the consumer can use.
    public func updateWants(_ wants: CaptureWants) { onWants(wants) }

    /// Asks for a complete fresh frame; see ``VideoCapture/requestRefreshFrame()``.
    public func requestRefreshFrame() { onRefresh() }
}

/// A consumer that handles some or all frames in a small part of the time until the next: it counts them, keeps
/// the newest, or passes on compressed ones.
///
/// A ``VideoPublisher`` hands it such frames on the capture's own thread, past its queue and its thread. That saves two
/// thread switches per frame, which cost more than the rest of the work on it.
public protocol InlineConsumer: VideoCaptureConsumer {
    /// Takes one frame at once, or refuses it, whereupon it waits in the queue for ``VideoCaptureConsumer/consumeFrame(_:)``.
    ///
    /// Called on the thread that delivers, never while `consumeFrame` runs, and in order with its calls. The capture and
    /// all other consumers wait for its return. It must not wait for anything, nor call the publisher.
    ///
    /// - Returns: whether the frame was taken.
    func consumeInline(_ frame: VideoFrame) -> Bool
}
