public import VideoCapturing

extension V4L2VideoEncoder {
    /// How a ``V4L2VideoEncoder`` encodes.
    public struct Configuration: Sendable, Hashable {
        /// Bits per second to aim at. A driver without a rate control keeps its quality instead.
        public var bitrate: Int
        /// The rate to plan for when a frame states none; 30 by default.
        public var frameRate: FrameRate
        /// The longest time between key frames; nil for as few as the driver allows. A driver that places key frames by
        /// itself has a limit of its own, and may make more.
        public var keyFrameInterval: Duration?
        /// The device's node, such as `/dev/video11`; nil for the first one that encodes the format.
        public var device: String?
        /// The coded format as V4L2 calls it: `H264`, of which the packets get their parameter sets; others, such as `FWHT`
        /// and `HEVC`, are passed on as the driver gives them.
        public var codedFormat: FourCC
        /// Whether packets are wanted soon: then ``V4L2VideoEncoder/encode(_:output:)`` waits for its frame's packet, for up to
        /// three quarters of a frame interval. Otherwise the device is kept busy, and packets come with later frames.
        public var isLive: Bool

        /// Where the packets go.
        public typealias Purpose = EncodingSettings.Purpose

        /// A configuration with the defaults for a purpose: H.264, a key frame in two seconds.
        ///
        /// - Parameters:
        ///   - bitrate: bits per second.
        ///   - purpose: where the packets go.
        public init(bitrate: Int, purpose: Purpose = .file) {
            self.bitrate = bitrate
            frameRate = 30
            keyFrameInterval = .seconds(2)
            device = nil
            codedFormat = V4L2EncoderDevice.h264
            isLive = purpose == .live
        }

        /// Throws `CodecError` with the code `invalidConfiguration` and the valid range for the first value that is out of it.
        public func validate() throws(CodecError) {
            guard (1000...200_000_000).contains(bitrate) else {
                throw invalid("The bitrate in bits per second is 1000 to 200000000, not \(bitrate).")
            }
            if let keyFrameInterval, keyFrameInterval <= .zero {
                throw invalid("The key frame interval is above zero; leave it out for key frames on request only.")
            }
        }

        /// The interval of key frames for a driver that counts frames.
        var keyFrameIntervalInFrames: Int64 {
            guard let keyFrameInterval else { return Int64(Int32.max) }
            let frames = keyFrameInterval.nanoseconds / max(1, frameRate.frameInterval.nanoseconds)
            return min(max(1, frames), Int64(Int32.max))
        }

        private func invalid(_ message: String) -> CodecError {
            CodecError(
                .invalidConfiguration, operation: "check the encoder's settings", subject: "V4L2", message: message)
        }
    }
}
