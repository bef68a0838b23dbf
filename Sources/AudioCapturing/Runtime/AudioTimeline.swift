/// Places the chunks of a capture: strictly increasing times and the numbers of frames, over all restarts, with the losses
/// in between.
struct AudioTimeline {
    /// Where a chunk belongs.
    struct Place {
        var timestamp: MediaTime
        var firstFrame: Int64
        var discontinuity: AudioChunk.Discontinuity?
        /// Frames found missing just before it.
        var lost: Int64 = 0
    }

    /// An error of the time up to which sound is taken to continue; beyond it something is missing, or doubled.
    static let tolerance = 20_000_000.0
    /// A time that is further back than this is a clock that was set, not sound that comes twice.
    private static let longestOverlap = 2_000_000_000.0

    /// The number of the next frame.
    private(set) var nextFrame: Int64 = 0
    /// When the next frame is due.
    private(set) var nextTimestamp = MediaTime(nanoseconds: .min)
    /// Where the last chunk ended.
    private var end = MediaTime(nanoseconds: .min)
    /// The format of the chunks; nil before the first.
    private(set) var format: AudioFormat?
    private var clock: SampleClock?
    private var lateness = ReadLateness()
    private var lastTimestamp: MediaTime?
    /// The discontinuity to state with the next chunk.
    private var pending: AudioChunk.Discontinuity?
    /// The offset that is added to a device's times since its clock was set.
    private var offset = Duration.zero
    /// The line of sound that is paced: the time of a frame, from which the others are counted without rounding.
    private var line = (time: MediaTime.zero, frame: Int64(0))

    /// The rate of the device; nil until it is known.
    var measuredSampleRate: Double? { clock?.measuredSampleRate }

    /// The next chunk is the first of a start.
    mutating func beginSession(at now: MediaTime) {
        clock = nil
        lateness = ReadLateness()
        offset = .zero
        pending = .start
        nextTimestamp = max(now, end)
        line = (nextTimestamp, nextFrame)
    }

    /// A chunk was numbered and then dropped.
    mutating func recordUndelivered(_ discontinuity: AudioChunk.Discontinuity?, frames: Int64) {
        pending = AudioChunk.Discontinuity.merge(pending, discontinuity)
        pending = AudioChunk.Discontinuity.merge(pending, .lost(frames: frames))
    }

    // MARK: Sound that is paced

    /// Leaves out frames whose time has passed.
    mutating func skip(frames: Int64, _ format: AudioFormat) {
        nextFrame += frames
        pending = AudioChunk.Discontinuity.merge(pending, .lost(frames: frames))
        nextTimestamp = time(ofFrame: nextFrame, format)
    }

    /// The place of a chunk that follows the one before.
    mutating func place(_ buffer: AudioBuffer) -> Place {
        adopt(buffer.format)
        let timestamp = nextTimestamp
        return finish(
            buffer, timestamp: timestamp, next: time(ofFrame: nextFrame + Int64(buffer.frameCount), buffer.format))
    }

    private func time(ofFrame frame: Int64, _ format: AudioFormat) -> MediaTime {
        line.time.advanced(by: format.duration(ofFrames: frame - line.frame))
    }

    // MARK: Sound with a device's time

