/// Makes a whole ``AudioCapture`` of an ``AudioSource``: thread, pacing, time, lost frames, states, errors, restart,
/// statistics.
///
/// ```swift
/// struct Clicks: AudioSource {
///     let settings = AudioSettings(format: AudioFormat(.int16, .mono, sampleRate: 48_000))
///     func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
///         try context.makeAudio(settings) { samples in
///             samples.withSamples(as: Int16.self) { samples in
///                 for index in samples.indices {
///                     samples[index] = (context.nextFrame + Int64(index)) % 48_000 == 0 ? .max : 0
///                 }
///             }
///         }
///     }
/// }
/// let capture = AudioSourceCapturer(Clicks())
/// ```
///
/// The source lives on a separate thread from init to release; all its functions are called there.
/// Safe to use from any thread. Released when it is destroyed.
public final class AudioSourceCapturer: AudioCapture {
    private let runner: CaptureRunner<AudioMedia>
    private let control: AudioControl

    /// A capturer of a source.
    ///
    /// - Parameters:
    ///   - source: what makes the samples; handed over for good.
    ///   - name: of the thread, as debuggers show it; 15 bytes.
    ///   - clock: where timestamps and pacing come from.
    ///   - timeout: how long ``stopCapture()``, ``initCapture()`` and ``startCapture()`` wait for a source that
    ///     does not return, before they throw `stalled`.
    ///   - openTimeout: the same for ``initCapture()`` alone, where that may have to wait for a person or another
    ///     program; nil for `timeout`.
    public init(
        _ source: sending some AudioSource, name: String = "audio", clock: any CaptureClock = MonotonicClock(),
        timeout: Duration = .seconds(10), openTimeout: Duration? = nil
    ) {
        let control = AudioControl(AudioMedia(settings: source.settings), clock: clock)
        let loop = AudioSourceLoop(source, control: control)
        self.control = control
        runner = CaptureRunner(
            control, name: name, timeout: timeout, openTimeout: openTimeout ?? timeout, body: { loop.run() })
    }

    deinit {
        runner.release()
    }

    public var audioCaptureConsumer: (any AudioCaptureConsumer)? {
        get { control.contents.withLock { $0.media.consumer } }
        set { control.contents.withLock { $0.media.consumer = newValue } }
    }

    public func initCapture() throws(CaptureError) { try runner.open() }
    public func startCapture() throws(CaptureError) { try runner.start() }
    public func stopCapture() throws(CaptureError) { try runner.stop() }
    public func releaseCapture() { runner.release() }

    public var isCaptureStarted: Bool { control.contents.withLock { $0.isStarted } }
    public func captureSettings() -> AudioSettings { control.contents.withLock { $0.media.settings } }

    public var state: CaptureState { control.states.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { control.states.changes() }
    public var statistics: AudioStatistics { control.contents.withLock { $0.media.statistics } }
}

/// A capture that forwards all work to another one: the shape of a capturer that is an ``AudioSource`` with its own name
/// and initializer.
///
/// ```swift
/// public final class ToneCapturer: ForwardingAudioCapture {
///     public let forwardedCapture: AudioSourceCapturer
///     public init(frequency: Double) { forwardedCapture = AudioSourceCapturer(Tone(frequency: frequency)) }
/// }
/// ```
public protocol ForwardingAudioCapture: AudioCapture {
    /// What does the work.
    var forwardedCapture: AudioSourceCapturer { get }
}

extension ForwardingAudioCapture {
    public var audioCaptureConsumer: (any AudioCaptureConsumer)? {
        get { forwardedCapture.audioCaptureConsumer }
        set { forwardedCapture.audioCaptureConsumer = newValue }
    }

    public func initCapture() throws(CaptureError) { try forwardedCapture.initCapture() }
    public func startCapture() throws(CaptureError) { try forwardedCapture.startCapture() }
    public func stopCapture() throws(CaptureError) { try forwardedCapture.stopCapture() }
    public func releaseCapture() { forwardedCapture.releaseCapture() }
    public var isCaptureStarted: Bool { forwardedCapture.isCaptureStarted }
    public func captureSettings() -> AudioSettings { forwardedCapture.captureSettings() }
    public var state: CaptureState { forwardedCapture.state }
    public func stateChanges() -> AsyncStream<CaptureState.Change> { forwardedCapture.stateChanges() }
    public var statistics: AudioStatistics { forwardedCapture.statistics }
}
