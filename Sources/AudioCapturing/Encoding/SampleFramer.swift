/// Cuts sound into stretches of a fixed length, as encoders of packets take it, and keeps their times.
///
/// Samples are taken to be contiguous, whatever their timestamps say, up to a gap of ``maximumContinuousGap``: silence replaces
/// the missing samples. After a longer gap the encoder begins again, and times jump.
///
/// No allocation per chunk. Used by one thread at a time.
package final class SampleFramer {
    /// A stretch to encode; its samples are ``SampleFramer/samples``.
    package struct Stretch {
        /// When its first frame was captured.
        package let timestamp: MediaTime
        /// How long it is heard: shorter than the stretch at the end of the sound, where silence fills the rest.
        package let duration: Duration
        /// The number of the stretch, from 0.
        package let number: UInt64
    }

    /// The largest gap in the timestamps that is filled with silence.
    package static let maximumContinuousGap = Duration.seconds(1)
    /// Deviations of a chunk's timestamp up to this are the drift of a clock, not a gap.
    package static let tolerance = Duration.milliseconds(20)

    /// What the stretches are: `float32`, interleaved.
    package let format: AudioFormat
    /// The samples of the stretch that is full, or being filled.
    package private(set) var samples: [Float]

    private let framesPerStretch: Int
    private var pendingFrames = 0
    /// When the first pending frame was captured, and when the one after the last is due.
    private var pendingTime = MediaTime.zero
    private var nextTime: MediaTime?
    private var lastTime: MediaTime?
    private var count: UInt64 = 0

    /// - Parameters:
    ///   - format: of the chunks; their type of samples may be any.
    ///   - framesPerStretch: the length of a stretch.
    package init(_ format: AudioFormat, framesPerStretch: Int) {
        self.format = AudioFormat(.float32, format.channels, sampleRate: format.sampleRate)
        self.framesPerStretch = framesPerStretch
        samples = [Float](repeating: 0, count: framesPerStretch * format.channels.count)
    }

    /// Adds a chunk, and passes each stretch that is full to `encode`.
    ///
    /// - Parameters:
    ///   - chunk: its format must differ from ``format`` in the type of samples only.
    ///   - restart: called before a chunk that follows a long gap; it calls ``finish(lookahead:encode:)``.
    ///   - encode: takes each stretch.
    package func add(
        _ chunk: AudioChunk, restart: () throws -> Void, encode: (Stretch) throws -> Void
    ) throws {
        let skipped = try bridgeGap(before: chunk, restart, encode)
        let frames = chunk.frameCount
        guard frames > skipped else { return }
        let begin = chunk.timestamp.advanced(by: format.duration(ofFrames: Int64(skipped)))
        switch chunk.format.sampleType {
        case .float32:
            try chunk.buffer.withSamples(as: Float.self) { (samples: Span<Float>) throws in
                try append(skipped..<frames, at: begin, encode) { samples[$0] }
            }
        case .int16:
            try chunk.buffer.withSamples(as: Int16.self) { (samples: Span<Int16>) throws in
                try append(skipped..<frames, at: begin, encode) { Float(samples[$0]) * (1 / 32_768) }
            }
        }
        nextTime = chunk.endTimestamp
    }

    /// Passes on the remaining samples, and as much silence as the encoder needs to put them all out. A chunk may follow at any time.
    ///
    /// - Parameters:
    ///   - lookahead: how much later than it went in a decoder gives each frame.
    ///   - encode: takes each stretch.
    /// - Returns: false when there is nothing to end.
    package func finish(lookahead: Int, encode: (Stretch) throws -> Void) rethrows -> Bool {
        guard nextTime != nil else { return false }
        var rest = pendingFrames + lookahead
        while rest > 0 {
            let frames = min(rest, framesPerStretch)
            let channels = format.channels.count
            for index in pendingFrames * channels..<framesPerStretch * channels { samples[index] = 0 }
            try pass(frames: frames, encode)
            rest -= frames
        }
        pendingFrames = 0
        nextTime = nil
        return true
    }

    /// Passes on silence in place of missing samples before a chunk, or begins again.
    ///
    /// - Returns: the number of the chunk's frames whose time was passed on already.
    private func bridgeGap(
        before chunk: AudioChunk, _ restart: () throws -> Void, _ encode: (Stretch) throws -> Void
    ) throws -> Int {
        guard let nextTime else { return 0 }
        let gap = chunk.timestamp - nextTime
        if gap > SampleFramer.maximumContinuousGap {
            try restart()
            return 0
        }
        let frames = Int(format.frames(in: gap))
        if gap > SampleFramer.tolerance {
            try append(0..<frames, at: nextTime, encode) { _ in 0 }
            return 0
        }
        return gap < .zero - SampleFramer.tolerance ? -frames : 0
    }

    /// Adds frames to the pending ones. Inlined, so that there is a loop for each type of sample.
    @inline(__always)
    private func append(
        _ frames: Range<Int>, at begin: MediaTime, _ encode: (Stretch) throws -> Void, sample: (Int) -> Float
    ) throws {
        let channels = format.channels.count
        var next = frames.lowerBound
        while next < frames.upperBound {
            if pendingFrames == 0 {
                let offset = format.duration(ofFrames: Int64(next - frames.lowerBound))
                pendingTime = begin.advanced(by: offset)
            }
            let count = min(frames.upperBound - next, framesPerStretch - pendingFrames)
            let first = pendingFrames * channels
            samples.withUnsafeMutableBufferPointer { samples in
                for index in 0..<count * channels { samples[first + index] = sample(next * channels + index) }
            }
            pendingFrames += count
            next += count
            if pendingFrames == framesPerStretch { try pass(frames: framesPerStretch, encode) }
        }
    }

    /// Passes on the pending frames; the first ones are audible, the rest is padding.
    private func pass(frames: Int, _ encode: (Stretch) throws -> Void) rethrows {
        let timestamp = pendingTime.increasing(after: lastTime)
        pendingFrames = 0
        pendingTime = timestamp.advanced(by: format.duration(ofFrames: Int64(framesPerStretch)))
        lastTime = timestamp
        count += 1
        try encode(
            Stretch(
                timestamp: timestamp, duration: format.duration(ofFrames: Int64(frames)), number: count - 1))
    }
}
