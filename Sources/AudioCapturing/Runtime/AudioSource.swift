/// The least that a custom sound capturer has to do: give the next samples.
///
/// An ``AudioSourceCapturer`` drives it and adds thread, pacing, time, lost frames, states, errors, restart and
/// statistics. All functions are called on one thread, the capturer's own, one at a time, in the order
/// open → (start → nextChunk* → stop)* → close; so a source needs no lock. Only ``nextChunk(_:)`` and the settings must be
/// written.
public protocol AudioSource {
    /// The settings that the source delivers: before ``open(_:)`` the requested ones, after it the final ones.
    var settings: AudioSettings { get }

    /// When chunks are due. The default is ``AudioPacing/clock``.
    var pacing: AudioPacing { get }

    /// Acquires the device or file. A release meanwhile makes ``AudioContext/isStopping`` true; a source that waits then
    /// throws.
    ///
    /// - Parameter context: ends waits.
    /// - Throws: any error, which `initCapture` throws; ``close()`` is not called then.
    mutating func open(_ context: AudioContext) throws

    /// Starts the device's stream.
    ///
    /// - Parameter context: makes samples, has the time, and ends waits.
    /// - Throws: any error, which `startCapture` throws.
    mutating func start(_ context: AudioContext) throws

    /// The next samples.
    ///
    /// May block indefinitely, if it ends its wait when ``AudioContext/isStopping`` becomes true: sleep with
    /// ``AudioContext/wait(until:)``, wait for a device, a socket or a pipe with
    /// ``AudioContext/waitForInput(_:atMost:)``, or poll ``AudioContext/stopDescriptor`` in addition to several of
    /// them. What it returns after that is not delivered.
    ///
    /// - Parameter context: makes samples, has the time, and ends waits.
    /// - Returns: the samples; nil when there are no more.
    /// - Throws: any error, which stops the capture and is its reason.
    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio?

    /// Stops the device's streaming. Also called after a failure.
    mutating func stop()

    /// Returns the device or file.
    mutating func close()
}

extension AudioSource {
    public var pacing: AudioPacing { .clock }
    public mutating func open(_ context: AudioContext) {}
    public mutating func start(_ context: AudioContext) {}
    public mutating func stop() {}
    public mutating func close() {}
}

/// When the chunks of a source are due.
public enum AudioPacing: Sendable, Hashable {
    /// By the capture's clock, at the nominal rate: a generator. A chunk is delivered when its last sample is due, as a
    /// microphone would. Sound that is more than 100 ms late is left out and counted, never caught up in a burst;
    /// ``AudioContext/nextFrame`` is the number of the sample with which the source continues.
    case clock
    /// The source itself waits for its device: a microphone, a radio. Its timestamps, of the monotonic clock, are smoothed,
    /// and reveal losses.
    case device
    /// At the source's own times (``SourceAudio/timestamp``), counted from its first chunk: a file. Nothing is left out.
    case sourceTimestamps
    /// As fast as the source gives them and the consumer takes them; the times are the source's own, or, where it has none,
    /// those of the frames at the nominal rate, from the start on. For converting.
    case unpaced
}

/// Samples as a source gives them; the capturer adds their place in time.
public struct SourceAudio: Sendable {
    /// The samples.
    public var buffer: AudioBuffer
    /// When the first sample was at the microphone, as exactly as the device reports it, on the monotonic clock; with
    /// ``AudioPacing/sourceTimestamps`` on the source's own scale. Nil when unknown: with ``AudioPacing/device`` the end of
    /// the chunk is then taken to be the time of the call. The other pacings ignore it.
    public var timestamp: MediaTime?
    /// How many frames the source or driver is known to have lost just before the first sample. With a timestamp,
    /// the clock gives the number, and this only states that there is a loss.
    public var lostBefore: Int64 = 0
    /// Whether the device has been restarted, so that its time does not continue: the timestamp then gives the length of the
    /// gap, however short it is. Set automatically after an interruption.
    public var isAfterGap = false
    /// The time from the microphone to the delivery of the last sample; nil when unknown.
    public var estimatedCaptureDelay: Duration?

    /// Samples that continue those before.
    ///
    /// - Parameters:
    ///   - buffer: the samples.
    ///   - timestamp: when the first sample was at the microphone.
    public init(_ buffer: AudioBuffer, timestamp: MediaTime? = nil) {
        self.buffer = buffer
        self.timestamp = timestamp
    }
}
