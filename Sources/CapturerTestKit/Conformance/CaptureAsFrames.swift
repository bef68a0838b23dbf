import AudioCapturing
import PacketCapturing
import VideoCapturing

/// A capture of sound or packets in the shape of one of pictures, for the rules that are the same for all: each chunk, and
/// each packet of the leading track, is a frame with its time and its number, of a picture that means nothing.
final class CaptureAsFrames: VideoCapture {
    /// Takes chunks or packets for a consumer of frames.
    final class Inlet: AudioCaptureConsumer, PacketCaptureConsumer {
        private struct Contents {
            weak var outer: (any VideoCaptureConsumer)?
            weak var packets: (any PacketCapture)?
        }

        private let picture: PixelBuffer?
        private let contents: Locked<Contents>

        fileprivate init(_ outer: any VideoCaptureConsumer, of capture: any CaptureLifeCycle) {
            picture = try? PixelBufferPool(capacity: 1).makeBuffer(.i420, width: 2, height: 2) { pixels in
                for plane in 0..<3 { pixels.fill(plane: plane, with: 128) }
            }
            contents = Locked(Contents(outer: outer, packets: capture as? any PacketCapture))
        }

        fileprivate var outer: (any VideoCaptureConsumer)? { contents.withLock { $0.outer } }

        func consumeAudio(_ chunk: AudioChunk) { pass(chunk.timestamp, number: UInt64(max(0, chunk.firstFrame))) }

        func consumePacket(_ packet: MediaPacket) {
            let capture = contents.withLock { $0.packets }
            guard packet.track == capture?.captureSettings().leadingTrack?.id else { return }
            pass(packet.decodeTimestamp ?? packet.timestamp, number: packet.sequenceNumber)
        }

        private func pass(_ time: MediaTime, number: UInt64) {
            guard let outer, let picture else { return }
            outer.consumeFrame(VideoFrame(buffer: picture, timestamp: time, sequenceNumber: number))
        }
    }

    private struct Contents {
        var hint = VideoContentHint.none
        /// Held here, since the capture holds it weakly.
        var inlet: Inlet?
    }

    private let inner: any CaptureLifeCycle
    private let contents = Locked(Contents())
    private let consumer: @Sendable () -> AnyObject?
    private let setConsumer: @Sendable (Inlet?) -> Void
    private let settings: @Sendable () -> (rate: FrameRate?, sourceName: String?)
    private let counts: @Sendable () -> CaptureStatistics

    private init(
        _ inner: any CaptureLifeCycle, consumer: @escaping @Sendable () -> AnyObject?,
        setConsumer: @escaping @Sendable (Inlet?) -> Void,
        settings: @escaping @Sendable () -> (rate: FrameRate?, sourceName: String?),
        counts: @escaping @Sendable () -> CaptureStatistics
    ) {
        self.inner = inner
        self.consumer = consumer
        self.setConsumer = setConsumer
        self.settings = settings
        self.counts = counts
    }

    static func sound(_ inner: any AudioCapture) -> any VideoCapture {
        CaptureAsFrames(
            inner, consumer: { inner.audioCaptureConsumer }, setConsumer: { inner.audioCaptureConsumer = $0 },
            settings: {
                let settings = inner.captureSettings()
                return (FrameRate(interval: settings.chunkDuration), settings.sourceName)
            },
            counts: {
                let sound = inner.statistics
                var result = CaptureStatistics()
                result.framesDelivered = sound.chunksDelivered
                result.framesDropped.noConsumer = sound.framesLost.noConsumer
                result.starts = sound.starts
                result.interruptions = sound.interruptions
                return result
            })
    }

    static func packets(_ inner: any PacketCapture) -> any VideoCapture {
        CaptureAsFrames(
            inner, consumer: { inner.packetCaptureConsumer }, setConsumer: { inner.packetCaptureConsumer = $0 },
            settings: { (30, inner.captureSettings().sourceName) },
            counts: {
                let packets = inner.statistics
                let leading = inner.captureSettings().leadingTrack?.id
                let track = packets.tracks.first { $0.id == leading }
                var result = CaptureStatistics()
                result.framesDelivered = track?.packetsDelivered ?? 0
                result.framesDropped.noConsumer = track?.packetsLost.noConsumer ?? 0
                result.starts = packets.starts
                result.interruptions = packets.interruptions
                return result
            })
    }

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { (consumer() as? Inlet)?.outer }
        set {
            let inlet = newValue.map { Inlet($0, of: inner) }
            // In one step: of two threads the last one's inlet must be both set and held. The one before ends after the lock.
            _ = contents.withLock { contents in
                let old = contents.inlet
                contents.inlet = inlet
                setConsumer(inlet)
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
    func adapt(to wants: CaptureWants) {}
    var adjustable: (any AdjustableCapture)? { nil }
    var endOfLastFrame: MediaTime? { nil }
    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }
    var statistics: CaptureStatistics { counts() }

    func captureSettings() -> CaptureSettings {
        let (rate, name) = settings()
        return CaptureSettings(
            format: VideoFormat(.i420, width: 2, height: 2, estimatedFramesPerSecond: rate), sourceName: name)
    }
}
