/// A capture that leaves all the work to another: the shape of a capturer that is a ``FrameSource`` with a
/// name and an initializer of its own.
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
    public func stateChanges() -> AsyncStream<CaptureStateChange> { forwardedCapture.stateChanges() }
    public var statistics: CaptureStatistics { forwardedCapture.statistics }
}
