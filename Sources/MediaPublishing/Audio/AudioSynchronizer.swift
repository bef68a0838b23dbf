import AudioCapturing

/// Puts the sound of a capture on the time line of the pictures: 48 kHz by the monotonic clock, without a gap, from one
/// moment to another.
///
/// Each chunk says when its samples were captured. Between the beginnings of two chunks the samples are stretched to the
/// time between them, so the clock of the sound card is followed exactly, whatever its error, and nothing adds up. Where
/// sound is missing there is silence; sound that comes too late is left out.
///
/// ```
/// chunks       |----------|----------|          |----------|      times of the card
/// time line   T0 ─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─ silence ─┬─┬─┬─┬─┬─┬─▶     48,000 per second of the monotonic clock
/// ```
/// Live, a longer hole is jumped over: silence is encoded and sent as sound is, and a slow machine would fall behind further.
/// A chunk is passed on at once, but for the half millisecond that the filter reaches into the next one. Its duration follows
/// from the rate of the earlier chunks; its error is corrected in the next chunk, so none accumulates. Silence costs next to
/// nothing. No allocation per chunk in steady state. Used by one thread at a time.
final class AudioSynchronizer {
    /// The rate of the time line.
    static let sampleRate = 48_000
    /// Without a stated discontinuity, a chunk that begins this much later than the one before has ended follows a gap, and
    /// one this much earlier overlaps; in nanoseconds.
    private static let tolerance = 20e6
    /// The same where a discontinuity is stated.
    private static let statedTolerance = 1e6
    /// How much faster or slower sound may be played to follow the times, in parts of one: more than any clock is off.
    private static let maximumStretch = 0.0025

    /// What it gives: `float32`, in the channels of the capture.
    let format: AudioFormat
    private(set) var statistics = Statistics()

    private let channels: Int
    private let framesPerChunk: Int
    private let mayJump: Bool
    /// Whether the next frame follows a hole that was jumped over, and its length.
    private var jumped: Int64 = 0
    private let pool = AudioBufferPool()
    /// The time of the first frame.
    private let start: MediaTime
    /// The number of the next frame to be given, and of the one that is not to be given any more.
    private var nextFrame: Int64 = 0
    private var endFrame = Int64.max

    // The input: the channels one after the other, `capacity` frames each, of which the first `filled` are samples.
    private var samples: UnsafeMutablePointer<Float>
    private var capacity = 32_768
    private var filled = 0
    /// The index from which on all of them are zero.
    private var quiet = 0
    private var inputRate = 0
    private var resampler: FractionalResampler?

    // The chunk that is being filled.
    private let made: UnsafeMutablePointer<Float>
    private var madeCount = 0

    /// A stretch of input whose first frame belongs to a time.
    private struct Segment {
        /// The index of its first frame in `samples`.
        var frame = 0
        /// The time of it, in nanoseconds from `start`, and that which its chunk states, which is followed slowly.
        var time = 0.0
        var stated = 0.0
        var count = 0
        /// Whether it may have any length, since it is inaudible.
        var isSilence = false
    }

    /// The newest stretch, whose end in time is not known yet.
    private var open = Segment()
    /// How long a frame of the card takes, in nanoseconds, by the last two chunks; nil before the second one.
    private var period: Double?
    /// From where on output is taken: an index in `samples`, its time, and frames per nanosecond.
    private var origin = (frame: 0.0, time: 0.0)
    private var slope = 0.0

    /// - Parameters:
    ///   - start: the time of the first frame.
    ///   - channels: those of the capture. A capture that takes over is heard with the first of its channels, where it has
    ///     more, and with its last one on those that it lacks.
    ///   - framesPerChunk: how much it gives at a time.
    ///   - mayJump: whether long holes are jumped over, which live listeners prefer to a growing delay.
    init(from start: MediaTime, channels: ChannelLayout, framesPerChunk: Int = 960, mayJump: Bool = false) {
        self.start = start
        self.mayJump = mayJump
        self.channels = channels.count
        self.framesPerChunk = framesPerChunk
        format = AudioSynchronizer.format(of: channels)
        samples = .allocate(capacity: capacity * self.channels)
        made = .allocate(capacity: framesPerChunk * self.channels)
    }

    deinit {
        samples.deallocate()
        made.deallocate()
    }

