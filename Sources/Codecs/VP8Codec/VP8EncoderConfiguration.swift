public import VideoCapturing

extension VP8Encoder {
    /// How to encode VP8. The defaults are libwebrtc's for a camera, written to a file.
    public struct Configuration: Sendable, Hashable {
        /// Bits per second to aim at.
        public var bitrate: Int
        /// The rate to plan for when a frame states none; 30 by default.
        public var frameRate: FrameRate
        /// Threads, never more than the machine has cores; nil for as many as the size is worth. Fixed once a size is
        /// being encoded.
        public var threads: Int?
        /// The longest time between key frames; nil for key frames on request only.
        public var keyFrameInterval: Duration?
        /// The finest quantizer, 0 to 63: the best quality that bits are spent on.
        public var minimumQuantizer: Int
        /// The coarsest quantizer, 0 to 63: the worst quality before frames are dropped or the bitrate is exceeded.
        public var maximumQuantizer: Int
        /// Whether difficult pictures may have more bits than the mean (libvpx's VBR); otherwise the bitrate is kept at all
        /// times. Fixed once a size is being encoded.
        public var isVariableBitrate: Bool
        /// Speed against quality, −16 (fast) to −1, libvpx's `cpu-used`. Negative ones are fixed speeds; others,
        /// which follow the wall clock, are refused.
        public var speed: Int
        /// When the buffer is fuller than this many percent behind, frames are dropped; 0 for never.
        public var dropFrameThreshold: Int
        /// Whether frames must be decodable after a loss, at some cost in bits.
        public var isErrorResilient: Bool
        /// 1 to 3 temporal layers: the higher ones can be left out to halve, or quarter, the rate. Layer 0 has 60 % of the
        /// bitrate of two layers and 40 % of that of three, layers 0 and 1 have 60 % of that of three.
        public var temporalLayers: Int
        /// Changes below this are not encoded; 0 encodes all.
        public var staticThreshold: Int
        /// libvpx's mode for screen contents: 0 off, 1 on, 2 on with more aggressive rate control. When it is on, and there
        /// is but one temporal layer, only what the frames' damage names is coded, until it is sharp.
        public var screenContentMode: Int
        /// The most bits of a key frame, in percent of an average frame; nil for 30 times the rate, at least 300.
        public var maximumIntraBitratePercent: Int?
        /// Whether speed, rate and size are lowered when encoding takes longer than frames come. For live use; what
        /// is encoded then depends on the machine's load.
        public var adaptsToLoad: Bool

        /// Where the packets go.
        public typealias Purpose = EncodingSettings.Purpose

        /// - Parameters:
        ///   - bitrate: bits per second.
        ///   - contentHint: detail and text are encoded as screens, the rest as camera pictures.
        ///   - purpose: where the packets go.
        public init(bitrate: Int, contentHint: VideoContentHint = .none, purpose: Purpose = .file) {
            self.bitrate = bitrate
            frameRate = 30
            threads = nil
            keyFrameInterval = .seconds(2)
            let isScreen = contentHint == .detail || contentHint == .text
            // Of a screen little changes, so that a file can have what does in full quality.
            minimumQuantizer = isScreen && purpose == .live ? 10 : 2
            maximumQuantizer = 56
            isVariableBitrate = false
            speed = isScreen ? -8 : -6
            dropFrameThreshold = purpose == .live ? 30 : 0
            isErrorResilient = false
            temporalLayers = 1
            staticThreshold = isScreen ? 100 : 1
            screenContentMode = isScreen ? (purpose == .live ? 2 : 1) : 0
            maximumIntraBitratePercent = nil
            adaptsToLoad = purpose == .live
        }

        /// Throws `CodecError` with the code `invalidConfiguration` and the valid range for the first value that is
        /// out of it.
        public func validate() throws(CodecError) {
            func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(CodecError) {
                guard range.contains(value) else {
                    throw CodecError(
                        .invalidConfiguration, operation: "check the encoder's settings", subject: "VP8",
                        message: "The \(name) is \(range.lowerBound) to \(range.upperBound), not \(value).")
                }
            }
            // Below a kilobit libvpx rounds to zero, and hands the last packet out again and again.
            try check("bitrate in bits per second", bitrate, 1000...2_000_000_000)
            try check("number of threads", threads ?? 1, 1...64)
            try check("minimum quantizer", minimumQuantizer, 0...63)
            try check("maximum quantizer", maximumQuantizer, minimumQuantizer...63)
            try check("speed", speed, -16 ... -1)
            try check("threshold for dropping frames", dropFrameThreshold, 0...100)
            try check("number of temporal layers", temporalLayers, 1...3)
            try check("static threshold", staticThreshold, 0...10_000)
            try check("screen content mode", screenContentMode, 0...2)
            try check("key frame's share in percent", maximumIntraBitratePercent ?? 300, 0...100_000)
            if let keyFrameInterval, keyFrameInterval <= .zero {
                throw CodecError(
                    .invalidConfiguration, operation: "check the encoder's settings", subject: "VP8",
                    message: "The key frame interval is above zero; leave it out for key frames on request only.")
            }
        }
    }
}
