public import AudioCapturing
import VideoCapturing

/// Records while the sound is louder than the noise around it.
///
/// ```swift
/// try publisher.audio?.add(SoundTrigger(publisher.recording), name: "sound trigger")
/// ```
/// The noise is measured all the time: the floor falls with it at once and rises slowly, so that sound that goes on for long, as of
/// a fan, becomes a part of it. Safe to use from any thread.
public final class SoundTrigger: AudioCaptureConsumer {
    /// When sound counts.
    public struct Configuration: Sendable, Hashable {
        /// How far above the noise, in dB.
        public var threshold: Double
        /// The lowest level that counts, in dB of full scale, however quiet the noise is.
        public var minimumLevel: Double
        /// How long it has to be quiet before the sound has ended.
        public var holdTime: Duration

        /// A configuration; see the properties.
        public init(threshold: Double = 12, minimumLevel: Double = -60, holdTime: Duration = .seconds(1)) {
            self.threshold = threshold
            self.minimumLevel = minimumLevel
            self.holdTime = holdTime
        }
    }

    private struct State {
        var detector: SoundDetector
        /// The time of the first chunk that was not measured yet, and how much has come since.
        var start: MediaTime?
        var length = Duration.zero
    }

    private let recording: RecordingTrigger
    private let meter = LevelMeter()
    private let state: Locked<State>

    /// How much sound is measured together.
    private static let blockLength = Duration.milliseconds(50)

    /// A trigger of the sound that it is given.
    ///
    /// - Parameters:
    ///   - recording: fired with the reason `sound`.
    ///   - configuration: when sound counts.
    public init(_ recording: RecordingTrigger, configuration: Configuration = Configuration()) {
        self.recording = recording
        state = Locked(State(detector: SoundDetector(configuration)))
    }

    public func consumeAudio(_ chunk: AudioChunk) {
        meter.consumeAudio(chunk)
        let decision = state.withLock { state -> (SoundDetector.Decision, MediaTime)? in
            let start = state.start ?? chunk.timestamp
            state.start = start
            state.length += chunk.endTimestamp - chunk.timestamp
            guard state.length >= SoundTrigger.blockLength else { return nil }
            let level = meter.levels.channels.map { Double($0.rmsDecibels) }.max() ?? -.infinity
            let decision = state.detector.add(level, for: state.length)
            (state.start, state.length) = (nil, .zero)
            return decision.map { ($0, start) }
        }
        switch decision {
        case (.begin(let level, let floor), let time)?:
            recording.begin(
                .sound, at: time, detail: "\(fixed(level, 0)) dB, \(fixed(level - floor, 0)) dB above the noise")
        case (.end, let time)?: recording.end(.sound, at: time)
        case nil: break
        }
    }
}

/// Decides, by the levels of blocks, when sound begins and ends that is louder than the noise.
struct SoundDetector: Sendable {
    enum Decision: Sendable, Equatable {
        case begin(level: Double, floor: Double)
        case end
    }

    private let configuration: SoundTrigger.Configuration
    /// The noise, in dB of full scale; nil before the first block.
    private(set) var floor: Double?
    private(set) var isActive = false
    /// How much has come since the beginning, at most the time to get to know the noise.
    private var learned = Duration.zero
    /// How long it has been loud, or quiet while it is active.
    private var changed = Duration.zero

    /// Digital silence is no measure of a noise.
    private static let lowestFloor = -90.0
    /// Two seconds of any noise come before the first sound that counts.
    private static let learningTime = Duration.seconds(2)
    /// The floor rises by this many dB per second.
    private static let rise = 1.0
    /// Of the way down the floor goes this part in a second.
    private static let fall = 4.0
    /// A single crack is no sound.
    private static let minimumLength = Duration.milliseconds(100)
    /// The end is so many dB lower than the begin.
    private static let hysteresis = 3.0

    init(_ configuration: SoundTrigger.Configuration) { self.configuration = configuration }

    /// Takes the level of a block.
    ///
    /// - Parameters:
    ///   - level: in dB of full scale, or minus infinity.
    ///   - length: how long the block is.
    /// - Returns: what begins or ends with it; nil for neither.
    mutating func add(_ level: Double, for length: Duration) -> Decision? {
        let level = level.isNaN ? SoundDetector.lowestFloor : max(level, SoundDetector.lowestFloor)
        let seconds = length.seconds
        let floor = self.floor ?? level
        let isLearning = learned < SoundDetector.learningTime
        learned = isLearning ? learned + length : learned
        let difference = level - floor
        self.floor =
            difference < 0
            ? floor + difference * min(1, SoundDetector.fall * seconds)
            : floor + min(difference, SoundDetector.rise * seconds * (isLearning ? 10 : 1))
        guard !isLearning else { return nil }
        let limit = max(floor + configuration.threshold, configuration.minimumLevel)
        let isLoud = level >= (isActive ? limit - SoundDetector.hysteresis : limit)
        changed = isLoud == isActive ? .zero : changed + length
        if !isActive, changed >= SoundDetector.minimumLength {
            (isActive, changed) = (true, .zero)
            return .begin(level: level, floor: floor)
        }
        if isActive, changed >= configuration.holdTime {
            (isActive, changed) = (false, .zero)
            return .end
        }
        return nil
    }
}
