import AudioCapturing
import CapturerTestKit
import VideoCapturing

/// A video capture in the shape of a sound capture, so that what is broken in one can be shown to the suite of the other:
/// each frame is a chunk of 5 ms with its time and its number.
final class FramesAsSound: AudioCapture {
    private static let framesPerChunk = 240

    /// Takes frames for a consumer of chunks.
    private final class Inlet: VideoCaptureConsumer {
        private struct Contents {
            weak var outer: (any AudioCaptureConsumer)?
        }

        private let contents: Locked<Contents>
        private let line: Locked<Line>
        private let silence: AudioBuffer

        init(_ outer: any AudioCaptureConsumer, _ line: Locked<Line>, _ silence: AudioBuffer) {
            contents = Locked(Contents(outer: outer))
            self.line = line
            self.silence = silence
        }

        var outer: (any AudioCaptureConsumer)? { contents.withLock { $0.outer } }

        func consumeFrame(_ frame: VideoFrame) {
            let first = Int64(frame.sequenceNumber) * Int64(FramesAsSound.framesPerChunk)
            let discontinuity = line.withLock { line -> AudioChunk.Discontinuity? in
                defer { line = Line(isStart: false, next: first + Int64(FramesAsSound.framesPerChunk)) }
                if line.isStart { return .start }
                return first > line.next ? .lost(frames: first - line.next) : nil
            }
            outer?.consumeAudio(
                AudioChunk(
                    buffer: silence, timestamp: frame.timestamp, firstFrame: first, discontinuity: discontinuity))
        }
    }

    struct Line {
        var isStart = true
        var next: Int64 = 0
    }

    private let inner: any VideoCapture
    private let line = Locked(Line())
    private let inlet = Locked<Inlet?>(nil)
    private let silence: AudioBuffer

    init(_ inner: any VideoCapture) throws {
        self.inner = inner
        silence = try AudioBuffer(
            copying: [Int16](repeating: 0, count: FramesAsSound.framesPerChunk), channels: .mono, sampleRate: 48_000)
    }

    var audioCaptureConsumer: (any AudioCaptureConsumer)? {
        get { (inner.videoCaptureConsumer as? Inlet)?.outer }
        set {
            let new = newValue.map { Inlet($0, line, silence) }
            // In one step: of two threads the last one's inlet must be both set and held.
            _ = inlet.withLock { inlet in
                let old = inlet
                inlet = new
                inner.videoCaptureConsumer = new
                return old
            }
        }
    }

    func initCapture() throws(CaptureError) { try inner.initCapture() }

    func startCapture() throws(CaptureError) {
        if !inner.isCaptureStarted { line.withLock { $0.isStart = true } }
        try inner.startCapture()
    }

    func stopCapture() throws(CaptureError) { try inner.stopCapture() }
    func releaseCapture() { inner.releaseCapture() }
    var isCaptureStarted: Bool { inner.isCaptureStarted }

    func captureSettings() -> AudioSettings {
        AudioSettings(
            format: silence.format, chunkDuration: .milliseconds(5), sourceName: inner.captureSettings().sourceName)
    }

    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }

    var statistics: AudioStatistics {
        let frames = inner.statistics
        let length = UInt64(FramesAsSound.framesPerChunk)
        var result = AudioStatistics()
        result.chunksDelivered = frames.framesDelivered
        result.framesDelivered = frames.framesDelivered * length
        result.framesLost.noConsumer = frames.framesDropped.noConsumer * length
        result.framesLost.source = (frames.framesDropped.total - frames.framesDropped.noConsumer) * length
        result.starts = frames.starts
        result.interruptions = frames.interruptions
        return result
    }
}