    /// What a time line gives for a capture of these channels.
    static func format(of channels: ChannelLayout) -> AudioFormat {
        AudioFormat(.float32, channels, sampleRate: sampleRate)
    }

    /// The end of the sound that was added, in nanoseconds from the start.
    private var inputEnd: Double { open.time + Double(open.count) * nanosecondsPerFrame }

    /// How much is missing between the sound that was added and a time.
    func hole(before time: MediaTime) -> Duration {
        .nanoseconds(time.nanoseconds(since: start)) - Duration(clampingNanoseconds: inputEnd)
    }

    private var nanosecondsPerFrame: Double { 1e9 / Double(max(1, inputRate)) }

    // MARK: Input

    /// Adds a chunk, and gives what lies before its beginning.
    func add(_ chunk: AudioChunk, to output: (AudioChunk) throws -> Void) throws {
        guard !hasReachedEnd else { return }
        try adopt(rate: chunk.format.sampleRate, output)
        let time = Double(chunk.timestamp.nanoseconds(since: start))
        let tolerance = chunk.discontinuity == nil ? AudioSynchronizer.tolerance : AudioSynchronizer.statedTolerance
        var first = 0
        if open.count == 0 {
            // What comes before the start belongs to nothing.
            guard time + Double(chunk.frameCount) * nanosecondsPerFrame > inputEnd else { return }
            if time > inputEnd { try bridge(until: time, output) }
        } else if time - inputEnd > tolerance {
            try bridge(until: time, output)
        } else if inputEnd - time > tolerance {
            first = Int(min(Double(chunk.frameCount), (inputEnd - time) / nanosecondsPerFrame))
            statistics.framesLeftOut += Int64(first)
            guard first < chunk.frameCount else { return }
        }
        try append(count: chunk.frameCount - first, at: time + Double(first) * nanosecondsPerFrame, output) {
            copy(chunk, from: first)
        }
    }

    /// Counts a chunk that came too late to be added.
    func leaveOut(_ chunk: AudioChunk) { statistics.framesLeftOut += Int64(chunk.frameCount) }

    /// Gives silence up to a time, where no sound has come.
    func fill(until time: MediaTime, to output: (AudioChunk) throws -> Void) throws {
        if inputRate == 0 { try adopt(rate: AudioSynchronizer.sampleRate, output) }
        let end = Double(time.nanoseconds(since: start))
        if end - inputEnd > AudioSynchronizer.tolerance { try bridge(until: end, output) }
    }

    /// Gives everything up to a time: silence where sound is missing, and nothing later.
    ///
    /// - Parameter time: nil for the end of the sound.
    func finish(at time: MediaTime?, to output: (AudioChunk) throws -> Void) throws {
        guard inputRate > 0 || time != nil else { return }
        if inputRate == 0 { try adopt(rate: AudioSynchronizer.sampleRate, output) }
        let end = max(0, time.map { Double($0.nanoseconds(since: start)) } ?? inputEnd)
        limit(to: end)
        if end - inputEnd > AudioSynchronizer.tolerance { try addSilence(until: end, output) }
        // Enough for the filter to reach past the end.
        let rest = Double(2 * (resampler?.reach ?? 0) + 2) * nanosecondsPerFrame
        try addSilence(until: max(end, inputEnd) + rest, isCounted: false, output)
        try giveMade(output)
    }

    /// Gives nothing from a time on.
    func setEnd(_ end: MediaTime) { limit(to: max(0, Double(end.nanoseconds(since: start)))) }

    /// Whether everything up to the end has been given.
    var hasReachedEnd: Bool { nextFrame >= endFrame }

    private func limit(to end: Double) {
        endFrame = min(endFrame, Int64((end * Double(AudioSynchronizer.sampleRate) / 1e9).rounded()))
    }

    /// Gives silence up to a time, or nothing where the hole is long and may be jumped over.
    private func bridge(until end: Double, _ output: (AudioChunk) throws -> Void) throws {
        guard mayJump, end - inputEnd > Double(AudioSynchronizer.longestSilence.nanoseconds) else {
            return try addSilence(until: end, output)
        }
        try drain(output)
        try giveMade(output)
        let first = Int64((end * Double(AudioSynchronizer.sampleRate) / 1e9).rounded(.up))
        if first > nextFrame {
            jumped += first - nextFrame
            statistics.framesOfSilence += first - nextFrame
            nextFrame = first
        }
        begin(at: end)
    }

