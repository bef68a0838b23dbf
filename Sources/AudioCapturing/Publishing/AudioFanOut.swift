/// Takes the chunks of a publisher's capture and puts each before every consumer's queue.
///
/// Two locks. `settings` guards what callers change and is held for moments only. `emission` puts chunks in one order and is
/// held while they are pushed, which may block on a queue that waits; so nothing that a caller does needs it.
final class AudioFanOut: CaptureFanOut {
    static let noun = "sound"

    let gate = InletGate()
    let clock: any CaptureClock

    private struct Settings {
        var subscriptions: [AudioSubscription] = []
        var isMuted = false
    }

    private struct Emission {
        var sequencer = AudioSequencer()
        /// The capture whose chunks were sent last.
        var inlet: ObjectIdentifier?
        let silence = AudioBufferPool()
    }

    private let settings = Locked(Settings())
    private let emission = Locked(Emission())

    init(clock: any CaptureClock) {
        self.clock = clock
    }

    /// On the capture's thread.
    func accept(_ chunk: AudioChunk, from inlet: AudioInlet) {
        emission.withLock { emission in
            let inlet = ObjectIdentifier(inlet)
            // Asked for under the emission lock, so that no chunk of an old capture follows one of the new.
            guard gate.admits(inlet) else { return }
            if emission.inlet != inlet {
                emission.inlet = inlet
                emission.sequencer.beginCapture()
            }
            var chunk = chunk
            guard emission.sequencer.place(&chunk) else { return }
            let (isMuted, subscriptions) = settings.withLock { ($0.isMuted, $0.subscriptions) }
            if isMuted {
                // Without memory for silence nothing is sent, because muted sound must never be heard.
                guard let silence = try? emission.silence.makeSilence(chunk.format, frameCount: chunk.frameCount) else {
                    return
                }
                chunk.buffer = silence
            }
            for subscription in subscriptions { subscription.queue.push(chunk) }
        }
    }

    // MARK: Consumers

    var places: [AudioSubscription] { settings.withLock { $0.subscriptions } }

    func add(_ subscription: AudioSubscription) { settings.withLock { $0.subscriptions.append(subscription) } }

    func remove(_ subscription: AudioSubscription) {
        settings.withLock { settings in settings.subscriptions.removeAll { $0 === subscription } }
    }

    func removeAll() -> [AudioSubscription] {
        settings.withLock { settings in
            defer { settings.subscriptions = [] }
            return settings.subscriptions
        }
    }

    var isMuted: Bool {
        get { settings.withLock { $0.isMuted } }
        set { settings.withLock { $0.isMuted = newValue } }
    }

    // MARK: The capture

    func connect(_ capture: any AudioCapture) -> any AnyObject & Sendable {
        let inlet = AudioInlet(self)
        capture.audioCaptureConsumer = inlet
        return inlet
    }

    func life(of capture: any AudioCapture) -> any CaptureLifeCycle { capture }
    func didStart() {}
    func willStop() {}
}

/// Where one capture's chunks enter a publisher. It distinguishes the chunks of successive captures.
final class AudioInlet: AudioCaptureConsumer {
    private let fanOut: AudioFanOut

    init(_ fanOut: AudioFanOut) {
        self.fanOut = fanOut
    }

    func consumeAudio(_ chunk: AudioChunk) { fanOut.accept(chunk, from: self) }
}

/// Gives the chunks of changing captures one unbroken line of timestamps and numbers.
struct AudioSequencer {
    private var last: AudioChunk?
    /// The offset that is added to the current capture's numbers; nil before its first chunk.
    private var shift: Int64?

    /// The next chunk is another capture's, whose numbers begin again.
    mutating func beginCapture() { shift = nil }

    /// Places a chunk of the current capture; gaps in its numbers stay as wide as they are.
    ///
    /// - Returns: false for sound of a new capture that is older than what the last one has delivered.
    mutating func place(_ chunk: inout AudioChunk) -> Bool {
        guard let last else {
            shift = 0
            self.last = chunk
            return true
        }
        if let shift {
            chunk.firstFrame += shift
        } else {
            guard chunk.timestamp > last.timestamp,
                chunk.timestamp.nanoseconds(since: last.endTimestamp) >= -Int64(AudioTimeline.tolerance)
            else { return false }
            shift = last.endFrame - chunk.firstFrame
            chunk.firstFrame = last.endFrame
            // Captures differ in more than a gap: in delay, in gain.
            chunk.discontinuity = .start
        }
        self.last = chunk
        return true
    }
}
