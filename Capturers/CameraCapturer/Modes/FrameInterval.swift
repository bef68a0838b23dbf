import VideoCapturing

/// The time from one frame to the next as a driver states it, in seconds: `v4l2_fract` of the V4L2 specification.
///
/// Zeros and other nonsense are let in, since drivers say such things; ``frameRate`` is nil for them.
struct FrameInterval: Sendable, Hashable {
    var numerator: UInt32
    var denominator: UInt32

    init(numerator: UInt32, denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The inverse, in lowest terms; nil when either number is zero.
    ///
    /// Exact, unless a number in lowest terms does not fit into 31 bits: then as near as 31 bits allow.
    var frameRate: FrameRate? { FrameRate(ratio: Int128(denominator), to: Int128(numerator)) }
}

extension FrameRate {
    /// The ratio in lowest terms, as near as 31 bits allow; nil unless both numbers are above zero.
    init?(ratio frames: Int128, to seconds: Int128) {
        guard frames > 0, seconds > 0 else { return nil }
        var (divisor, remainder) = (frames, seconds)
        while remainder != 0 { (divisor, remainder) = (remainder, divisor % remainder) }
        var (frames, seconds) = (frames / divisor, seconds / divisor)
        while frames > Int128(Int32.max) || seconds > Int128(Int32.max) {
            if frames == 1 || seconds == 1 {
                frames = min(frames, Int128(Int32.max))
                seconds = min(seconds, Int128(Int32.max))
            } else {
                frames >>= 1
                seconds >>= 1
            }
        }
        self.init(Int32(frames), per: Int32(seconds))
    }

    /// Whether this is at least `percent` of `other`; exact.
    func isAtLeast(percent: Int64, of other: FrameRate) -> Bool {
        Int128(frames) * Int128(other.seconds) * 100 >= Int128(other.frames) * Int128(seconds) * Int128(percent)
    }

    /// Whether this is no more than half a percent above `other`, so that 30 counts as 29.97; exact.
    func isWithin(_ other: FrameRate) -> Bool {
        Int128(frames) * Int128(other.seconds) * 1000 <= Int128(other.frames) * Int128(seconds) * 1005
    }

    /// For people: `30`, `12.5`, `29.97`; rounded to thousandths.
    var text: String {
        let thousandths = (Int64(frames) * 1000 + Int64(seconds) / 2) / Int64(seconds)
        guard thousandths > 0 else { return description }
        var fraction = String(thousandths % 1000 + 1000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(thousandths / 1000)\(fraction.isEmpty ? "" : ".")\(fraction)"
    }
}
