/// Makes a whole ``PacketCapture`` of a ``PacketSource``: thread, pacing, time, numbers, losses, states, errors, restart,
/// statistics.
///
/// ```swift
/// struct SlideShow: PacketSource {
///     let slides: [[UInt8]]  // JPEG images
///     var number = 0
///     let settings = PacketSettings(
///         tracks: [TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 640, height: 480)))],
///         sourceName: "slides")
///     var pacing: PacketPacing { .clock }
///
///     mutating func nextPacket(_ context: PacketContext) -> MediaPacket? {
///         guard number < slides.count else { return nil }
///         defer { number += 1 }
///         return MediaPacket(
///             data: context.makeBuffer(copying: slides[number]), timestamp: .zero + .seconds(number),
///             duration: .seconds(1), width: 640, height: 480)
///     }
/// }
/// let capture = PacketSourceCapturer(SlideShow(slides: slides))
/// ```
///
/// The source lives on a separate thread from init to release; every function of it is called there.
/// Safe to use from any thread. Released when it is destroyed.
public final class PacketSourceCapturer: PacketCapture {
    private let runner: CaptureRunner<PacketMedia>
    private let control: PacketControl

    /// A capturer of a source.
    ///
    /// - Parameters:
    ///   - source: what makes the packets; handed over for good.
    ///   - name: of the thread, as debuggers show it; 15 bytes.
    ///   - clock: where timestamps and pacing come from.
    ///   - timeout: how long ``stopCapture()``, ``initCapture()`` and ``startCapture()`` wait for a source that
    ///     does not return, before they throw `stalled`.
    ///   - openTimeout: the same for ``initCapture()`` alone, where that may have to wait for a person or another
    ///     program; nil for `timeout`.
    public init(
        _ source: sending some PacketSource, name: String = "packets", clock: any CaptureClock = MonotonicClock(),
        timeout: Duration = .seconds(10), openTimeout: Duration? = nil
    ) {
        let control = PacketControl(PacketMedia(settings: source.settings), clock: clock)
        let loop = PacketSourceLoop(source, control: control)
        self.control = control
        runner = CaptureRunner(
            control, name: name, timeout: timeout, openTimeout: openTimeout ?? timeout, body: { loop.run() })
    }

    deinit {
        runner.release()
    }

    public var packetCaptureConsumer: (any PacketCaptureConsumer)? {
        get { control.contents.withLock { $0.media.consumer } }
        set { control.contents.withLock { $0.media.consumer = newValue } }
    }

    public func initCapture() throws(CaptureError) { try runner.open() }
    public func startCapture() throws(CaptureError) { try runner.start() }
    public func stopCapture() throws(CaptureError) { try runner.stop() }
    public func releaseCapture() { runner.release() }

    public var isCaptureStarted: Bool { control.contents.withLock { $0.isStarted } }
    public func captureSettings() -> PacketSettings { control.contents.withLock { $0.media.settings } }

    @discardableResult
    public func requestKeyFrame() -> Bool {
        control.contents.withLock { contents in
            guard contents.media.makesKeyFrames else { return false }
            contents.media.isKeyFrameRequested = true
            return true
        }
    }

    public var state: CaptureState { control.states.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { control.states.changes() }
    public var statistics: PacketStatistics { control.contents.withLock { $0.media.statistics } }
}

/// A capture that leaves all the work to another: the shape of a capturer that is a ``PacketSource`` with a name and an
/// initializer.
public protocol ForwardingPacketCapture: PacketCapture {
    /// What does the work.
    var forwardedCapture: PacketSourceCapturer { get }
}

extension ForwardingPacketCapture {
    public var packetCaptureConsumer: (any PacketCaptureConsumer)? {
        get { forwardedCapture.packetCaptureConsumer }
        set { forwardedCapture.packetCaptureConsumer = newValue }
    }

    public func initCapture() throws(CaptureError) { try forwardedCapture.initCapture() }
    public func startCapture() throws(CaptureError) { try forwardedCapture.startCapture() }
    public func stopCapture() throws(CaptureError) { try forwardedCapture.stopCapture() }
    public func releaseCapture() { forwardedCapture.releaseCapture() }
    public var isCaptureStarted: Bool { forwardedCapture.isCaptureStarted }
    public func captureSettings() -> PacketSettings { forwardedCapture.captureSettings() }
    @discardableResult
    public func requestKeyFrame() -> Bool { forwardedCapture.requestKeyFrame() }
    public var state: CaptureState { forwardedCapture.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { forwardedCapture.stateChanges() }
    public var statistics: PacketStatistics { forwardedCapture.statistics }
}
