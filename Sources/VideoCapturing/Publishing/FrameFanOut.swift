/// Takes the frames of a publisher's capture and puts each before every consumer's queue.
///
/// Two locks. `settings` guards what callers change and is held for moments only. `emission` puts frames and
/// their repeats in one order and is held while they are pushed, which may block on a queue that waits; so
/// nothing that a caller does needs it.
final class FrameFanOut: CaptureFanOut {
    static let noun = "video"

    let gate = InletGate()
    let clock: any CaptureClock

    private struct Settings {
        var subscriptions: [PublisherSubscription] = []
        var mute: VideoPublisher.MuteMode?
        var minimumFrameRate: FrameRate?
        var repeats: UInt64 = 0
    }

    private struct Emission {
        var sequencer = FrameSequencer()
        /// The last frame as it was sent, for repeats and the mute that holds it.
        var lastFrame: VideoFrame?
        /// Carries damage over pictures that were not the capture's.
        var accumulator = DamageAccumulator()
        var black: PixelBuffer?
        /// The capture whose frames were sent last.
        var inlet: ObjectIdentifier?
    }

    private let settings = Locked(Settings())
    private let emission = Locked(Emission())
    private let repeater = Locked<FrameRepeater?>(nil)

    init(clock: any CaptureClock) {
        self.clock = clock
    }

    // MARK: Frames

    /// On the capture's thread.
    func accept(_ frame: VideoFrame, from inlet: CaptureInlet) {
        emission.withLock { emission in
            let inlet = ObjectIdentifier(inlet)
            // Asked for under the emission lock, so that no frame of an old capture follows one of the new.
            guard gate.admits(inlet) else { return }
            if emission.inlet != inlet {
                emission.inlet = inlet
                emission.sequencer.beginCapture()
                emission.accumulator.invalidate()
            }
            var frame = frame
            let (mute, subscriptions) = settings.withLock { ($0.mute, $0.subscriptions) }
            if let mute {
                // The first picture after the mute differs everywhere from the last one.
                emission.accumulator.invalidate()
                guard FrameFanOut.hide(&frame, mode: mute, emission: &emission) else { return }
            } else {
                emission.accumulator.flush(into: &frame)
            }
            emission.sequencer.place(&frame)
            send(frame, to: subscriptions, emission: &emission)
        }
    }

    /// Sends the last frame again if it is older than `interval`; on the repeater's thread. Gives the time of
    /// the last frame, or nil when there was none.
    func repeatLastFrame(ifOlderThan interval: Duration) -> MediaTime? {
        emission.withLock { emission in
            guard let last = emission.lastFrame else { return nil }
            let now = clock.now
            guard now - last.timestamp >= interval else { return last.timestamp }
            var frame = last.repeated(at: now)
            let (mute, subscriptions) = settings.withLock { ($0.mute, $0.subscriptions) }
            if mute == .black {
                emission.accumulator.invalidate()
                guard FrameFanOut.hide(&frame, mode: .black, emission: &emission) else { return last.timestamp }
            }
            emission.sequencer.placeRepeat(&frame)
            settings.withLock { $0.repeats += 1 }
            send(frame, to: subscriptions, emission: &emission)
            return frame.timestamp
        }
    }

    private func send(_ frame: VideoFrame, to subscriptions: [PublisherSubscription], emission: inout Emission) {
        emission.lastFrame = frame
        for subscription in subscriptions { subscription.push(frame) }
    }

    /// Puts another picture in place of the frame's own. False when there is no memory for one; the frame must
    /// then not be sent, since a muted picture is never to be seen.
    private static func hide(_ frame: inout VideoFrame, mode: VideoPublisher.MuteMode, emission: inout Emission) -> Bool
    {
        defer {
            // A picture that is shown already does not change.
            let isShown = emission.lastFrame.map { $0.buffer === frame.buffer } ?? false
            frame.damage = isShown ? [] : nil
            frame.isRepeat = frame.isRepeat && isShown
        }
        frame.metadata = nil
        frame.compressed = nil
        if mode == .holdLast, let last = emission.lastFrame {
            frame.buffer = last.buffer
            frame.compressed = last.compressed
            frame.color = last.color
            frame.orientation = last.orientation
            frame.isMirrored = last.isMirrored
            frame.isRepeat = true
            return true
        }
        // Compressed pictures cannot be blackened as they are: they become black pictures that can be encoded.
        if frame.pixelFormat.isCompressed { frame.color = .bt601 }
        let format = frame.pixelFormat.isCompressed ? PixelFormat.i420 : frame.pixelFormat
        if let black = emission.black, black.pixelFormat == format, black.width == frame.width,
            black.height == frame.height
        {
            frame.buffer = black
        } else if let black = try? PixelBuffer.black(
            format, width: frame.width, height: frame.height, color: frame.color)
        {
            emission.black = black
            frame.buffer = black
        } else {
            return false
        }
        return true
    }

