extension EncodingSettings {
    /// Where the packets of an encoder go.
    public enum Purpose: String, Sendable, Hashable, CaseIterable {
        /// To a file: no frame is dropped, and the result depends on the frames alone.
        case file
        /// To viewers over a network: frames are dropped rather than late, the speed follows the load.
        case live

        /// A bitrate that suits the size and rate of a camera: about a tenth of a bit for each pixel, 64 kb/s to 20 Mb/s.
        public static func suggestedBitrate(_ size: PixelSize, frameRate: FrameRate) -> Int {
            let pixelRate = Double(size.width) * Double(size.height) * min(frameRate.framesPerSecond, 60)
            return Int(min(max(pixelRate * 0.1, 64_000), 20_000_000))
        }
    }
}

/// How to encode, as far as a program decides; nil leaves a choice to the encoder.
public struct EncodingSettings: Sendable, Hashable {
    /// The maximum interval between key frames.
    public enum KeyFrameInterval: Sendable, Hashable {
        /// A time.
        case time(Duration)
        /// A number of frames.
        case frames(Int64)
    }

    /// The codec; nil for the first one that an output takes.
    public var codec: Codec?
    /// The name of the encoder, as ``EncoderEntry/name``; nil for the first one of the codec.
    public var encoder: String?
    /// Bits per second.
    public var bitrate: Int?
    /// The maximum interval between key frames.
    public var keyFrameInterval: KeyFrameInterval?
    /// The values of the encoder's own options; see ``EncoderEntry/options``.
    public var options: OptionValues

    /// Settings; everything is the encoder's choice where nothing is said.
    public init(
        codec: Codec? = nil, encoder: String? = nil, bitrate: Int? = nil, keyFrameInterval: KeyFrameInterval? = nil,
        options: OptionValues = OptionValues()
    ) {
        self.codec = codec
        self.encoder = encoder
        self.bitrate = bitrate
        self.keyFrameInterval = keyFrameInterval
        self.options = options
    }
}

extension EncoderEntry {
    /// What an ``EncoderEntry`` makes an encoder for.
    public struct Request: Sendable, Hashable {
        /// The format of the frames to come; their size may change later.
        public var format: VideoFormat
        /// The rate to plan for.
        public var frameRate: FrameRate
        /// What the frames show.
        public var contentHint: VideoContentHint
        /// Where the packets go.
        public var purpose: EncodingSettings.Purpose
        /// How to encode.
        public var settings: EncodingSettings

        /// A request; see the properties.
        public init(
            format: VideoFormat, frameRate: FrameRate, contentHint: VideoContentHint = .none,
            purpose: EncodingSettings.Purpose = .file, settings: EncodingSettings = EncodingSettings()
        ) {
            self.format = format
            self.frameRate = frameRate
            self.contentHint = contentHint
            self.purpose = purpose
            self.settings = settings
        }

        /// The bitrate that is asked for; without one, what suits the size and rate; see
        /// ``EncodingSettings/Purpose/suggestedBitrate(_:frameRate:)``.
        public var bitrate: Int {
            let size = PixelSize(width: format.imageWidth, height: format.imageHeight)
            return settings.bitrate ?? EncodingSettings.Purpose.suggestedBitrate(size, frameRate: frameRate)
        }

        /// The maximum time between key frames; nil for the encoder's choice. A number of frames is half a frame interval
        /// less than the time of them, since timestamps may be slightly early.
        public var keyFrameInterval: Duration? {
            switch settings.keyFrameInterval {
            case .time(let time): time
            case .frames(let count):
                max(.nanoseconds(1), frameRate.time(ofFrame: count) - frameRate.frameInterval / 2)
            case nil: nil
            }
        }
    }
}

extension EncoderEntry.Request {
    /// The number of threads that `OptionDescription.encoderThreads` asks for; nil for the encoder's choice.
    ///
    /// - Parameter range: the numbers that the encoder takes.
    /// - Throws: `OptionError` for another value.
    public func threads(in range: ClosedRange<Int>) throws(OptionError) -> Int? {
        guard settings.options[OptionDescription.encoderThreads.name]?.lowercased() != "auto" else { return nil }
        return try settings.options.count(OptionDescription.encoderThreads.name, in: range)
    }
}

extension OptionDescription {
    /// The option of encoders in software that divide their work among threads: `--threads`, a number or `auto`.
    public static let encoderThreads = OptionDescription(
        "threads", .text("N"), "threads of the encoder, 1 to 64, or auto", default: "auto")
}

/// An encoder that a program offers: its name, its options, and the function that makes it.
///
/// A program lists those that it links, in order of preference, and a `MediaPublisher` makes what its outputs need.
public struct EncoderEntry: Sendable {
    /// The name by which it is chosen.
    public let name: String
    /// What it encodes to.
    public let codec: Codec
    /// What it is, in one sentence.
    public let summary: String
    /// Its options in addition to bitrate and key frame interval.
    public let options: [OptionDescription]
    /// Why it does not work on this machine, in a sentence for the user; nil when it works. May open a device.
    public let problem: @Sendable () -> String?
    /// Whether it encodes pictures of a size. One that does not is not chosen where another encoder can take its place.
    public let acceptsSize: @Sendable (PixelSize) -> Bool

    /// The color matrix and range of frames for the encoder; nil for any.
    ///
    /// VP8 cannot state a range, and decoders say that it is BT.601 in limited range, whatever a container says.
    public var encodedColor: ColorDescription? { codec == .vp8 ? .bt601 : nil }

    private let make: @Sendable (EncoderEntry.Request) throws -> sending any VideoEncoder

    /// An encoder; see the properties. `make` throws `OptionError` for an option, `CodecError` for the rest.
    public init(
        name: String, codec: Codec, summary: String, options: [OptionDescription] = [],
        problem: @escaping @Sendable () -> String? = { nil },
        acceptsSize: @escaping @Sendable (PixelSize) -> Bool = { _ in true },
        make: @escaping @Sendable (EncoderEntry.Request) throws -> sending any VideoEncoder
    ) {
        self.name = name
        self.codec = codec
        self.summary = summary
        self.options = options
        self.problem = problem
        self.acceptsSize = acceptsSize
        self.make = make
    }

    /// Makes an encoder.
    ///
    /// - Throws: `OptionError` for an option's value, `CodecError` for settings that it does not take, and where it does
    ///   not work on this machine.
    public func makeEncoder(_ request: EncoderEntry.Request) throws -> sending any VideoEncoder { try make(request) }
}
