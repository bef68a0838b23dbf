/// How a sample is stored: in the byte order of the machine, channels interleaved.
public enum SampleType: String, Sendable, Hashable, CaseIterable {
    /// Signed, 16 bits; full scale is ±32768.
    case int16
    /// 32-bit floating point; full scale is ±1, and more is possible before it is converted.
    case float32

    /// The bytes of one sample of one channel.
    @inlinable public var byteCount: Int { self == .int16 ? 2 : 4 }
}

/// The channels of sound and their order.
public enum ChannelLayout: Sendable, Hashable {
    /// One channel.
    case mono
    /// Left, right.
    case stereo
    /// This number of channels without a meaning of their own, in the order of the device.
    case discrete(Int)

    /// The usual layout of a number of channels.
    public init(count: Int) {
        self = count == 1 ? .mono : count == 2 ? .stereo : .discrete(count)
    }

    /// The number of channels.
    @inlinable public var count: Int {
        switch self {
        case .mono: 1
        case .stereo: 2
        case .discrete(let count): count
        }
    }
}

/// What samples are: their type, channels and rate.
///
/// A *frame* of sound is one sample of each channel, at the same instant.
public struct AudioFormat: Sendable, Hashable {
    /// How a sample is stored.
    public var sampleType: SampleType
    /// The channels, interleaved.
    public var channels: ChannelLayout
    /// Frames per second.
    public var sampleRate: Int

    /// A format.
    ///
    /// - Parameters:
    ///   - sampleType: how a sample is stored.
    ///   - channels: the channels, interleaved.
    ///   - sampleRate: frames per second.
    public init(_ sampleType: SampleType, _ channels: ChannelLayout, sampleRate: Int) {
        self.sampleType = sampleType
        self.channels = channels
        self.sampleRate = sampleRate
    }

    /// 32-bit floating point, stereo, 48 kHz: what Opus and most sound servers work in.
    public static let float48kStereo = AudioFormat(.float32, .stereo, sampleRate: 48_000)
    /// 16 bits, stereo, 48 kHz.
    public static let int16At48kStereo = AudioFormat(.int16, .stereo, sampleRate: 48_000)

    /// The bytes of one frame.
    @inlinable public var bytesPerFrame: Int { sampleType.byteCount * channels.count }

    /// How long frames take, to the nanosecond.
    public func duration(ofFrames frames: Int64) -> Duration {
        .nanoseconds(Int64(clamping: Int128(frames) * 1_000_000_000 / Int128(max(1, sampleRate))))
    }

    /// The nearest number of frames that fit into a duration.
    public func frames(in duration: Duration) -> Int64 {
        let product = Int128(duration.nanoseconds) * Int128(sampleRate)
        return Int64(clamping: (product + (product < 0 ? -500_000_000 : 500_000_000)) / 1_000_000_000)
    }

    /// The sound of a track in this format.
    public var trackAudio: TrackDescription.Audio {
        TrackDescription.Audio(sampleRate: sampleRate, channelCount: channels.count)
    }

    /// Throws `invalidConfiguration` when the rate is not in 1 to 768,000 or there are not 1 to 64 channels: for formats
    /// from outside. Anything within can be multiplied without overflow.
    public func validate() throws(CaptureError) {
        guard (1...768_000).contains(sampleRate), (1...64).contains(channels.count) else {
            throw CaptureError(
                .invalidConfiguration, operation: "check a sound format", subject: "\(self)",
                message: "Use 1 to 64 channels and a sample rate of 1 to 768000 Hz.")
        }
    }
}

extension AudioFormat: CustomStringConvertible {
    /// `48000 Hz stereo float32`.
    public var description: String {
        let layout =
            switch channels {
            case .mono: "mono"
            case .stereo: "stereo"
            case .discrete(let count): "\(count) channels"
            }
        return "\(sampleRate) Hz \(layout) \(sampleType.rawValue)"
    }
}

/// The Swift type of a ``SampleType``: `Int16` and `Float`.
public protocol AudioSample: BitwiseCopyable, Sendable {
    /// The sample type that it is.
    static var sampleType: SampleType { get }
}

extension Int16: AudioSample {
    public static var sampleType: SampleType { .int16 }
}

extension Float: AudioSample {
    public static var sampleType: SampleType { .float32 }
}
