import PacketCapturing
import V4L2Support
import VideoCapturing

/// The packets of a camera, for a `PacketSourceCapturer`: the loop of ``CameraSource``, with its recovery, whose buffers
/// become packets.
///
/// Runs on the capture thread.
final class CameraPacketSource: PacketSource {
    /// The track that its packets have.
    static let track: TrackID = 0

    private(set) var settings: PacketSettings
    private(set) var makesKeyFrames = false
    private let camera: CameraSource
    private let firstKeyFrameLimit: Duration

    /// - Parameter firstKeyFrameLimit: how long the first key frame may take, from which the parameter sets are known.
    init(_ camera: CameraSource, firstKeyFrameLimit: Duration) {
        self.camera = camera
        self.firstKeyFrameLimit = firstKeyFrameLimit
        settings = PacketSettings(sourceName: camera.configuration.device)
    }

    func open(_ context: PacketContext) throws {
        camera.parameterSets = nil
        try camera.open()
        do {
            let track = try camera.describePackets(
                CameraPacketContext(context: context), limit: firstKeyFrameLimit)
            // Each image of JPEG is a key frame.
            makesKeyFrames = track.codec == .jpeg || camera.session?.makesKeyFrames ?? false
            settings = PacketSettings(tracks: [track], sourceName: camera.device?.name)
        } catch {
            camera.stop()
            camera.close()
            throw error
        }
    }

    func start(_ context: PacketContext) throws { try camera.begin(CameraPacketContext(context: context)) }

    func nextPacket(_ context: PacketContext) throws -> MediaPacket? {
        guard case .packet(let packet) = try camera.nextSample(CameraPacketContext(context: context)) else {
            return nil
        }
        return packet
    }

    func requestKeyFrame() { camera.session?.forceKeyFrame() }

    func stop() { camera.stop() }

    func close() { camera.close() }
}

extension CameraSource {
    /// Streams until the track is described, and stops: of H.264 and H.265 that takes the first key frame.
    ///
    /// - Throws: the camera's error; `formatUnsupported` when no key frame comes within `limit`; `invalidState` when the
    ///   capture is being stopped.
    func describePackets(_ context: any CameraContext, limit: Duration) throws(CaptureError) -> TrackDescription {
        try session?.prepareEncoder(configuration.encoder)
        try begin(context)
        defer { stop() }
        let deadline = context.now.advanced(by: limit)
        while !context.isStopping {
            guard case .running(let running) = state, case .packets(let maker) = running.output else {
                throw CaptureError(
                    .stalled, operation: "wait for a key frame", subject: device?.name,
                    message: "The camera has no signal at its input; connect one, then try again.")
            }
            var attributes = FrameAttributes()
            attributes.orientation = orientation.orientation
            attributes.pixelAspect = session?.pixelAspect ?? .square
            let track = maker.description(
                CameraPacketSource.track, attributes, rate: running.plan.decimatedRate ?? running.rate)
            if maker.codec == .jpeg || track.decoderConfiguration != nil { return track }
            guard context.now < deadline else { throw noKeyFrame(maker.codec) }
            do throws(CameraStreamError) {
                _ = try awaitSample(running, context)
            } catch {
                throw error.captureError ?? noKeyFrame(maker.codec)
            }
        }
        throw CaptureError(
            .invalidState, operation: "wait for a key frame", subject: device?.name,
            message: "The capture was stopped before the first key frame; start it again.")
    }

    private func noKeyFrame(_ codec: Codec) -> CaptureError {
        CaptureError(
            .formatUnsupported, operation: "wait for a key frame", subject: device?.name,
            message: "The camera's \(codec) has no key frame with parameter sets, without which it cannot be decoded; "
                + "unplug it and plug it in again, or choose MJPG.")
    }
}
