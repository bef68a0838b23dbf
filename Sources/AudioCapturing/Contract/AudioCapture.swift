/// A source of sound: what `VideoCapture` is for pictures.
///
/// To write one, conform a small type to ``AudioSource`` and hand it to an ``AudioSourceCapturer``: thread, pacing,
/// time, lost frames, states, errors, restart and statistics come from there. Conform to this protocol directly only for
/// what a source cannot express. Either way, `AudioConformanceSuite` in `CapturerTestKit` checks every sentence that
/// follows.
///
/// **Order.** init → (start → stop)* → release. After release the capture is idle and may be initialized
/// again. A start before init, or after release, throws `invalidState`, and so does a stop before init.
/// Repeated calls of init, start, stop and release are harmless. Release while running stops first.
/// A capture can be restarted after it was stopped, or after it stopped on its own account, any number of times.
///
/// **Threads.** Every member may be used from any thread, except that init, start and release must not be
/// called from inside `consumeAudio`. Chunks are delivered one at a time, on the capture's own thread,
/// never on the main thread and never on the cooperative pool.
///
/// **Stop.** When ``stopCapture()`` has returned, no call of the consumer is running and none will come.
/// It may be called from inside `consumeAudio`; there it takes effect once that call returns.
///
/// **Sound.** Timestamps are of the monotonic clock, strictly increase, and go on increasing over restarts. The numbers of
/// the frames increase over restarts too; they skip by the number of lost frames. A chunk without a
/// discontinuity continues the one before: its first frame is the next one, its format is the same, and its time is the end
/// of the one before, within 20 ms. The first chunk after each start has the discontinuity `start`. Each chunk has a
/// frame at least, and its samples fill the buffer as its format says.
///
/// **States.** Every change is seen by every ``stateChanges()`` stream, in order, none left out. The first
/// error wins; a restart clears it.
public protocol AudioCapture: CaptureLifeCycle {
    /// Where chunks go; held weakly. Set before start; a change while running takes effect with the next chunk. Chunks
    /// without a consumer are dropped and counted.
    var audioCaptureConsumer: (any AudioCaptureConsumer)? { get set }

    /// Acquires the device and settles what it will deliver. Blocks until that is done, or until another thread releases
    /// the capture.
    ///
    /// - Throws: what opening the device has met, such as `deviceNotFound`, `deviceBusy`, `permissionDenied` or
    ///   `formatUnsupported`; the capture stays idle then.
    func initCapture() throws(CaptureError)

    /// Begins to deliver sound. Blocks until the device streams or has refused.
    ///
    /// - Throws: `invalidState` before init and after release; the error of starting the device.
    func startCapture() throws(CaptureError)

    /// Ends the delivery of sound and stops the device's streaming.
    ///
    /// - Throws: `invalidState` before init; `stalled` when the source did not return within its limit (the
    ///   rule holds even then: no further call of the consumer will come).
    func stopCapture() throws(CaptureError)

    /// Stops if necessary, and releases the device.
    func releaseCapture()

    /// Whether sound is being delivered or is about to be: starting, running or interrupted.
    var isCaptureStarted: Bool { get }

    /// The settings that will be delivered; before init the requested ones.
    func captureSettings() -> AudioSettings

    /// The state now.
    var state: CaptureState { get }

    /// A separate stream of all changes of state from now on. It ends when the capture is destroyed.
    func stateChanges() -> AsyncStream<CaptureState.Change>

    /// The statistics since init.
    var statistics: AudioStatistics { get }
}

/// Takes the sound of a capture.
public protocol AudioCaptureConsumer: AnyObject, Sendable {
    /// Takes one chunk. Called on the capture's thread (or on a queue's), one call at a time; should return before the
    /// next chunk is due. Store the value to keep the chunk.
    func consumeAudio(_ chunk: AudioChunk)
}

/// A capture of pictures that has sound, too, such as a file.
public protocol SoundOwner: AnyObject, Sendable {
    /// The sound that belongs to the pictures, as a separate capture.
    ///
    /// - Parameter isAlone: whether it is captured without the pictures.
    /// - Returns: nil where there is no sound.
    func makeSound(isAlone: Bool) -> (any AudioCapture)?
}