    private func addSilence(
        until end: Double, isCounted: Bool = true, _ output: (AudioChunk) throws -> Void
    ) throws {
        while end - inputEnd >= nanosecondsPerFrame {
            // In stretches, so that an hour of it takes no memory.
            let count = Int(min((end - inputEnd) / nanosecondsPerFrame, 4800))
            try append(count: count, at: inputEnd, isSilence: true, output) { zero(count) }
            if isCounted {
                statistics.framesOfSilence += Int64(count * AudioSynchronizer.sampleRate / max(1, inputRate))
            }
        }
    }

    /// Adds frames whose first belongs to a time, near the end of those before.
    private func append(
        count: Int, at time: Double, isSilence: Bool = false, _ output: (AudioChunk) throws -> Void, write: () -> Void
    ) throws {
        reserve(count)
        write()
        let before = open
        open = Segment(frame: filled, time: time, stated: time, count: count, isSilence: isSilence)
        filled += count
        if before.count > 0 {
            if !isSilence, !before.isSilence {
                period = stretched((time - before.stated) / Double(before.count), from: nanosecondsPerFrame)
            }
            // What is left of the stretch before ends where this one begins.
            let rest = Double(open.frame) - origin.frame
            let nominal = rest * nanosecondsPerFrame
            let length =
                before.isSilence
                ? min(max(time - origin.time, 0.1 * nominal), 1.9 * nominal + nanosecondsPerFrame)
                : stretched(time - origin.time, from: nominal)
            open.time = origin.time + length
            slope = rest / length
            try give(until: open.time, output)
        }
        origin = (Double(open.frame), open.time)
        slope = 1 / nanosecondsPerFrame
        guard !isSilence, let period else { return }
        slope =
            Double(count)
            / stretched(time + Double(count) * period - open.time, from: Double(count) * nanosecondsPerFrame)
        try give(until: .infinity, output)
        let reached = self.time(of: nextFrame)
        if reached > origin.time { origin = (origin.frame + (reached - origin.time) * slope, reached) }
    }

    /// A length in time, as far as sound may be played faster or slower for it: the clock may be off by much less, and a
    /// larger step is followed slowly, since it would be heard.
    private func stretched(_ length: Double, from nominal: Double) -> Double {
        let limit = nominal * AudioSynchronizer.maximumStretch
        return min(max(length, nominal - limit), nominal + limit)
    }

    /// Another rate begins where the sound before ends.
    private func adopt(rate: Int, _ output: (AudioChunk) throws -> Void) throws {
        guard rate != inputRate, rate > 0 else { return }
        let end = inputEnd
        try drain(output)
        inputRate = rate
        period = nil
        resampler = FractionalResampler(ratio: Double(AudioSynchronizer.sampleRate) / Double(rate))
        begin(at: end)
    }

    /// Gives all that was added.
    private func drain(_ output: (AudioChunk) throws -> Void) throws {
        guard let resampler, open.count > 0 else { return }
        let (end, kept) = (inputEnd, endFrame)
        limit(to: end)
        try addSilence(until: end + Double(2 * resampler.reach + 2) * nanosecondsPerFrame, isCounted: false, output)
        endFrame = kept
    }

    /// Begins at a time, with nothing of what was before.
    private func begin(at time: Double) {
        guard let resampler else { return }
        // Silence precedes the first frame, for the filter to reach into.
        filled = 0
        open = Segment()
        reserve(2 * resampler.reach)
        filled = 2 * resampler.reach
        for channel in 0..<channels { FractionalResampler.silence(samples + channel * capacity, filled) }
        quiet = 0
        open = Segment(frame: filled, time: time, stated: time, count: 0)
        origin = (Double(filled), time)
        slope = 1 / nanosecondsPerFrame
    }

