/// Makes a whole ``VideoCapture`` of a ``FrameSource``: thread, pacing, states, errors, restart, statistics.
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
/// The source lives on a thread of its own from init to release; every function of it is called there.
/// Safe to use from any thread. Released when it is destroyed.
public final class SourceCapturer: VideoCapture {
    private let runner: SourceRunner

    /// - Parameters:
    ///   - source: what makes the frames; handed over for good.
    ///   - name: of the thread, as debuggers show it; 15 bytes.
    ///   - clock: where timestamps and pacing come from.
    ///   - patience: how long ``stopCapture()``, ``initCapture()`` and ``startCapture()`` wait for a source that
    ///     does not return, before they throw `stalled`.
    ///   - openPatience: the same for ``initCapture()`` alone, where that may have to wait for a person or another
    ///     program; nil for `patience`.
    public init(
        _ source: sending some FrameSource, name: String = "capture", clock: any CaptureClock = MonotonicClock(),
        patience: Duration = .seconds(10), openPatience: Duration? = nil
    ) {
        runner = SourceRunner(
            source, name: name, clock: clock, patience: patience, openPatience: openPatience ?? patience)
    }

    deinit {
        runner.release()
    }

    public var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { runner.control.contents.withLock { $0.consumer } }
        set { runner.control.contents.withLock { $0.consumer = newValue } }
    }

    public var videoContentHint: VideoContentHint {
        get { runner.control.contents.withLock { $0.contentHint } }
        set { runner.control.contents.withLock { $0.contentHint = newValue } }
    }

    public func initCapture() throws(CaptureError) { try runner.open() }
    public func startCapture() throws(CaptureError) { try runner.start() }
    public func stopCapture() throws(CaptureError) { try runner.stop() }
    public func releaseCapture() { runner.release() }

    public var isCaptureStarted: Bool { runner.control.contents.withLock { $0.isStarted } }
    public func captureSettings() -> CaptureSettings { runner.control.contents.withLock { $0.settings } }
    public func adapt(to wants: CaptureWants) { runner.control.contents.withLock { $0.pendingWants = wants } }
    public var state: CaptureState { runner.control.states.state }
    public func stateChanges() -> AsyncStream<CaptureStateChange> { runner.control.states.changes() }
    public var statistics: CaptureStatistics { runner.control.contents.withLock { $0.statistics } }
}
