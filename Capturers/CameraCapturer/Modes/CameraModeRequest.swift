import VideoCapturing

extension CameraMode {
    /// The request for a camera's mode.
    public struct Request: Sendable, Hashable {
        /// Whether the size or the rate has priority where a camera has no mode with both.
        public enum Policy: String, Sendable, Hashable, CaseIterable {
            /// The rate has priority: another size is chosen if it has the rate. But a smaller size is preferred to the
            /// requested one only where that has fewer than 15 frames per second (or than the desired rate, if that is
            /// lower).
            case frameRateFirst
            /// The size has priority: the nearest size is chosen, whatever its rate.
            case sizeFirst
        }

        /// What a mode is chosen for.
        public enum Media: Sendable, Hashable {
            /// Frames: every format that can be converted.
            case frames
            /// Packets as the camera encodes them: of this codec, or for nil of `h264`, `hevc` and `jpeg`. They are neither
            /// cropped nor scaled.
            case packets(Codec?)

            /// Whether packets are delivered.
            public var isPackets: Bool { self != .frames }
        }

        /// The size of the delivered frames.
        public let size: PixelSize
        /// The desired number of frames per second.
        public let rate: FrameRate
        /// Whether the size or the rate has priority.
        public let policy: Policy
        /// The only format of the camera that may be used; nil for any.
        public let requiredFourCC: FourCC?
        /// Formats of the camera that must not be used.
        public let excludedFourCCs: Set<FourCC>
        /// Whether frames or packets are delivered.
        public let media: Media

        /// Makes a request. The sides of the size are clamped to 1 to `VideoFormat.maximumSide` pixels.
        public init(
            size: PixelSize, rate: FrameRate, policy: Policy = .frameRateFirst, requiredFourCC: FourCC? = nil,
            excludedFourCCs: Set<FourCC> = [], media: Media = .frames
        ) {
            self.size = PixelSize(
                width: min(max(size.width, 1), VideoFormat.maximumSide),
                height: min(max(size.height, 1), VideoFormat.maximumSide))
            self.rate = rate
            self.policy = policy
            self.requiredFourCC = requiredFourCC
            self.excludedFourCCs = excludedFourCCs
            self.media = media
        }

        /// The handling of a camera's format; nil when it is of no use for the media.
        func format(_ fourCC: FourCC, isConvertible: (FourCC) -> Bool) -> CaptureFormat? {
            media.isPackets
                ? CaptureFormat.encoded(fourCC) : CaptureFormat.of(fourCC, isConvertible: isConvertible)
        }

        /// Whether the format may be used.
        func allows(_ fourCC: FourCC) -> Bool {
            if case .packets(let codec?) = media, Codec(fourCC) != codec { return false }
            return (requiredFourCC == nil || requiredFourCC == fourCC) && !excludedFourCCs.contains(fourCC)
        }
    }
}

extension CameraMode.Request: CustomStringConvertible {
    /// `352x288 at 30 fps`.
    public var description: String {
        "\(size) at \(rate.text) fps" + (requiredFourCC.map { " in \($0)" } ?? "")
            + (policy == .sizeFirst ? ", the size before the rate" : "")
            + (media.isPackets ? ", as packets" : "")
    }
}