    /// Makes room, and gives up what output no longer needs.
    private func reserve(_ count: Int) {
        guard filled + count > capacity else { return }
        let position = Int(origin.frame + (time(of: nextFrame) - origin.time) * slope)
        let spare = max(0, min(position - (resampler?.reach ?? 0) - 1, Int(origin.frame)))
        let kept = filled - spare
        if kept + count > capacity {
            let newCapacity = 2 * (kept + count)
            let memory = UnsafeMutablePointer<Float>.allocate(capacity: newCapacity * channels)
            for channel in 0..<channels {
                (memory + channel * newCapacity).update(from: samples + channel * capacity + spare, count: kept)
            }
            samples.deallocate()
            samples = memory
            capacity = newCapacity
        } else {
            for channel in 0..<channels {
                (samples + channel * capacity).update(from: samples + channel * capacity + spare, count: kept)
            }
        }
        filled = kept
        quiet = max(0, quiet - spare)
        origin.frame -= Double(spare)
        open.frame -= spare
    }

    /// Stores the samples of a chunk.
    private func copy(_ chunk: AudioChunk, from first: Int) {
        let count = chunk.frameCount - first
        let given = chunk.format.channels.count
        guard !chunk.buffer.withUnsafeBytes({ FractionalResampler.isSilence($0) }) else { return zero(count) }
        quiet = filled + count
        func store(_ value: (Int) -> Float) {
            for channel in 0..<channels {
                let target = samples + channel * capacity + filled
                // Mono is heard on both sides.
                let source = min(channel, given - 1)
                for frame in 0..<count { target[frame] = value((first + frame) * given + source) }
            }
        }
        switch chunk.format.sampleType {
        case .float32: chunk.buffer.withSamples(as: Float.self) { span in store { span[$0] } }
        case .int16: chunk.buffer.withSamples(as: Int16.self) { span in store { Float(span[$0]) * (1 / 32_768) } }
        }
    }

    private func zero(_ count: Int) {
        for channel in 0..<channels { FractionalResampler.silence(samples + channel * capacity + filled, count) }
    }

    // MARK: Output

    private static let framesPerNanosecond = Double(AudioSynchronizer.sampleRate) / 1e9

    private func time(of frame: Int64) -> Double { Double(frame) * (1e9 / Double(AudioSynchronizer.sampleRate)) }

    /// Gives the frames before a time, as far as the filter has what it reaches for.
    private func give(until end: Double, _ output: (AudioChunk) throws -> Void) throws {
        guard let resampler else { return }
        while nextFrame < endFrame {
            let due = time(of: nextFrame)
            guard due < end else { return }
            let position = origin.frame + (due - origin.time) * slope
            var frame = Int(position)
            var fraction = position - Double(frame)
            // A sample that is due exactly is passed on as it is, whatever the rounding.
            if fraction < 1e-6 { fraction = 0 }
            if fraction > 1 - 1e-6 { (frame, fraction) = (frame + 1, 0) }
            guard frame + resampler.reach < filled else { return }
            precondition(frame - resampler.reach + 1 >= 0, "the filter reaches before its input")
            let target = made + madeCount * channels
            var count = 1
            if frame - resampler.reach + 1 >= quiet {
                // All up to the last one that the filter can make is silence.
                let last = min(end, origin.time + (Double(filled - resampler.reach - 1) - origin.frame) / slope)
                count = max(
                    1, min(framesPerChunk - madeCount, Int((last - due) * AudioSynchronizer.framesPerNanosecond)))
                count = Int(min(Int64(count), endFrame - nextFrame))
                FractionalResampler.silence(target, count * channels)
            } else {
                resampler.interpolate(
                    at: frame, fraction, channels: samples, stride: capacity, count: channels, into: target)
            }
            madeCount += count
            nextFrame += Int64(count)
            if madeCount == framesPerChunk { try giveMade(output) }
        }
    }

    private func giveMade(_ output: (AudioChunk) throws -> Void) throws {
        guard madeCount > 0 else { return }
        let count = madeCount
        madeCount = 0
        let buffer = try pool.makeBuffer(format, frameCapacity: framesPerChunk) { writer in
            writer.withUnsafeBytes {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: made, count: count * channels * 4))
            }
            return count
        }
        let first = nextFrame - Int64(count)
        let discontinuity: AudioChunk.Discontinuity? = first == 0 ? .start : jumped > 0 ? .lost(frames: jumped) : nil
        jumped = 0
        try output(
            AudioChunk(
                buffer: buffer, timestamp: start.advanced(by: format.duration(ofFrames: first)), firstFrame: first,
                discontinuity: discontinuity))
    }
}
