import CLibV4L2
import V4L2Support
import VideoCapturing

/// How a camera encodes its packets.
struct EncoderSettings: Sendable, Hashable {
    /// Bits per second; nil for the camera's own.
    var bitrate: Int?
    /// The time between key frames; nil for the camera's own.
    var keyFrameInterval: Duration?
}

/// The controls of a camera's encoder (`V4L2_CID_MPEG_VIDEO_…`). Cameras have different ones of them, most webcams none.
extension CameraSession {
    private static let forceKeyFrame = UInt32(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME)

    /// Whether the camera makes key frames on request.
    var makesKeyFrames: Bool { node.controlRange(CameraSession.forceKeyFrame) != nil }

    /// Asks for a key frame; without effect where the camera cannot.
    func forceKeyFrame() { _ = try? node.setControl(CameraSession.forceKeyFrame, to: 1) }

    /// Sets the encoder. Parameter sets before each key frame, and pictures in their order, are set where the camera has
    /// controls for them.
    ///
    /// - Throws: `invalidConfiguration` when the camera has no control for what `settings` ask for, or refuses it.
    func prepareEncoder(_ settings: EncoderSettings) throws(CaptureError) {
        _ = try? node.setControl(UInt32(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER), to: 1)
        _ = try? node.setControl(
            UInt32(V4L2_CID_MPEG_VIDEO_HEADER_MODE),
            to: Int64(V4L2_MPEG_VIDEO_HEADER_MODE_JOINED_WITH_1ST_FRAME.rawValue))
        _ = try? node.setControl(UInt32(V4L2_CID_MPEG_VIDEO_B_FRAMES), to: 0)
        if let bitrate = settings.bitrate {
            try set([V4L2_CID_MPEG_VIDEO_BITRATE], to: Int64(bitrate), "bitrate")
        }
        if let interval = settings.keyFrameInterval {
            let rate = decision.negotiated.rate ?? decision.requested.rate
            try set(
                [V4L2_CID_MPEG_VIDEO_H264_I_PERIOD, V4L2_CID_MPEG_VIDEO_GOP_SIZE],
                to: max(1, rate.frameIndex(at: interval)), "interval of key frames")
        }
    }

    /// Sets those of the controls that the camera has.
    private func set(_ controls: [Int32], to value: Int64, _ name: String) throws(CaptureError) {
        var isSet = false
        for control in controls {
            do throws(IoctlFailure) {
                if try node.setControl(UInt32(control), to: value) { isSet = true }
            } catch {
                if error.isDeviceGone { throw CameraFault(error, path: node.path).captureError }
                throw self.error(
                    name, "The camera refused the \(name) \(value); choose another, or leave it out.", error.number)
            }
        }
        guard isSet else {
            throw self.error(name, "The camera has no control for the \(name) of its packets; leave it out.")
        }
    }

    private func error(_ name: String, _ message: String, _ errno: Int32? = nil) -> CaptureError {
        CaptureError(
            .invalidConfiguration, operation: "set the \(name)", subject: device.name, errno: errno, message: message)
    }
}
