import AudioCapturing
import VideoCapturing

/// A sound capture in the shape of a video capture, for the rules that are the same for both: each chunk is a frame with its
/// time and its number, of a picture that means nothing.
final class SoundAsFrames: VideoCapture {
    private let inner: any AudioCapture
    private let contents: Locked<Contents>

    private struct Contents {
        var hint = VideoContentHint.none
        /// Held here, since the capture holds it weakly.
        var inlet: Inlet?
    }

    /// Takes chunks for a consumer of frames.
    private final class Inlet: AudioCaptureConsumer {
        private struct Contents {
            weak var outer: (any VideoCaptureConsumer)?
        }

        private let picture: PixelBuffer?
        private let contents: Locked<Contents>

        init(_ outer: any VideoCaptureConsumer) {
            picture = try? PixelBufferPool(capacity: 1).makeBuffer(.i420, width: 2, height: 2) { pixels in
                for plane in 0..<3 { pixels.fill(plane: plane, with: 128) }
            }
            contents = Locked(Contents(outer: outer))
        }

        var outer: (any VideoCaptureConsumer)? { contents.withLock { $0.outer } }

        func consumeAudio(_ chunk: AudioChunk) {
            guard let outer, let picture else { return }
            outer.consumeFrame(
                VideoFrame(
                    buffer: picture, timestamp: chunk.timestamp, sequenceNumber: UInt64(max(0, chunk.firstFrame))))
        }
    }

    init(_ inner: any AudioCapture) {
        self.inner = inner
        contents = Locked(Contents())
    }

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { (inner.audioCaptureConsumer as? Inlet)?.outer }
        set {
            let inlet = newValue.map { Inlet($0) }
            // In one step: of two threads the last one's inlet must be both set and held. The one before ends after the lock.
            _ = contents.withLock { contents in
                let old = contents.inlet
                contents.inlet = inlet
                inner.audioCaptureConsumer = inlet
                return old
            }
        }
    }

    var videoContentHint: VideoContentHint {
        get { contents.withLock { $0.hint } }
        set { contents.withLock { $0.hint = newValue } }
    }

    func initCapture() throws(CaptureError) { try inner.initCapture() }
    func startCapture() throws(CaptureError) { try inner.startCapture() }
    func stopCapture() throws(CaptureError) { try inner.stopCapture() }
    func releaseCapture() { inner.releaseCapture() }
    var isCaptureStarted: Bool { inner.isCaptureStarted }

    func captureSettings() -> CaptureSettings {
        let settings = inner.captureSettings()
        let rate = FrameRate(interval: settings.chunkDuration)
        return CaptureSettings(
            format: VideoFormat(.i420, width: 2, height: 2, estimatedFramesPerSecond: rate),
            sourceName: settings.sourceName)
    }

    func adapt(to wants: CaptureWants) {}

    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }

    var statistics: CaptureStatistics {
        let sound = inner.statistics
        var result = CaptureStatistics()
        result.framesDelivered = sound.chunksDelivered
        result.framesDropped.noConsumer = sound.framesLost.noConsumer
        result.starts = sound.starts
        result.interruptions = sound.interruptions
        return result
    }
}
