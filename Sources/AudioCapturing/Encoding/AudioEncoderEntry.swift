/// How to encode sound, as far as a program decides; nil leaves a choice to the encoder.
public struct AudioEncodingSettings: Sendable, Hashable {
    /// The codec for outputs that take it; the others, and all where it is nil, have the one that they prefer.
    public var codec: Codec?
    /// The name of the encoder, as ``AudioEncoderEntry/name``; nil for the first one that an output takes.
    public var encoder: String?
    /// Bits per second.
    public var bitrate: Int?
    /// The values of the encoder's own options; see ``AudioEncoderEntry/options``.
    public var options: OptionValues

    /// Settings; everything is the encoder's choice where nothing is said.
    public init(
        codec: Codec? = nil, encoder: String? = nil, bitrate: Int? = nil, options: OptionValues = OptionValues()
    ) {
        self.codec = codec
        self.encoder = encoder
        self.bitrate = bitrate
        self.options = options
    }
}

/// A sound encoder that a program offers: its name, its options, and the function that makes it. `EncoderEntry` is the
/// same for video.
///
/// A program lists those that it links, in order of preference, and a `MediaPublisher` makes what its outputs need.
public struct AudioEncoderEntry: Sendable {
    /// The name by which it is chosen.
    public let name: String
    /// What it encodes to.
    public let codec: Codec
    /// What it is, in one sentence.
    public let summary: String
    /// Its options in addition to the bitrate.
    public let options: [OptionDescription]

    private let make: @Sendable (AudioEncoderEntry.Request) throws -> sending any AudioEncoder

    /// An encoder; see the properties. `make` throws `OptionError` for an option, `CodecError` for the rest.
    public init(
        name: String, codec: Codec, summary: String, options: [OptionDescription] = [],
        make: @escaping @Sendable (AudioEncoderEntry.Request) throws -> sending any AudioEncoder
    ) {
        self.name = name
        self.codec = codec
        self.summary = summary
        self.options = options
        self.make = make
    }

    /// Makes an encoder. Where its packets go together with pictures its track must be described at once.
    ///
    /// - Throws: `OptionError` for an option's value, `CodecError` for settings that it does not take.
    public func makeEncoder(_ request: AudioEncoderEntry.Request) throws -> sending any AudioEncoder {
        try make(request)
    }

    /// What an ``AudioEncoderEntry`` makes an encoder for.
    public struct Request: Sendable, Hashable {
        /// The format of the chunks to come.
        public var format: AudioFormat
        /// Whether a live output waits for the packets, so that their sizes should be even.
        public var isLive: Bool
        /// How to encode.
        public var settings: AudioEncodingSettings

        /// A request; see the properties.
        public init(
            format: AudioFormat, isLive: Bool = false, settings: AudioEncodingSettings = AudioEncodingSettings()
        ) {
            self.format = format
            self.isLive = isLive
            self.settings = settings
        }
    }
}

extension AudioEncoderEntry {
    /// Samples of 16 bits as they are, for WAV.
    public static let pcm = AudioEncoderEntry(
        name: "pcm", codec: .pcm, summary: "16-bit samples, unchanged", make: { _ in PCMEncoder() })
}
