import VideoCapturing

/// A capture that works, but for the faults that a test has written into its script.
///
/// Its pictures are ``TestPicture``s, numbered from 0 over all starts, and the script names faults by the number
/// of the frame. It paces itself by the clock at the rate of its format, as a device would. Safe to use from any
/// thread.
public final class FaultInjectingCapturer: VideoCapture {
    private let capture: SourceCapturer
    private let stallEnd: Locked<UInt64>

    /// - Parameters:
    ///   - format: size, pixel format and rate; without a rate frames come as fast as they are taken.
    ///   - script: the faults, by the number of the frame at which they happen.
    ///   - openFailures: what the first calls of `initCapture` throw, one each.
    ///   - startFailures: what the first calls of `startCapture` throw, one each.
    ///   - frameCount: the number of frames after which the stream ends; nil for never.
    ///   - clock: where time comes from.
    ///   - timeout: as for `SourceCapturer`.
    public init(
        format: VideoFormat = VideoFormat(.nv12, width: 16, height: 8, estimatedFramesPerSecond: 200),
        script: [Int: [FrameFault]] = [:], openFailures: [CaptureError] = [], startFailures: [CaptureError] = [],
        frameCount: Int? = nil, clock: any CaptureClock = MonotonicClock(), timeout: Duration = .seconds(10)
    ) {
        let stallEnd = Locked<UInt64>(0)
        self.stallEnd = stallEnd
        capture = SourceCapturer(
            FaultSource(
                settings: CaptureSettings(format: format, sourceName: "faults"), script: script,
                openFailures: openFailures, startFailures: startFailures, frameCount: frameCount, stallEnd: stallEnd),
            name: "faults", clock: clock, timeout: timeout)
    }

    /// Lets a source that hangs go on.
    public func endStall() {
        stallEnd.withLock { $0 += 1 }
        stallEnd.wakeAll()
    }

    public var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { capture.videoCaptureConsumer }
        set { capture.videoCaptureConsumer = newValue }
    }

    public var videoContentHint: VideoContentHint {
        get { capture.videoContentHint }
        set { capture.videoContentHint = newValue }
    }

    public func initCapture() throws(CaptureError) { try capture.initCapture() }
    public func startCapture() throws(CaptureError) { try capture.startCapture() }
    public func stopCapture() throws(CaptureError) { try capture.stopCapture() }
    public func releaseCapture() { capture.releaseCapture() }
    public var isCaptureStarted: Bool { capture.isCaptureStarted }
    public func captureSettings() -> CaptureSettings { capture.captureSettings() }
    public func adapt(to wants: CaptureWants) { capture.adapt(to: wants) }
    public var state: CaptureState { capture.state }
    public func stateChanges() -> AsyncStream<CaptureStateChange> { capture.stateChanges() }
    public var statistics: CaptureStatistics { capture.statistics }
}
