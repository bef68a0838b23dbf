/// What runs on the capture thread: obeys the orders of a `CaptureRunner` and calls the source.
///
/// `@unchecked Sendable`: `source` and `timeline` are used on the capture thread only. There is one at a time, and each
/// begins after the one before has said, through the control's lock, that it has ended.
final class AudioSourceLoop: CaptureLoop, @unchecked Sendable {
    let control: AudioControl
    private let context: AudioContext
    @exclusivity(unchecked) private var source: any AudioSource
    @exclusivity(unchecked) private var timeline = AudioTimeline()
    /// The first time of a source with its own time scale, and the same moment by the capture's clock.
    @exclusivity(unchecked) private var sourceEpoch: (own: MediaTime, time: MediaTime)?

    /// How late a source that is paced by the clock may be before sound is left out.
    private static let longestDelay = Duration.milliseconds(100)
    /// A device's time that is further from the clock than this is not of the monotonic clock, or made up.
    private static let longestDeviation = Duration.seconds(10)

    init(_ source: sending some AudioSource, control: AudioControl) {
        self.source = source
        self.control = control
        context = AudioContext(control: control)
    }

    var sourceName: String? { source.settings.sourceName }
    var adopt: (inout AudioMedia) -> Void { { [settings = source.settings] in $0.settings = settings } }
    func open() throws { try source.open(context) }
    func start() throws { try source.start(context) }
    func stop() { source.stop() }
    func close() { source.close() }

    func deliverUntilStopped() throws -> CaptureState.StopReason {
        let pacing = source.pacing
        timeline.beginSession(at: context.now)
        sourceEpoch = nil
        _ = context.takeInterruption()
        while !context.isStopping {
            if pacing == .clock { leaveOutWhatIsLate() }
            context.setNext(frame: timeline.nextFrame, timestamp: timeline.nextTimestamp)
            guard let audio = try source.nextChunk(context) else { return .endOfStream }
            guard audio.buffer.frameCount > 0 else { continue }
            // What a source returns when its wait is ended is not delivered, so it takes no place in time.
            guard !context.isStopping else { break }
            guard pass(audio, pacing) else { break }
        }
        return .user
    }

    private func leaveOutWhatIsLate() {
        let settings = source.settings
        let delay = context.now - timeline.nextTimestamp - settings.chunkDuration
        guard delay > AudioSourceLoop.longestDelay else { return }
        let format = timeline.format ?? settings.format
        let frames = format.frames(in: delay)
        timeline.skip(frames: frames, format)
        control.contents.withLock { $0.media.statistics.framesLost.late &+= UInt64(frames) }
    }

    /// Delivers a chunk when it is due; false when a stop has overtaken it.
    private func pass(_ audio: SourceAudio, _ pacing: AudioPacing) -> Bool {
        var audio = audio
        if context.takeInterruption() { audio.isAfterGap = true }
        let before = timeline
        let place: AudioTimeline.Place?
        switch pacing {
        case .clock: place = timeline.place(audio.buffer)
        case .unpaced:
            if let time = audio.timestamp {
                place = timeline.place(audio, at: time, isExact: true)
            } else {
                place = timeline.place(audio.buffer)
            }
        case .device:
            let now = context.now
            let readTime = now.advanced(by: .zero - audio.buffer.duration)
            let own = audio.timestamp.flatMap { time in
                let deviation = time - now
                let limit = AudioSourceLoop.longestDeviation
                return deviation < limit && deviation > .zero - limit ? time : nil
            }
            place = timeline.place(audio, at: own ?? readTime, isExact: own != nil)
        case .sourceTimestamps:
            let own = audio.timestamp ?? sourceEpoch?.own ?? .zero
            let epoch = sourceEpoch ?? (own, max(context.now, timeline.nextTimestamp))
            sourceEpoch = epoch
            let time = epoch.time.advanced(by: own - epoch.own)
            place =
                audio.timestamp == nil
                ? timeline.place(audio.buffer) : timeline.place(audio, at: time, isExact: true)
        }
        guard let place else {
            control.contents.withLock {
                $0.media.statistics.framesLost.overlapping &+= UInt64(audio.buffer.frameCount)
            }
            return true
        }
        if pacing == .clock || pacing == .sourceTimestamps,
            !context.wait(until: place.timestamp.advanced(by: audio.buffer.duration))
        {
            // It was not there yet, so it has no number.
            timeline = before
            return false
        }
        deliver(
            AudioChunk(
                buffer: audio.buffer, timestamp: place.timestamp, firstFrame: place.firstFrame,
                discontinuity: place.discontinuity, estimatedCaptureDelay: audio.estimatedCaptureDelay),
            lost: place.lost)
        return true
    }

    /// Hands one chunk to the consumer, unless a stop has been ordered meanwhile.
    private func deliver(_ chunk: AudioChunk, lost: Int64) {
        let frames = UInt64(chunk.frameCount)
        let consumer = control.contents.withLock { contents -> (any AudioCaptureConsumer)? in
            contents.media.statistics.framesLost.source &+= UInt64(lost)
            if case .resynchronized = chunk.discontinuity { contents.media.statistics.resynchronizations &+= 1 }
            contents.media.statistics.measuredSampleRate = timeline.measuredSampleRate
            guard !contents.isStopOrdered else {
                // It has its numbers, so it counts.
                contents.media.statistics.framesLost.abandoned &+= frames
                return nil
            }
            if contents.isInterrupted {
                contents.isInterrupted = false
                control.states.transition(to: .running, reason: .source)
            }
            if contents.media.settings.format != chunk.format { contents.media.settings.format = chunk.format }
            guard let consumer = contents.media.consumer else {
                contents.media.statistics.framesLost.noConsumer &+= frames
                return nil
            }
            contents.media.statistics.chunksDelivered &+= 1
            contents.media.statistics.framesDelivered &+= frames
            contents.isDelivering = true
            return consumer
        }
        guard let consumer else {
            timeline.recordUndelivered(chunk.discontinuity, frames: Int64(frames))
            return
        }
        consumer.consumeAudio(chunk)
        let isAwaited = control.contents.withLock { contents in
            contents.isDelivering = false
            return contents.isStopOrdered
        }
        if isAwaited { control.contents.wakeAll() }
    }
}
