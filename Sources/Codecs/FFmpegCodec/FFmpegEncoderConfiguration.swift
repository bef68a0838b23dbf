import VideoCapturing

extension FFmpegVideoEncoder {
    /// How a ``FFmpegVideoEncoder`` encodes.
    public struct Configuration: Sendable, Hashable {
        /// FFmpeg's name of the encoder, as in `ffmpeg -encoders`: `libx264`, `h264_vaapi`, `h264_v4l2m2m`, `h264_nvenc`,
        /// `h264_qsv`, `libx265`, `mjpeg` and others.
        public var encoder: String
        /// Bits per second to aim at.
        public var bitrate: Int
        /// The rate to plan for when a frame states none.
        public var frameRate: FrameRate
        /// The longest time between key frames; nil for key frames on request only.
        public var keyFrameInterval: Duration?
        /// Threads of an encoder in software; nil for as many as the size is worth.
        public var threads: Int?
        /// The device of an encoder in hardware, such as `/dev/dri/renderD128`; nil for FFmpeg's choice.
        public var device: String?
        /// FFmpeg's options of the encoder by name, as on the command line of ffmpeg but without the dash. They replace those
        /// that are set here.
        public var options: [String: String]
        /// Whether rate and size are lowered when encoding takes longer than frames come. For live use; the result then
        /// depends on the machine's load.
        public var adaptsToLoad: Bool
        /// What options say of quality, bitrate and time, as far as it is known for the encoder.
        package var quality: EncoderQuality?

        /// Where the packets go.
        public typealias Purpose = EncodingSettings.Purpose

        /// Settings for an encoder: 30 frames per second, a key frame in two seconds.
        ///
        /// - Parameters:
        ///   - encoder: FFmpeg's name of the encoder.
        ///   - bitrate: bits per second.
        ///   - purpose: where the packets go.
        public init(encoder: String, bitrate: Int, purpose: Purpose = .file) {
            self.encoder = encoder
            self.bitrate = bitrate
            frameRate = 30
            keyFrameInterval = .seconds(2)
            threads = nil
            device = nil
            options = [:]
            adaptsToLoad = purpose == .live
        }

        /// Throws `CodecError` with the code `invalidConfiguration` and the valid range for the first value that is out of it.
        public func validate() throws(CodecError) {
            try check("bitrate in bits per second", bitrate, 1000...2_000_000_000)
            try check("number of threads", threads ?? 1, 1...64)
            if let keyFrameInterval, keyFrameInterval <= .zero {
                throw invalid("The key frame interval is above zero; leave it out for key frames on request only.")
            }
        }

        private func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(CodecError) {
            guard !range.contains(value) else { return }
            throw invalid("The \(name) is \(range.lowerBound) to \(range.upperBound), not \(value).")
        }

        private func invalid(_ message: String) -> CodecError {
            CodecError(
                .invalidConfiguration, operation: "check the encoder's settings", subject: encoder, message: message)
        }
    }
}
