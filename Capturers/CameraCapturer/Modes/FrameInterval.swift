import VideoCapturing

/// The interval between frames as a driver reports it, in seconds: `v4l2_fract` of the V4L2 specification.
///
/// Zeros and other invalid values are possible, since drivers report them; ``frameRate`` is nil then.
struct FrameInterval: Sendable, Hashable {
    var numerator: UInt32
    var denominator: UInt32

    init(numerator: UInt32, denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The inverse, in lowest terms; nil when either number is zero.
    ///
    /// Exact, unless a number in lowest terms does not fit into 31 bits: approximated then.
    var frameRate: FrameRate? { FrameRate(ratio: Int128(denominator), to: Int128(numerator)) }
}

extension FrameRate {
    /// The ratio in lowest terms, approximated to 31 bits; nil unless both numbers are above zero.
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
}

/// The intervals that a driver lists for one format and size: `VIDIOC_ENUM_FRAMEINTERVALS` of the V4L2 specification.
enum FrameIntervals: Sendable, Hashable {
    /// These intervals only.
    case discrete([FrameInterval])
    /// From the shortest to the longest in steps. A step of zero, or of one second, which V4L2 uses for continuous
    /// ranges, stands for any interval between.
    case range(shortest: FrameInterval, longest: FrameInterval, step: FrameInterval)
    /// The driver lists none.
    case unknown

    /// The candidate rates: all of a list; of a range the desired one, clamped and rounded down to a step, and the
    /// fastest. In the driver's order, each once, without invalid ones.
    func rates(near desired: FrameRate) -> [FrameRate] {
        var seen: Set<FrameRate> = []
        return candidates(near: desired).filter { seen.insert($0).inserted }
    }

    private func candidates(near desired: FrameRate) -> [FrameRate] {
        switch self {
        case .unknown: return []
        case .discrete(let intervals): return intervals.prefix(ModeSearch.enumerationLimit).compactMap(\.frameRate)
        case .range(let first, let second, let step):
            guard let one = first.frameRate, let other = second.frameRate else {
                return [first.frameRate, second.frameRate].compactMap { $0 }
            }
            // Some drivers swap the two.
            let shortest = one >= other ? first : second
            let (fastest, slowest) = (max(one, other), min(one, other))
            if desired >= fastest { return [fastest] }
            if desired <= slowest { return [slowest, fastest] }
            return [snap(desired, after: shortest, by: step).map { max($0, slowest) } ?? desired, fastest]
        }
    }
}

/// The fastest rate of the steps after `shortest` that is not above `desired`; nil when there are no steps.
private func snap(_ desired: FrameRate, after shortest: FrameInterval, by step: FrameInterval) -> FrameRate? {
    guard step.numerator > 0, step.denominator > 0, step.numerator != step.denominator else { return nil }
    let (a, b) = (Int128(shortest.numerator), Int128(shortest.denominator))
    let (c, d) = (Int128(step.numerator), Int128(step.denominator))
    // Steps: (seconds/frames − a/b) / (c/d), rounded up. No number here has more than 98 bits.
    let distance = (Int128(desired.seconds) * b - a * Int128(desired.frames)) * d
    let unit = Int128(desired.frames) * b * c
    let steps = max(0, (distance + unit - 1) / unit)
    return FrameRate(ratio: b * d, to: a * d + steps * c * b)
}
