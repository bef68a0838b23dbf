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
/// One chunk is held back, since its length in time is known once the next one begins. Not thread-safe; no allocation per
/// chunk in steady state.
struct AudioTimeline {
    /// The rate of the time line.
    static let sampleRate: Int64 = 48_000
    /// A chunk that begins this much later than the one before has ended follows a gap; one this much earlier overlaps.
    static let tolerance: Int64 = 20_000_000
    /// How much faster or slower sound may be played to follow the times, in parts of one: more than any clock is off.
    private static let maximumStretch = 0.0025

    /// What it has done.
    struct Statistics: Sendable, Hashable {
        /// Silence in place of sound that is missing, in frames of the time line.
        var framesOfSilence: Int64 = 0
        /// Frames of the capture that came too late, or twice.
        var framesLeftOut: Int64 = 0
    }

    /// What it gives: `float32`, mono or stereo.
    let format: AudioFormat
    private(set) var statistics = Statistics()

    private let channels: Int
    private let pool = AudioBufferPool()
    private let framesPerChunk: Int
    /// The time of the first frame; frames are counted from it.
    private let start: MediaTime
    private var nextFrame: Int64 = 0

    // The input: each channel in a stretch of memory of its own, of which the first `filled` frames are samples.
    private var samples: [Float]
    private var capacity: Int
    private var filled = 0
    private var inputRate = 0
    private var resampler: FractionalResampler?

    /// A stretch of input whose first frame belongs to a time: the one whose end is not known yet.
    private struct Segment {
        /// The index of its first frame in `samples`.
        var frame: Int
        /// The time of it, in nanoseconds from `start`.
        var time: Double
        var count: Int
    }

    /// The newest chunk.
    private var open: Segment?

    /// - Parameters:
    ///   - start: the time of the first frame.
    ///   - channels: 1 or 2.
    ///   - framesPerChunk: how much it gives at a time.
    init(from start: MediaTime, channels: ChannelLayout, framesPerChunk: Int = 960) {
        self.start = start
        self.channels = min(2, channels.count)
        format = AudioFormat(
            .float32, ChannelLayout(count: self.channels), sampleRate: Int(AudioTimeline.sampleRate))
        self.framesPerChunk = framesPerChunk
        capacity = 32_768
        samples = [Float](repeating: 0, count: capacity * self.channels)
    }

    /// The end of what was given.
    var end: MediaTime { start.advanced(by: format.duration(ofFrames: nextFrame)) }

    /// The end of the sound that was added.
    private var inputEnd: Double {
        guard let open else { return 0 }
        return open.time + Double(open.count) * nanosecondsPerFrame
    }

    private var nanosecondsPerFrame: Double { 1e9 / Double(max(1, inputRate)) }

    // MARK: Input

    /// Adds a chunk, and gives what can be given up to the beginning of it.
    mutating func add(_ chunk: AudioChunk, to output: (AudioChunk) throws -> Void) throws {
        try adopt(rate: chunk.format.sampleRate, output)
        let time = Double(chunk.timestamp.nanoseconds(since: start))
        let expected = inputEnd
        var first = 0
        if time - expected > Double(AudioTimeline.tolerance) {
            try addSilence(until: time, output)
        } else if expected - time > Double(AudioTimeline.tolerance) {
            first = min(chunk.frameCount, Int((expected - time) / nanosecondsPerFrame))
            statistics.framesLeftOut += Int64(first)
            guard first < chunk.frameCount else { return }
        }
        try append(count: chunk.frameCount - first, at: time + Double(first) * nanosecondsPerFrame, output) {
            (samples, capacity, filled, channels) in
            AudioTimeline.copy(chunk, from: first, into: samples, stride: capacity, at: filled, channels: channels)
        }
    }

    /// Gives silence up to a time, where no sound has come.
    mutating func fill(until time: MediaTime, to output: (AudioChunk) throws -> Void) throws {
        try adopt(rate: inputRate == 0 ? Int(AudioTimeline.sampleRate) : inputRate, output)
        let end = Double(time.nanoseconds(since: start))
        if end - inputEnd > Double(AudioTimeline.tolerance) { try addSilence(until: end, output) }
    }

    /// Gives everything up to a time: silence where sound is missing, and nothing later.
    mutating func finish(at time: MediaTime?, to output: (AudioChunk) throws -> Void) throws {
        guard inputRate > 0 || time != nil else { return }
        try adopt(rate: inputRate == 0 ? Int(AudioTimeline.sampleRate) : inputRate, output)
        let end = time.map { Double($0.nanoseconds(since: start)) } ?? inputEnd
        let last = Int64((end * Double(AudioTimeline.sampleRate) / 1e9).rounded())
        // Enough for the filter to reach past the end.
        let rest = Double(2 * (resampler?.reach ?? 0) + 2) * nanosecondsPerFrame
        try addSilence(until: max(end, inputEnd) + rest, isCounted: false, output)
        try give(until: end + 1e9, limit: last, output)
        try giveRest(output)
    }

    private mutating func addSilence(
        until end: Double, isCounted: Bool = true, _ output: (AudioChunk) throws -> Void
    ) throws {
        while end - inputEnd >= nanosecondsPerFrame {
            let count = min(Int((end - inputEnd) / nanosecondsPerFrame), 4800)
            try append(count: count, at: inputEnd, output) { samples, capacity, filled, channels in
                for channel in 0..<channels {
                    (samples + channel * capacity + filled).update(repeating: 0, count: count)
                }
            }
            if isCounted {
                statistics.framesOfSilence += Int64(Double(count) * nanosecondsPerFrame * 48_000 / 1e9)
            }
        }
    }

