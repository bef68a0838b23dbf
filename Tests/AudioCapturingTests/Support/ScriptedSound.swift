import AudioCapturing

/// A source that does what a list says, chunk by chunk, and then ends.
struct ScriptedSound: AudioSource {
    /// One call of `nextChunk`.
    enum Step {
        /// Frames, at a time of the device, as far as it tells.
        case chunk(frames: Int, at: MediaTime?, lost: Int64 = 0, isAfterGap: Bool = false)
        /// Frames of another format.
        case other(AudioFormat, frames: Int, at: MediaTime?)
        /// The clock goes on before the next step, as where the machine was busy.
        case delay(Duration)
        case interruption(CaptureState.InterruptionReason)
        case failure(CaptureError)
    }

    var settings: AudioSettings
    var pacing: AudioPacing = .device
    var steps: [Step]
    /// Advances the time of a delay.
    var onDelay: (Duration) -> Void = { _ in }
    private var index = 0

    init(_ format: AudioFormat, pacing: AudioPacing = .device, _ steps: [Step]) {
        settings = AudioSettings(format: format, sourceName: "script")
        self.pacing = pacing
        self.steps = steps
    }

    mutating func start(_ context: AudioContext) { index = 0 }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        while index < steps.count {
            defer { index += 1 }
            switch steps[index] {
            case .chunk(let frames, let time, let lost, let isAfterGap):
                var audio = try silence(settings.format, frames, time, context)
                audio.lostBefore = lost
                audio.isAfterGap = isAfterGap
                return audio
            case .other(let format, let frames, let time): return try silence(format, frames, time, context)
            case .delay(let duration): onDelay(duration)
            case .interruption(let reason): context.reportInterruption(reason)
            case .failure(let error): throw error
            }
        }
        return nil
    }

    private func silence(
        _ format: AudioFormat, _ frames: Int, _ time: MediaTime?, _ context: AudioContext
    ) throws -> SourceAudio {
        try context.makeAudio(format, frameCapacity: frames, timestamp: time) { samples in
            samples.fillWithSilence()
            return frames
        }
    }
}

/// Mono at 48 kHz, of which a millisecond has 48 frames.
let mono = AudioFormat(.int16, .mono, sampleRate: 48_000)

/// A time in milliseconds.
func ms(_ milliseconds: Double) -> MediaTime { MediaTime(nanoseconds: Int64((milliseconds * 1e6).rounded())) }

/// Runs a capture until it ends, and returns what it has delivered.
func run(_ capture: some AudioCapture, _ recorder: AudioRecorder = AudioRecorder()) throws -> [AudioChunk] {
    capture.audioCaptureConsumer = recorder
    try capture.initCapture()
    try capture.startCapture()
    recorder.awaitEnd(of: capture)
    return recorder.chunks
}

/// Keeps all chunks.
final class AudioRecorder: AudioCaptureConsumer {
    private let kept = Locked<[AudioChunk]>([])
    private let action: @Sendable (AudioChunk) -> Void

    init(_ action: @escaping @Sendable (AudioChunk) -> Void = { _ in }) { self.action = action }

    var chunks: [AudioChunk] { kept.withLock { $0 } }

    func consumeAudio(_ chunk: AudioChunk) {
        action(chunk)
        kept.withLock { $0.append(chunk) }
        kept.wakeAll()
    }

    func awaitChunks(_ count: Int) -> Bool {
        kept.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0.count >= count ? () : nil } != nil
    }

    /// Blocks until the capture has stopped on its own account.
    func awaitEnd(of capture: some AudioCapture) {
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        while MonotonicClock().now < limit {
            if case .stopped = capture.state { return }
            ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)))
        }
    }
}

/// Counts chunks, and keeps none.
final class RecyclingRecorder: AudioCaptureConsumer {
    private let count = Locked(0)
    private let action: @Sendable (AudioChunk) -> Void

    init(_ action: @escaping @Sendable (AudioChunk) -> Void) { self.action = action }

    func consumeAudio(_ chunk: AudioChunk) {
        action(chunk)
        count.withLock { $0 += 1 }
        count.wakeAll()
    }

    func awaitChunks(_ number: Int) -> Bool {
        count.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 >= number ? () : nil } != nil
    }
}
