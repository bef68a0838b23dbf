/// Turns a ``FrameSource`` into a complete ``VideoCapture``: thread, pacing, states, errors, restart, statistics.
///
/// ```swift
/// struct Gradient: FrameSource {
///     let settings = CaptureSettings(format: VideoFormat(.nv12, width: 320, height: 240, estimatedFramesPerSecond: 30))
///     var count = 0
///     mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
///         count += 1
///         return try context.makeFrame(settings.format) { [count] pixels in
///             pixels.fill(plane: 0) { column, row in UInt8(truncatingIfNeeded: column + row + count) }
///             pixels.fill(plane: 1, with: 128)
///         }
///     }
/// }
/// let capture = SourceCapturer(Gradient())
/// ```
///
/// The source lives on a separate thread from init to release; all its functions are called there.
/// Safe to use from any thread. Released when it is destroyed.
public final class SourceCapturer: VideoCapture {
    private let runner: CaptureRunner<VideoMedia>
    private let control: VideoControl

    /// - Parameters:
    ///   - source: makes the frames; do not use it afterwards.
    ///   - name: the thread's name, as debuggers show it; 15 bytes.
    ///   - clock: the clock of timestamps and pacing.
    ///   - timeout: how long ``stopCapture()``, ``initCapture()`` and ``startCapture()`` wait for a source that
    ///     does not return, before they throw `stalled`.
    ///   - openTimeout: the same for ``initCapture()`` alone, where that may have to wait for a person or another
    ///     program; nil for `timeout`.
    public init(
        _ source: sending some FrameSource, name: String = "capture", clock: any CaptureClock = MonotonicClock(),
        timeout: Duration = .seconds(10), openTimeout: Duration? = nil
    ) {
        let control = VideoControl(
            VideoMedia(settings: source.settings, contentHint: source.contentHint), clock: clock)
        let loop = SourceLoop(source, control: control)
        self.control = control
        runner = CaptureRunner(
            control, name: name, timeout: timeout, openTimeout: openTimeout ?? timeout, body: { loop.run() })
    }

    deinit {
        runner.release()
    }

    public var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { control.contents.withLock { $0.media.consumer } }
        set { control.contents.withLock { $0.media.consumer = newValue } }
    }

    public var videoContentHint: VideoContentHint {
        get { control.contents.withLock { $0.media.contentHint } }
        set { control.contents.withLock { $0.media.contentHint = newValue } }
    }

    public func initCapture() throws(CaptureError) { try runner.open() }
    public func startCapture() throws(CaptureError) { try runner.start() }
    public func stopCapture() throws(CaptureError) { try runner.stop() }
    public func releaseCapture() { runner.release() }

    public var isCaptureStarted: Bool { control.contents.withLock { $0.isStarted } }
    public func captureSettings() -> CaptureSettings { control.contents.withLock { $0.media.settings } }

    public func adapt(to wants: CaptureWants) {
        control.contents.withLock { $0.media.pendingWants = wants }
        control.waiter.wakeUp()
    }

    public func requestRefreshFrame() {
        control.contents.withLock { $0.media.isRefreshPending = true }
        control.waiter.wakeUp()
    }

    public var state: CaptureState { control.states.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { control.states.changes() }
    public var statistics: CaptureStatistics { control.contents.withLock { $0.media.statistics } }
}

/// A capture that forwards all work to another one: the shape of a capturer that is a ``FrameSource`` with its own
/// name and initializer.
///
/// ```swift
/// public final class NoiseCapturer: ForwardingVideoCapture {
///     public let forwardedCapture: SourceCapturer
///     public init(seed: UInt64) { forwardedCapture = SourceCapturer(WhiteNoise(seed: seed)) }
/// }
/// ```
public protocol ForwardingVideoCapture: VideoCapture {
    /// What does the work.
    var forwardedCapture: SourceCapturer { get }
}

extension ForwardingVideoCapture {
    public var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { forwardedCapture.videoCaptureConsumer }
        set { forwardedCapture.videoCaptureConsumer = newValue }
    }

    public var videoContentHint: VideoContentHint {
        get { forwardedCapture.videoContentHint }
        set { forwardedCapture.videoContentHint = newValue }
    }

    public func initCapture() throws(CaptureError) { try forwardedCapture.initCapture() }
    public func startCapture() throws(CaptureError) { try forwardedCapture.startCapture() }
    public func stopCapture() throws(CaptureError) { try forwardedCapture.stopCapture() }
    public func releaseCapture() { forwardedCapture.releaseCapture() }
    public var isCaptureStarted: Bool { forwardedCapture.isCaptureStarted }
    public func captureSettings() -> CaptureSettings { forwardedCapture.captureSettings() }
    public func adapt(to wants: CaptureWants) { forwardedCapture.adapt(to: wants) }
    public func requestRefreshFrame() { forwardedCapture.requestRefreshFrame() }
    public var state: CaptureState { forwardedCapture.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { forwardedCapture.stateChanges() }
    public var statistics: CaptureStatistics { forwardedCapture.statistics }
}