    /// Adds frames whose first belongs to a time, near the end of those before.
    private mutating func append(
        count: Int, at time: Double, _ output: (AudioChunk) throws -> Void,
        write: (UnsafeMutablePointer<Float>, Int, Int, Int) -> Void
    ) throws {
        reserve(count)
        samples.withUnsafeMutableBufferPointer { write($0.baseAddress!, capacity, filled, channels) }
        let begin = filled
        filled += count
        guard let before = open else {
            open = Segment(frame: begin, time: time, count: count)
            return
        }
        // The clock may be off by much less; a larger step is followed slowly, since it would be heard.
        let nominal = Double(before.count) * nanosecondsPerFrame
        let limit = nominal * AudioTimeline.maximumStretch
        let length = min(max(time - before.time, nominal - limit), nominal + limit)
        let next = Segment(frame: begin, time: before.time + length, count: count)
        slope = Double(before.count) / length
        open = next
        origin = before
        try give(until: next.time, limit: .max, output)
    }

    /// The segment that output is taken from, and its frames per nanosecond.
    private var origin = Segment(frame: 0, time: 0, count: 0)
    private var slope = 0.0

    /// Another rate begins where the sound before ends.
    private mutating func adopt(rate: Int, _ output: (AudioChunk) throws -> Void) throws {
        guard rate != inputRate else { return }
        let end = inputEnd
        if let resampler, inputRate > 0 {
            try addSilence(until: end + Double(2 * resampler.reach) * nanosecondsPerFrame, isCounted: false, output)
            try give(until: end, limit: .max, output)
        }
        inputRate = rate
        let made = FractionalResampler(ratio: Double(AudioTimeline.sampleRate) / Double(rate))
        resampler = made
        // Silence precedes the first frame, for the filter to reach into.
        filled = 0
        open = nil
        let lead = 2 * made.reach
        reserve(lead)
        samples.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
        filled = lead
        open = Segment(frame: lead, time: end, count: 0)
        origin = open!
        slope = 1 / nanosecondsPerFrame
    }

    /// Makes room, and gives up what output no longer needs.
    private mutating func reserve(_ count: Int) {
        guard filled + count > capacity, let resampler else { return }
        let position = origin.frame + Int((time(of: nextFrame) - origin.time) * slope)
        let spare = max(0, min(position - resampler.reach - 1, origin.frame))
        let kept = filled - spare
        let newCapacity = max(capacity, kept + count)
        var moved = newCapacity == capacity ? samples : [Float](repeating: 0, count: newCapacity * channels)
        for channel in 0..<channels {
            for frame in 0..<kept {
                moved[channel * newCapacity + frame] = samples[channel * capacity + spare + frame]
            }
        }
        samples = moved
        capacity = newCapacity
        filled = kept
        origin.frame -= spare
        open?.frame -= spare
    }

    /// The samples as they are stored, of the first channels.
    private static func copy(
        _ chunk: AudioChunk, from first: Int, into samples: UnsafeMutablePointer<Float>, stride: Int, at filled: Int,
        channels: Int
    ) {
        let count = chunk.frameCount - first
        let given = chunk.format.channels.count
        func store(_ value: (Int) -> Float) {
            for channel in 0..<channels {
                let target = samples + channel * stride + filled
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

    // MARK: Output

    private func time(of frame: Int64) -> Double { Double(frame) * (1e9 / Double(AudioTimeline.sampleRate)) }

    // The chunk that is being filled.
    private var made: [Float] = []
    private var madeCount = 0

    /// Gives the frames before a time, and before a frame.
    private mutating func give(until time: Double, limit: Int64, _ output: (AudioChunk) throws -> Void) throws {
        guard let resampler else { return }
        if made.isEmpty { made = [Float](repeating: 0, count: framesPerChunk * channels) }
        while nextFrame < limit {
            let due = self.time(of: nextFrame)
            guard due < time else { return }
            let position = (due - origin.time) * slope
            let whole = position.rounded(.down)
            let frame = origin.frame + Int(whole)
            guard frame - resampler.reach + 1 >= 0 else { preconditionFailure("the filter reaches before its input") }
            guard frame + resampler.reach < filled else { return }
            samples.withUnsafeBufferPointer { samples in
                made.withUnsafeMutableBufferPointer { made in
                    resampler.interpolate(
                        at: frame, position - whole, channels: samples.baseAddress!, stride: capacity,
                        count: channels, into: made.baseAddress! + madeCount * channels)
                }
            }
            madeCount += 1
            nextFrame += 1
            if madeCount == framesPerChunk { try giveRest(output) }
        }
    }

    /// Gives what the last chunk holds so far.
    private mutating func giveRest(_ output: (AudioChunk) throws -> Void) throws {
        guard madeCount > 0 else { return }
        let count = madeCount
        madeCount = 0
        let buffer = try pool.makeBuffer(format, frameCapacity: framesPerChunk) { writer in
            writer.withSamples(as: Float.self) { target in
                for index in 0..<count * channels { target[index] = made[index] }
            }
            return count
        }
        let first = nextFrame - Int64(count)
        try output(
            AudioChunk(
                buffer: buffer, timestamp: start.advanced(by: format.duration(ofFrames: first)), firstFrame: first,
                discontinuity: first == 0 ? .start : nil))
    }
}
