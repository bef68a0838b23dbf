#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Measures how loud the sound is that it is given: peak, RMS and loudness, for a display.
///
/// ```swift
/// let meter = LevelMeter()
/// try publisher.add(meter, name: "meter")
/// …
/// print(meter.levels.channels.map(\.peakDecibels))
/// ```
/// Levels are those since the last reading, so that no peak is missed however seldom a display asks. Safe to use from any
/// thread.
public final class LevelMeter: AudioCaptureConsumer {
    fileprivate struct Contents {
        var format: AudioFormat?
        var channels: [Channel] = []
        var loudness: LoudnessMeter?
    }

    fileprivate struct Channel {
        var peak: Float = 0
        var squares = 0.0
        var samples = 0
        /// Samples at full scale or beyond, since the meter was made.
        var clipped: UInt64 = 0
    }

    private let contents = Locked(Contents())

    /// A meter that has heard nothing.
    public init() {}

    public func consumeAudio(_ chunk: AudioChunk) {
        contents.withLock { contents in
            if contents.format != chunk.format {
                contents.format = chunk.format
                contents.channels = Array(repeating: Channel(), count: chunk.format.channels.count)
                contents.loudness = LoudnessMeter(chunk.format)
            }
            switch chunk.format.sampleType {
            case .int16: chunk.buffer.withSamples(as: Int16.self) { contents.measure($0) { Float($0) / 32_768 } }
            case .float32:
                chunk.buffer.withSamples(as: Float.self) { contents.measure($0) { $0.isFinite ? $0 : 0 } }
            }
        }
    }

    /// The levels since the last reading; of silence where nothing has come since.
    public var levels: Levels {
        contents.withLock { contents in
            let channels = contents.channels.map { channel in
                Levels.Channel(
                    peak: channel.peak,
                    rms: channel.samples > 0 ? Float((channel.squares / Double(channel.samples)).squareRoot()) : 0,
                    clippedSamples: channel.clipped)
            }
            for index in contents.channels.indices {
                contents.channels[index].peak = 0
                contents.channels[index].squares = 0
                contents.channels[index].samples = 0
            }
            return Levels(
                channels: channels, momentaryLoudness: contents.loudness?.momentary,
                integratedLoudness: contents.loudness?.integrated)
        }
    }

    /// The measured values.
    public struct Levels: Sendable, Hashable {
        /// Of each channel; none before the first chunk.
        public var channels: [Channel]
        /// The loudness of the last 400 ms by ITU-R BS.1770, in LUFS; nil for silence and before that.
        public var momentaryLoudness: Double?
        /// The loudness since the meter was made or the format changed, gated, in LUFS; nil while nothing was loud enough.
        public var integratedLoudness: Double?

        /// The level of one channel, of full scale.
        public struct Channel: Sendable, Hashable {
            /// The largest sample.
            public var peak: Float
            /// The square root of the mean square.
            public var rms: Float
            /// How many samples were at full scale or beyond, since the meter was made or the format changed.
            public var clippedSamples: UInt64

            /// The peak in dB of full scale; minus infinity for silence.
            public var peakDecibels: Float { 20 * log10(peak) }
            /// The RMS in dB of full scale; minus infinity for silence.
            public var rmsDecibels: Float { 20 * log10(rms) }
        }
    }
}

extension LevelMeter.Contents {
    fileprivate mutating func measure<Sample: AudioSample>(_ samples: Span<Sample>, _ convert: (Sample) -> Float) {
        let count = channels.count
        var index = 0
        while index < samples.count {
            for channel in 0..<count {
                let sample = convert(samples[index + channel])
                let magnitude = abs(sample)
                channels[channel].peak = max(channels[channel].peak, magnitude)
                channels[channel].squares += Double(sample) * Double(sample)
                channels[channel].samples += 1
                // The largest positive number of 16 bits is a step below full scale.
                if magnitude >= 32_767.0 / 32_768 { channels[channel].clipped += 1 }
                loudness?.add(Double(sample), channel: channel)
            }
            loudness?.endFrame()
            index += count
        }
    }
}
