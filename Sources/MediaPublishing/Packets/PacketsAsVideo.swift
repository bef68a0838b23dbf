import PacketCapturing
import VideoCapturing

/// A packet capture in the shape of a video capture, by which a publisher runs its life: it has the format of the pictures,
/// the states and the counts, and delivers no frame.
final class PacketsAsVideo: VideoCapture {
    private let packets: any PacketCapture
    private let contents = Locked(Contents())

    private struct Contents {
        weak var consumer: (any VideoCaptureConsumer)?
        var hint = VideoContentHint.none
    }

    init(_ packets: any PacketCapture) { self.packets = packets }

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { contents.withLock { $0.consumer } }
        set { contents.withLock { $0.consumer = newValue } }
    }

    var videoContentHint: VideoContentHint {
        get { contents.withLock { $0.hint } }
        set { contents.withLock { $0.hint = newValue } }
    }

    func initCapture() throws(CaptureError) { try packets.initCapture() }
    func startCapture() throws(CaptureError) { try packets.startCapture() }
    func stopCapture() throws(CaptureError) { try packets.stopCapture() }
    func releaseCapture() { packets.releaseCapture() }
    var isCaptureStarted: Bool { packets.isCaptureStarted }
    func adapt(to wants: CaptureWants) {}

    func captureSettings() -> CaptureSettings {
        let settings = packets.captureSettings()
        guard case .video(let video)? = settings.leadingTrack?.media else {
            return CaptureSettings(format: .i420(width: 2, height: 2), sourceName: settings.sourceName)
        }
        return CaptureSettings(
            format: VideoFormat(
                .i420, width: video.width, height: video.height, pixelAspect: video.pixelAspect,
                estimatedFramesPerSecond: video.frameRate), sourceName: settings.sourceName)
    }

    var state: CaptureState { packets.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { packets.stateChanges() }
    var adjustable: (any AdjustableCapture)? { nil }
    var endOfLastFrame: MediaTime? { nil }

    /// The counts of the leading track.
    var statistics: CaptureStatistics {
        let counts = packets.statistics
        let leading = packets.captureSettings().leadingTrack?.id
        var result = CaptureStatistics()
        result.starts = counts.starts
        result.interruptions = counts.interruptions
        guard let track = counts.tracks.first(where: { $0.id == leading }) else { return result }
        result.framesDelivered = track.packetsDelivered
        result.framesDropped.source = track.packetsLost.source &+ track.packetsLost.undecodable
        result.framesDropped.noConsumer = track.packetsLost.noConsumer
        result.framesDropped.abandoned = track.packetsLost.abandoned
        return result
    }
}
