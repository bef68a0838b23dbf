/// What a container or a peer must know of a track before its first packet.
public struct TrackDescription: Sendable {
    /// The identifier by which packets name the track.
    public var id: TrackID
    /// How the packets are encoded.
    public var codec: Codec
    /// What the packets decode to.
    public var media: Media
    /// What a decoder needs besides the packets, as the codec defines it: `avcC` (ISO/IEC 14496-15) for H.264,
    /// `OpusHead` (RFC 7845) for Opus, `AudioSpecificConfig` (ISO/IEC 14496-3) for AAC; nil where the packets are enough, as
    /// with VP8.
    public var decoderConfiguration: PacketBuffer?

    /// What the packets of a track decode to.
    public enum Media: Sendable, Hashable {
        /// Pictures.
        case video(Video)
        /// Sound.
        case audio(Audio)
    }

    /// The pictures of a track.
    public struct Video: Sendable, Hashable {
        /// The width of the first picture in pixels, before the orientation is applied; later ones may differ.
        public var width: Int
        /// The height of the first picture in pixels, before the orientation is applied.
        public var height: Int
        /// The clockwise rotation to apply for display.
        public var orientation: VideoOrientation
        /// Color matrix and range.
        public var color: ColorDescription
        /// The shape of the pixels, before the orientation is applied.
        public var pixelAspect: PixelAspect
        /// The nominal frame rate; nil when frames come at no fixed rate, or it is unknown.
        public var frameRate: FrameRate?
        /// Whether left and right are exchanged for display, after the orientation is applied.
        public var isMirrored = false
        /// Whether the source knows that pictures are decoded in another order than they are shown in (B-frames).
        public var isReordered = false

        /// Pictures of a size.
        public init(
            width: Int, height: Int, orientation: VideoOrientation = .up, color: ColorDescription = .bt601,
            pixelAspect: PixelAspect = .square, frameRate: FrameRate? = nil
        ) {
            self.width = width
            self.height = height
            self.orientation = orientation
            self.color = color
            self.pixelAspect = pixelAspect
            self.frameRate = frameRate
        }
    }

    /// The sound of a track.
    public struct Audio: Sendable, Hashable {
        /// Samples per second and channel.
        public var sampleRate: Int
        /// The number of channels, interleaved.
        public var channelCount: Int
        /// How many frames a decoder gives before the first one that was encoded (priming), where the decoder configuration
        /// does not say it: 1024 for AAC of most encoders. 0 for Opus, whose `OpusHead` says it.
        public var initialPadding: Int

        /// Sound of a sample rate.
        public init(sampleRate: Int, channelCount: Int, initialPadding: Int = 0) {
            self.sampleRate = sampleRate
            self.channelCount = channelCount
            self.initialPadding = initialPadding
        }
    }

    /// A track; see the properties.
    public init(id: TrackID, codec: Codec, media: Media, decoderConfiguration: PacketBuffer? = nil) {
        self.id = id
        self.codec = codec
        self.media = media
        self.decoderConfiguration = decoderConfiguration
    }
}

/// The identifier of a track, unique among the tracks that are written together.
public struct TrackID: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number; containers give tracks numbers of their own.
    public var rawValue: UInt32

    /// The identifier with a number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The identifier with a number.
    public init(integerLiteral value: UInt32) { rawValue = value }
}

/// The name of a codec, in lower case. Open: a program may add its own.
public struct Codec: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// The codec of a name; upper and lower case are the same.
    public init(rawValue: String) { self.rawValue = rawValue.lowercased() }

    /// VP8 (RFC 6386).
    public static let vp8 = Codec(rawValue: "vp8")
    /// H.264 (ITU-T H.264). Each packet is one access unit as a byte stream (annex B), with the parameter sets before every
    /// key frame; the track's decoder configuration is `avcC`. Containers that need lengths in place of start codes
    /// convert it, with `LengthPrefixed` of `H264Bitstream`.
    public static let h264 = Codec(rawValue: "h264")
    /// One JPEG image (ITU-T T.81) per packet.
    public static let jpeg = Codec(rawValue: "jpeg")
    /// Opus (RFC 6716).
    public static let opus = Codec(rawValue: "opus")
    /// AAC-LC (ISO/IEC 14496-3), without headers.
    public static let aac = Codec(rawValue: "aac")
    /// MPEG-1 Audio Layer III (ISO/IEC 11172-3).
    public static let mp3 = Codec(rawValue: "mp3")
    /// Interleaved samples, 16 bits each, little-endian.
    public static let pcm = Codec(rawValue: "pcm")

    /// The name.
    public var description: String { rawValue }
}
