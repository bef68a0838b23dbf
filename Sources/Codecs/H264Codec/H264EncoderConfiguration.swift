import VideoCapturing

extension H264Encoder {
    /// How to encode H.264. The defaults are for a camera, written to a file.
    public struct Configuration: Sendable, Hashable {
        /// Bits per second to aim at.
        public var bitrate: Int
        /// The rate to plan for when a frame states none; 30 by default.
        public var frameRate: FrameRate
        /// Threads; more than one divide each picture into as many slices. Fixed once a size is being encoded.
        public var threads: Int
        /// The longest time between key frames; nil for key frames on request only.
        public var keyFrameInterval: Duration?
        /// The finest quantizer, 1 to 51: the best quality that bits are spent on. openh264 would make 12 of 0, and its
        /// coarsest 42, with which a difficult picture takes twice the bitrate.
        public var minimumQuantizer: Int
        /// The coarsest quantizer, 1 to 51: the worst quality before frames are dropped or the bitrate is exceeded. Where it
        /// is the finest one too, all frames have it, and the bitrate is of no effect.
        public var maximumQuantizer: Int
        /// Whether difficult pictures may have more bits than the mean (openh264's quality mode); otherwise the bitrate is
        /// kept. Fixed once a size is being encoded.
        public var isVariableBitrate: Bool
        /// How much is tried for each picture. Fixed once a size is being encoded.
        public var complexity: Complexity
        /// Whether frames are left out where the bitrate would be exceeded. Noise exceeds it by half at the coarsest
        /// quantizer.
        public var dropsFrames: Bool
        /// The largest NAL unit in bytes, so that one fits into a packet of a network: pictures are divided into slices; nil for
        /// one slice for each thread.
        public var maximumNALUnitSize: Int?
        /// Whether the pictures are of a screen: text and edges rather than a camera's.
        public var isScreenContent: Bool
        /// Whether rate and size are lowered when encoding takes longer than frames come. For live use; what is encoded then
        /// depends on the machine's load.
        public var adaptsToLoad: Bool

        /// How much is tried for each picture.
        public enum Complexity: Sendable, Hashable, CaseIterable {
            /// The fastest. A higher one costs up to half as much again, for a tenth of a decibel.
            case low
            /// In between.
            case medium
            /// The slowest.
            case high
        }

        /// Where the packets go.
        public typealias Purpose = EncodingSettings.Purpose

        /// A configuration with the defaults for a purpose.
        ///
        /// - Parameters:
        ///   - bitrate: bits per second.
        ///   - contentHint: detail and text are encoded as screens, the rest as camera pictures.
        ///   - purpose: where the packets go.
        public init(bitrate: Int, contentHint: VideoContentHint = .none, purpose: Purpose = .file) {
            self.bitrate = bitrate
            frameRate = 30
            threads = 1
            keyFrameInterval = .seconds(2)
            minimumQuantizer = 10
            maximumQuantizer = 51
            isVariableBitrate = false
            complexity = .low
            dropsFrames = purpose == .live
            maximumNALUnitSize = nil
            isScreenContent = contentHint == .detail || contentHint == .text
            adaptsToLoad = purpose == .live
        }

        /// A bitrate that suits the size and rate of a camera: about a tenth of a bit for each pixel.
        public static func suggestedBitrate(width: Int, height: Int, frameRate: FrameRate) -> Int {
            EncodingSettings.Purpose.suggestedBitrate(PixelSize(width: width, height: height), frameRate: frameRate)
        }

        /// The bitrates that can be asked for.
        static let bitrates = 1000...200_000_000
        static let quantizers = 1...51

        /// Throws `CodecError` with the code `invalidConfiguration` and the valid range for the first value that is out of it.
        public func validate() throws(CodecError) {
            try H264Encoder.Configuration.check(
                "bitrate in bits per second", bitrate, H264Encoder.Configuration.bitrates)
            try H264Encoder.Configuration.check("number of threads", threads, 1...16)
            try H264Encoder.Configuration.check(
                "minimum quantizer", minimumQuantizer, H264Encoder.Configuration.quantizers)
            try H264Encoder.Configuration.check(
                "maximum quantizer", maximumQuantizer,
                minimumQuantizer...H264Encoder.Configuration.quantizers.upperBound)
            try H264Encoder.Configuration.check("size of a NAL unit", maximumNALUnitSize ?? 1200, 500...65535)
            if let keyFrameInterval, keyFrameInterval <= .zero {
                throw CodecError(
                    .invalidConfiguration, operation: "check the encoder's settings", subject: "H.264",
                    message: "The key frame interval is above zero; leave it out for key frames on request only.")
            }
        }

        static func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(CodecError) {
            guard range.contains(value) else {
                throw CodecError(
                    .invalidConfiguration, operation: "check the encoder's settings", subject: "H.264",
                    message: "The \(name) is \(range.lowerBound) to \(range.upperBound), not \(value).")
            }
        }
    }
}
