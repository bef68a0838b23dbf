import PacketCapturing
import VideoCapturing

/// A packet capture in the shape of a video capture, for the rules that are the same for both: each packet of the leading
/// track is a frame with its decode time and its number, of a picture that means nothing.
final class PacketsAsFrames: VideoCapture {
    private let inner: any PacketCapture
    private let contents: Locked<Contents>

    private struct Contents {
        var hint = VideoContentHint.none
        /// Held here, since the capture holds it weakly.
        var inlet: Inlet?
    }

    /// Takes packets for a consumer of frames.
    private final class Inlet: PacketCaptureConsumer {
        private struct Contents {
            weak var outer: (any VideoCaptureConsumer)?
            weak var capture: (any PacketCapture)?
        }

        private let picture: PixelBuffer?
        private let contents: Locked<Contents>

        init(_ outer: any VideoCaptureConsumer, of capture: any PacketCapture) {
            picture = try? PixelBufferPool(capacity: 1).makeBuffer(.i420, width: 2, height: 2) { pixels in
                for plane in 0..<3 { pixels.fill(plane: plane, with: 128) }
            }
            contents = Locked(Contents(outer: outer, capture: capture))
        }

        var outer: (any VideoCaptureConsumer)? { contents.withLock { $0.outer } }

        func consumePacket(_ packet: MediaPacket) {
            let capture = contents.withLock { $0.capture }
            guard let outer, let picture, packet.track == capture?.captureSettings().leadingTrack?.id else { return }
            outer.consumeFrame(
                VideoFrame(
                    buffer: picture, timestamp: packet.decodeTimestamp ?? packet.timestamp,
                    sequenceNumber: packet.sequenceNumber))
        }
    }

    init(_ inner: any PacketCapture) {
        self.inner = inner
        contents = Locked(Contents())
    }

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { (inner.packetCaptureConsumer as? Inlet)?.outer }
        set {
            let inlet = newValue.map { Inlet($0, of: inner) }
            // In one step: of two threads the last one's inlet must be both set and held. The one before ends after the lock.
            _ = contents.withLock { contents in
                let old = contents.inlet
                contents.inlet = inlet
                inner.packetCaptureConsumer = inlet
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
        CaptureSettings(
            format: VideoFormat(.i420, width: 2, height: 2, estimatedFramesPerSecond: 30),
            sourceName: inner.captureSettings().sourceName)
    }

    func adapt(to wants: CaptureWants) {}
    var adjustable: (any AdjustableCapture)? { nil }
    var endOfLastFrame: MediaTime? { nil }

    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }

    var statistics: CaptureStatistics {
        let packets = inner.statistics
        var result = CaptureStatistics()
        result.starts = packets.starts
        result.interruptions = packets.interruptions
        let leading = inner.captureSettings().leadingTrack?.id
        guard let track = packets.tracks.first(where: { $0.id == leading }) else { return result }
        result.framesDelivered = track.packetsDelivered
        result.framesDropped.noConsumer = track.packetsLost.noConsumer
        return result
    }
}