    /// The place of a chunk with the device's time; nil if other chunks already have that time.
    ///
    /// - Parameters:
    ///   - audio: the chunk.
    ///   - time: the time of its first sample, by the device or by the read.
    ///   - isExact: whether that is the device's time, rather than a read's.
    mutating func place(_ audio: SourceAudio, at time: MediaTime, isExact: Bool) -> Place? {
        let frames = audio.buffer.frameCount
        let hadFormat = format
        adopt(audio.buffer.format)
        guard var clock, hadFormat != nil else {
            // What the start before has delivered has its time already.
            let start = max(time, end)
            let overlap = Double(start.nanoseconds(since: time))
            if isExact, overlap > AudioTimeline.longestOverlap { offset = start - time }
            if isExact, overlap > AudioTimeline.tolerance, offset == .zero { return nil }
            var clock = SampleClock(at: start, sampleRate: audio.buffer.format.sampleRate)
            clock.advance(frames: frames, error: 0, span: frames)
            self.clock = clock
            return finish(audio.buffer, timestamp: start, next: clock.prediction)
        }
        var lost: Int64 = 0
        if !isExact, audio.lostBefore > 0 {
            lost = audio.lostBefore
            clock.skip(frames: lost)
        }
        let time = time.advanced(by: offset)
        let prediction = clock.prediction
        var error = Double(time.nanoseconds(since: prediction))
        var span = frames
        if error < -AudioTimeline.tolerance, !isExact {
            // An early read proves that earlier reads were late, and so were the times made from them.
            let earliest = lastTimestamp.map { $0.advanced(by: .nanoseconds(1)) } ?? time
            let start = max(time, earliest)
            pending = AudioChunk.Discontinuity.merge(pending, .resynchronized(by: start - prediction))
            clock = SampleClock(at: start, sampleRate: audio.buffer.format.sampleRate)
            lateness = ReadLateness()
            error = 0
        } else if error < -AudioTimeline.tolerance {
            pending = AudioChunk.Discontinuity.merge(pending, .resynchronized(by: time - prediction))
            // Sound that comes twice.
            guard error < -AudioTimeline.longestOverlap else { return nil }
            offset += prediction - time
            error = 0
        } else if !isExact, !audio.isAfterGap {
            // A read may be late by any time; only the earliest of a second says something.
            let rate = audio.buffer.format.sampleRate
            let found = lateness.add(error, frames: frames, sampleRate: rate)
            error = found?.lateness ?? 0
            span = found?.frames ?? frames
        }
        let isGapKnown = audio.isAfterGap || (isExact && audio.lostBefore > 0)
        if error > AudioTimeline.tolerance || (isGapKnown && error > clock.period / 2) {
            let missing = Int64((error / clock.period).rounded())
            lost += missing
            // Where the device has begun again, and counts from.
            let start = prediction.advanced(by: Duration(clampingNanoseconds: error))
            clock = SampleClock(at: start, sampleRate: audio.buffer.format.sampleRate)
            lateness = ReadLateness()
            error = 0
        }
        let timestamp = clock.prediction
        clock.advance(frames: frames, error: error, span: span)
        self.clock = clock
        nextFrame += lost
        if lost > 0 { pending = AudioChunk.Discontinuity.merge(pending, .lost(frames: lost)) }
        var place = finish(audio.buffer, timestamp: timestamp, next: clock.prediction)
        place.lost = lost
        return place
    }

    // MARK: Both

    private mutating func adopt(_ format: AudioFormat) {
        guard self.format != format else { return }
        if self.format != nil {
            pending = AudioChunk.Discontinuity.merge(pending, .formatChanged)
            if let clock { self.clock = SampleClock(at: clock.prediction, sampleRate: format.sampleRate) }
            lateness = ReadLateness()
            line = (nextTimestamp, nextFrame)
        }
        self.format = format
    }

    private mutating func finish(_ buffer: AudioBuffer, timestamp: MediaTime, next: MediaTime) -> Place {
        let timestamp = timestamp.increasing(after: lastTimestamp)
        lastTimestamp = timestamp
        let place = Place(timestamp: timestamp, firstFrame: nextFrame, discontinuity: pending.take())
        nextFrame += Int64(buffer.frameCount)
        nextTimestamp = max(next, timestamp)
        end = nextTimestamp
        return place
    }
}

extension AudioChunk.Discontinuity {
    /// What to state where both apply: the one that means more; losses add up.
    static func merge(
        _ first: AudioChunk.Discontinuity?, _ second: AudioChunk.Discontinuity?
    ) -> AudioChunk.Discontinuity? {
        guard let first else { return second }
        guard let second else { return first }
        switch (first, second) {
        case (.lost(let first), .lost(let second)): return .lost(frames: first + second)
        case (.resynchronized(let first), .resynchronized): return .resynchronized(by: first)
        default: return first.rank >= second.rank ? first : second
        }
    }

    private var rank: Int {
        switch self {
        case .resynchronized: 0
        case .lost: 1
        case .formatChanged: 2
        case .start: 3
        }
    }
}
