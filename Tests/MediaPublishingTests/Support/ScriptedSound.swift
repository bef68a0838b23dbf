import AudioCapturing
import VideoCapturing

/// Sound that a test hands over, chunk by chunk.
final class ScriptedSound: AudioCapture {
    private struct Values {
        weak var consumer: (any AudioCaptureConsumer)?
        var isStarted = false
    }

    private let values = Locked(Values())
    private let states = CaptureStateMachine()
    let format: AudioFormat
    /// What it delivers at once when it is started.
    private let first: AudioChunk?

    init(_ format: AudioFormat, first: AudioChunk? = nil) {
        self.format = format
        self.first = first
    }

    var audioCaptureConsumer: (any AudioCaptureConsumer)? {
        get { values.withLock { $0.consumer } }
        set { values.withLock { $0.consumer = newValue } }
    }
    func initCapture() { states.transition(to: .initialized, reason: .requested) }
    func startCapture() {
        values.withLock { $0.isStarted = true }
        states.transition(to: .running, reason: .source)
        if let first { deliver(first) }
    }
    func stopCapture() {
        values.withLock { $0.isStarted = false }
        states.transition(to: .stopped(.user), reason: .requested)
    }
    func releaseCapture() { states.transition(to: .idle, reason: .requested) }
    var isCaptureStarted: Bool { values.withLock { $0.isStarted } }
    func captureSettings() -> AudioSettings { AudioSettings(format: format) }
    var state: CaptureState { states.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { states.changes() }
    var statistics: AudioStatistics { AudioStatistics() }

    func deliver(_ chunk: AudioChunk) { audioCaptureConsumer?.consumeAudio(chunk) }
}
