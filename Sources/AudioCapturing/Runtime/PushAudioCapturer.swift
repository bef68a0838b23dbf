/// A capture for sound that an application already has: it pushes it, from any thread.
///
/// ```swift
/// let capture = PushAudioCapturer(format: .float48kStereo)
/// …                                   // hand it to a publisher, start it
/// capture.push(buffer)                // as often as there is sound
/// ```
/// Chunks wait in a small queue and are delivered on the capture's own thread. Safe to use from any thread.
public final class PushAudioCapturer: ForwardingAudioCapture {
    private let mailbox: AudioMailbox
    public let forwardedCapture: AudioSourceCapturer

    /// A capture of pushed sound.
    ///
    /// - Parameters:
    ///   - format: what will be pushed, as far as is known; each buffer's own format is what counts.
    ///   - name: the name of the source, and of its thread.
    ///   - queueCapacity: how many chunks may wait for the consumer.
    ///   - policy: what happens to a chunk that finds the queue full.
    ///   - clock: what gives the time of sound that comes without one.
    public init(
        format: AudioFormat, name: String = "push", queueCapacity: Int = 16, policy: QueuePolicy = .dropOldest,
        clock: any CaptureClock = MonotonicClock()
    ) {
        mailbox = AudioMailbox(QueueSettings(capacity: queueCapacity, policy: policy, timeout: nil))
        forwardedCapture = AudioSourceCapturer(
            PushedSound(settings: AudioSettings(format: format, sourceName: name), mailbox: mailbox), name: name,
            clock: clock)
    }

    /// Gives the capture sound. Does not block, unless the policy is `block`.
    ///
    /// - Parameters:
    ///   - buffer: the samples; kept, not copied.
    ///   - timestamp: when the first one was at the microphone, on the monotonic clock; where a program states it, it
    ///     should do so for every chunk. Nil when unknown: sound is then taken to have come just before it is delivered.
    /// - Returns: false when the capture is not started, the buffer is empty, or the queue turned it away.
    @discardableResult
    public func push(_ buffer: AudioBuffer, timestamp: MediaTime? = nil) -> Bool {
        guard isCaptureStarted, buffer.frameCount > 0 else { return false }
        // A time of zero stands for none: nothing is as old as the machine's start.
        return mailbox.queue.push(AudioChunk(buffer: buffer, timestamp: timestamp ?? .zero)) { isCaptureStarted }
    }

    /// Reports that no sound will follow: the capture stops with the end of the stream once what waits is delivered. A
    /// restart begins with an empty queue.
    public func finish() {
        mailbox.isFinished.withLock { $0 = true }
        mailbox.queue.wakeWaiters()
    }
}

/// What the pushing threads and the capture thread share.
private final class AudioMailbox: Sendable {
    let queue: AudioQueue
    let isFinished = Locked(false)

    init(_ settings: QueueSettings) { queue = AudioQueue(settings) }
}

private struct PushedSound: AudioSource {
    let settings: AudioSettings
    let mailbox: AudioMailbox

    var pacing: AudioPacing { .device }

    func start(_ context: AudioContext) {
        mailbox.isFinished.withLock { $0 = false }
        context.setStopHandler { [mailbox] in mailbox.queue.wakeWaiters() }
    }

    func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        let next = mailbox.queue.pop(isWanted: { isEmpty in
            !context.isStopping && !(isEmpty && mailbox.isFinished.withLock { $0 })
        })
        guard let chunk = next else { return nil }
        mailbox.queue.endDelivery()
        var audio = SourceAudio(chunk.buffer, timestamp: chunk.timestamp == .zero ? nil : chunk.timestamp)
        if case .lost(let frames) = chunk.discontinuity { audio.lostBefore = frames }
        return audio
    }

    func stop() {
        // What waits is of the past when the capture starts again. Also frees producers that wait for room.
        mailbox.queue.discardWaiting()
    }
}