    // MARK: Consumers

    var places: [PublisherSubscription] { settings.withLock { $0.subscriptions } }

    func add(_ subscription: PublisherSubscription) {
        settings.withLock { $0.subscriptions.append(subscription) }
    }

    func remove(_ subscription: PublisherSubscription) {
        settings.withLock { settings in settings.subscriptions.removeAll { $0 === subscription } }
    }

    func removeAll() -> [PublisherSubscription] {
        settings.withLock { settings in
            defer { settings.subscriptions = [] }
            return settings.subscriptions
        }
    }

    /// What a capture can do to satisfy every consumer.
    var mergedWants: CaptureWants {
        let all = places.map { subscription in subscription.wants.withLock { $0.forCapture } }
        guard let first = all.first else { return CaptureWants() }
        return all.dropFirst().reduce(first) { $0.merged(with: $1) }
    }

    // MARK: The capture

    func connect(_ capture: any VideoCapture) -> any AnyObject & Sendable {
        let inlet = CaptureInlet(self)
        capture.videoCaptureConsumer = inlet
        // Without consumers there is nothing to ask for: a capture keeps its own wants until the first one comes.
        if !places.isEmpty { capture.adapt(to: mergedWants) }
        return inlet
    }

    func life(of capture: any VideoCapture) -> any CaptureLifeCycle { capture }
    func didStart() { startRepeating() }
    func willStop() { repeater.withLock { $0.take() }?.stop() }

    // MARK: Mute and repeats

    func setMute(_ mode: VideoPublisher.MuteMode?) {
        settings.withLock { $0.mute = mode }
    }

    var repeats: UInt64 { settings.withLock { $0.repeats } }

    var minimumFrameRate: FrameRate? { settings.withLock { $0.minimumFrameRate } }

    func setMinimumFrameRate(_ rate: FrameRate?, isRunning: Bool) {
        settings.withLock { $0.minimumFrameRate = rate }
        // Not awaited: it may be waiting for the consumer that calls this.
        repeater.withLock { $0.take() }?.cancel()
        if isRunning { startRepeating() }
    }

    func startRepeating() {
        guard let rate = minimumFrameRate else { return }
        repeater.withLock { repeater in
            guard repeater == nil else { return }
            // Without a thread there are no repeats, but the capture's own frames go on.
            repeater = try? FrameRepeater(interval: rate.frameInterval, clock: clock, fanOut: self)
        }
    }
}

/// Where one capture's frames enter a publisher. It distinguishes the frames of successive captures.
final class CaptureInlet: VideoCaptureConsumer {
    private let fanOut: FrameFanOut

    init(_ fanOut: FrameFanOut) {
        self.fanOut = fanOut
    }

    func consumeFrame(_ frame: VideoFrame) {
        fanOut.accept(frame, from: self)
    }
}

/// Gives the frames of changing captures, and their repeats, one unbroken line of timestamps and sequence
/// numbers.
struct FrameSequencer {
    private(set) var lastTimestamp: MediaTime?
    private var lastNumber: UInt64?
    private var lastInputNumber: UInt64?

    /// Places a frame of the current capture; gaps in its numbers stay as wide as they are.
    mutating func place(_ frame: inout VideoFrame) {
        let step = lastInputNumber.map { frame.sequenceNumber > $0 ? frame.sequenceNumber - $0 : 1 } ?? 1
        lastInputNumber = frame.sequenceNumber
        advance(&frame, by: step)
    }

    /// Places a frame that is sent again.
    mutating func placeRepeat(_ frame: inout VideoFrame) {
        advance(&frame, by: 1)
    }

    /// The next frame is another capture's, whose numbers begin again.
    mutating func beginCapture() {
        lastInputNumber = nil
    }

    private mutating func advance(_ frame: inout VideoFrame, by step: UInt64) {
        let number = lastNumber.map { $0 &+ step } ?? frame.sequenceNumber
        lastNumber = number
        frame.sequenceNumber = number
        frame.timestamp = frame.timestamp.increasing(after: lastTimestamp)
        lastTimestamp = frame.timestamp
    }
}
