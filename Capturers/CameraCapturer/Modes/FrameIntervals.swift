import VideoCapturing

/// The intervals that a driver lists for one format and size: `VIDIOC_ENUM_FRAMEINTERVALS` of the V4L2 specification.
enum FrameIntervals: Sendable, Hashable {
    /// These, and no others.
    case discrete([FrameInterval])
    /// From the shortest in steps up to the longest. A step of zero, or of the one second that V4L2 states for
    /// continuous ranges, stands for any interval between.
    case range(shortest: FrameInterval, longest: FrameInterval, step: FrameInterval)
    /// The driver lists none.
    case unknown

    /// The rates worth a thought: all of a list; of a range the desired one, clamped and snapped to the slower, and the
    /// fastest. In the driver's order, each once, without nonsense.
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
            // Some drivers exchange the two.
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
