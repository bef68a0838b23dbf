import PacketCapturing
import VideoCapturing

/// A video capture in the shape of a packet capture, for the suite of packets to find its faults: each frame is a packet of JPEG with its time and its number.
final class FramesAsPackets: PacketCapture {
    /// Takes frames for a consumer of packets.
    private final class Inlet: VideoCaptureConsumer {
        private struct Contents {
            weak var outer: (any PacketCaptureConsumer)?
        }

        private let contents: Locked<Contents>
        private let data = [UInt8](repeating: 0xD8, count: 4).withUnsafeBytes { PacketBuffer(copying: $0) }

        init(_ outer: any PacketCaptureConsumer) { contents = Locked(Contents(outer: outer)) }

        var outer: (any PacketCaptureConsumer)? { contents.withLock { $0.outer } }

        func consumeFrame(_ frame: VideoFrame) {
            outer?.consumePacket(
                MediaPacket(
                    data: data, timestamp: frame.timestamp, width: 16, height: 8, sequenceNumber: frame.sequenceNumber))
        }
    }

    private let inner: any VideoCapture
    private let inlet = Locked<Inlet?>(nil)

    init(_ inner: any VideoCapture) { self.inner = inner }

    var packetCaptureConsumer: (any PacketCaptureConsumer)? {
        get { (inner.videoCaptureConsumer as? Inlet)?.outer }
        set {
            let new = newValue.map { Inlet($0) }
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
    func startCapture() throws(CaptureError) { try inner.startCapture() }
    func stopCapture() throws(CaptureError) { try inner.stopCapture() }
    func releaseCapture() { inner.releaseCapture() }
    var isCaptureStarted: Bool { inner.isCaptureStarted }
    func requestKeyFrame() -> Bool { false }

    func captureSettings() -> PacketSettings {
        PacketSettings(
            tracks: [TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 16, height: 8)))],
            sourceName: inner.captureSettings().sourceName)
    }

    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }

    var statistics: PacketStatistics {
        let frames = inner.statistics
        var track = PacketStatistics.Track(id: 0)
        track.packetsDelivered = frames.framesDelivered
        track.packetsLost.noConsumer = frames.framesDropped.noConsumer
        track.packetsLost.source = frames.framesDropped.total - frames.framesDropped.noConsumer
        var result = PacketStatistics()
        result.tracks = [track]
        result.starts = frames.starts
        result.interruptions = frames.interruptions
        return result
    }
}
