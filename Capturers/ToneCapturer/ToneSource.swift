import AudioCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes the samples of a ``ToneCapturer``.
struct ToneSource: AudioSource {
    let settings: AudioSettings
    let pacing: AudioPacing
    let sound: ToneCapturer.Sound
    let amplitude: Double
    /// How many frames there are from a start on.
    let limit: Int64?
    private var made: Int64 = 0

    init(
        settings: AudioSettings, pacing: AudioPacing, sound: ToneCapturer.Sound, amplitude: Double, limit: Int64?
    ) {
        self.settings = settings
        self.pacing = pacing
        self.sound = sound
        self.amplitude = amplitude
        self.limit = limit
    }

    func open(_ context: AudioContext) throws {
        try settings.format.validate()
        guard (0...1).contains(amplitude) else {
            throw invalid("The amplitude is \(amplitude); use 0 to 1 of full scale.")
        }
        guard settings.chunkDuration > .zero, settings.chunkDuration <= .seconds(10) else {
            throw invalid("A chunk of \(settings.chunkDuration) cannot be made; use up to 10 seconds.")
        }
        if case .sine(let frequency) = sound {
            let limit = Double(settings.format.sampleRate) / 2
            guard frequency > 0, frequency < limit else {
                throw invalid("A sine of \(frequency) Hz cannot be sampled; use one above 0 and below \(limit) Hz.")
            }
        }
    }

    private func invalid(_ message: String) -> CaptureError {
        CaptureError(.invalidConfiguration, operation: "open", subject: settings.sourceName, message: message)
    }

    mutating func start(_ context: AudioContext) { made = 0 }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        let rest = limit.map { $0 - made } ?? .max
        guard rest > 0 else { return nil }
        let frames = Int(min(Int64(settings.framesPerChunk), rest))
        made += Int64(frames)
        let (first, time) = (context.nextFrame, context.nextTimestamp)
        return try context.makeAudio(settings.format, frameCapacity: frames) { writer in
            switch settings.format.sampleType {
            case .float32:
                writer.withSamples(as: Float.self) { fill($0, frames, first: first, time: time) { Float($0) } }
            case .int16:
                writer.withSamples(as: Int16.self) {
                    fill($0, frames, first: first, time: time) { Int16(($0 * 32_767).rounded()) }
                }
            }
            return frames
        }
    }

    private func fill<Sample>(
        _ samples: UnsafeMutableBufferPointer<Sample>, _ frames: Int, first: Int64, time: MediaTime,
        convert: (Double) -> Sample
    ) {
        let channels = settings.format.channels.count
        let rate = Double(settings.format.sampleRate)
        if case .whiteNoise(let seed) = sound {
            for index in 0..<(frames * channels) {
                let number = UInt64(bitPattern: first) &* UInt64(channels) &+ UInt64(index)
                samples[index] = convert(amplitude * uniform(number, seed: seed))
            }
            return
        }
        for frame in 0..<frames {
            let value: Double
            if case .sine(let frequency) = sound {
                // The whole turns are left out first, so that the sine is as pure after a year.
                let turns = Double(first &+ Int64(frame)) * (frequency / rate)
                value = amplitude * sin(2 * .pi * (turns - turns.rounded(.down)))
            } else {
                value = amplitude * beep(at: time.nanoseconds &+ Int64(Double(frame) * 1e9 / rate))
            }
            for channel in 0..<channels { samples[frame * channels + channel] = convert(value) }
        }
    }

    /// The beep of the second that a time lies in, −1 to 1.
    private func beep(at nanoseconds: Int64) -> Double {
        let second = nanoseconds.quotientFloored(by: 1_000_000_000)
        let inside = nanoseconds - second * 1_000_000_000
        guard inside < 30_000_000 else { return 0 }
        return sin(2 * .pi * (second.isMultiple(of: 2) ? 1000 : 2000) * Double(inside) / 1e9)
    }

    /// −1 to 1 of a number: SplitMix64 (G. Steele, D. Lea, C. Flood, 2014), which computes any output without those before it.
    private func uniform(_ number: UInt64, seed: UInt64) -> Double {
        var bits = (number &+ 1) &* 0x9E37_79B9_7F4A_7C15 &+ seed &* 0xD1B5_4A32_D192_ED03
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return Double(Int64(bitPattern: bits) >> 11) / 0x1p52
    }
}

extension Int64 {
    fileprivate func quotientFloored(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
