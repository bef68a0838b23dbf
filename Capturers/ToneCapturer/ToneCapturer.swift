import AudioCapturing

/// A capture of made sound: a sine, white noise, or the beeps of a test of synchronism. Needs no device.
///
/// ```swift
/// let capture = ToneCapturer(.sine(frequency: 440))
/// ```
///
/// Each sample depends on its number (for the beeps: on its time) alone, so that the same capture gives the same sound,
/// and sound that is left out when the machine is too slow shifts nothing.
public final class ToneCapturer: ForwardingAudioCapture {
    /// The kind of sound.
    public enum Sound: Sendable, Hashable {
        /// A sine of a frequency in Hz, above 0 and below half of the sample rate.
        case sine(frequency: Double)
        /// Uniform, independent samples in every channel; the same seed gives the same noise.
        case whiteNoise(seed: UInt64)
        /// The sound of the flash-and-beep test: from each whole second of the monotonic clock on 30 ms of a sine that
        /// begins at zero, 1 kHz in even seconds and 2 kHz in odd ones, so that a slip of a whole second shows too.
        case beep
    }

    public let forwardedCapture: AudioSourceCapturer

    /// A capture of made sound.
    ///
    /// - Parameters:
    ///   - sound: the kind of sound.
    ///   - format: sample type, channels and rate. Values out of range make `initCapture` throw `invalidConfiguration`.
    ///   - amplitude: the peak, 0 to 1 of full scale; the default is −20 dB.
    ///   - chunkDuration: how long a chunk is.
    ///   - duration: how much sound there is, from each start on; nil for without end.
    ///   - isPaced: whether it comes in real time; false for as fast as consumers take it.
    ///   - clock: where timestamps and pacing come from.
    public init(
        _ sound: Sound = .sine(frequency: 1000), format: AudioFormat = .float48kStereo, amplitude: Double = 0.1,
        chunkDuration: Duration = .milliseconds(20), duration: Duration? = nil, isPaced: Bool = true,
        clock: any CaptureClock = MonotonicClock()
    ) {
        let settings = AudioSettings(format: format, chunkDuration: chunkDuration, sourceName: "\(sound)")
        forwardedCapture = AudioSourceCapturer(
            ToneSource(
                settings: settings, pacing: isPaced ? .clock : .unpaced, sound: sound, amplitude: amplitude,
                limit: duration.map { format.frames(in: $0) }),
            name: "tone", clock: clock)
    }
}

extension ToneCapturer.Sound: CustomStringConvertible {
    /// `sine of 1000.0 Hz`, `white noise`, `beeps`.
    public var description: String {
        switch self {
        case .sine(let frequency): "sine of \(frequency) Hz"
        case .whiteNoise: "white noise"
        case .beep: "beeps"
        }
    }
}
