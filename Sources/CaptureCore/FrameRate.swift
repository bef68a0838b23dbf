/// An exact frame rate: `frames` in `seconds`, in lowest terms, always above zero.
///
/// Rates are rational because the field's are: NTSC's 29.97 is 30000/1001, and rounding it gains
/// or loses a frame every 33 seconds.
public struct FrameRate: Sendable, Hashable {
    /// Frames in ``seconds`` seconds; above zero.
    public let frames: Int32
    /// The whole seconds in which ``frames`` frames come; above zero.
    public let seconds: Int32

    /// A rate in lowest terms; nil when either number is not above zero.
    public init?(_ frames: Int32, per seconds: Int32) {
        guard frames > 0, seconds > 0 else { return nil }
        let divisor = greatestCommonDivisor(Int64(frames), Int64(seconds))
        self.frames = frames / Int32(divisor)
        self.seconds = seconds / Int32(divisor)
    }

    /// The rate whose frames are nearest to `interval` apart; nil when the interval is not above zero
    /// or the rate would be out of range.
    ///
    /// Measured intervals come out as a rate of thousandths, so 33.3668 ms is 29.970 (2997/100).
    public init?(interval: Duration) {
        let nanoseconds = interval.nanoseconds
        guard nanoseconds > 0 else { return nil }
        let thousandths = (1_000_000_000_000 + nanoseconds / 2) / nanoseconds
        guard let frames = Int32(exactly: thousandths) else { return nil }
        self.init(frames, per: 1000)
    }

    /// Frames in one second; not exact, for display and for estimates.
    public var framesPerSecond: Double { Double(frames) / Double(seconds) }

    /// The time between two frames, rounded to the nearest nanosecond. To place the n-th frame use
    /// ``time(ofFrame:)``, which does not add up the rounding.
    public var frameInterval: Duration { time(ofFrame: 1) }

    /// How long after the first frame frame number `index` is due, rounded to the nearest nanosecond.
    ///
    /// Exact for any index: an hour of 30000/1001 ends within half a nanosecond of where it should.
    public func time(ofFrame index: Int64) -> Duration {
        let step = Int64(seconds) * 1_000_000_000
        let half = Int64((index < 0 ? -frames : frames) / 2)
        // For 292 years 64 bits are enough, at the usual rates.
        let (product, isTooLarge) = index.multipliedReportingOverflow(by: step)
        let (sum, isSumTooLarge) = product.addingReportingOverflow(half)
        guard isTooLarge || isSumTooLarge else { return .nanoseconds(sum / Int64(frames)) }
        return .nanoseconds(Int64(clamping: (Int128(index) * Int128(step) + Int128(half)) / Int128(frames)))
    }

    /// The number of the last frame that is due at or before `elapsed` after the first.
    public func frameIndex(at elapsed: Duration) -> Int64 {
        // The inverse of `time(ofFrame:)`, its rounding included: the largest index with
        // (index · seconds · 10⁹ + frames/2) / frames ≤ elapsed, in whole numbers.
        let limit = (Int128(elapsed.nanoseconds) + 1) * Int128(frames) - Int128(frames / 2) - 1
        let divisor = Int128(seconds) * 1_000_000_000
        let quotient = limit / divisor
        return Int64(clamping: limit < 0 && limit % divisor != 0 ? quotient - 1 : quotient)
    }
}

extension FrameRate: Comparable {
    public static func < (left: FrameRate, right: FrameRate) -> Bool {
        Int64(left.frames) * Int64(right.seconds) < Int64(right.frames) * Int64(left.seconds)
    }
}

extension FrameRate: ExpressibleByIntegerLiteral {
    /// A whole number of frames per second; a literal that is not above zero ends the program.
    public init(integerLiteral value: Int32) {
        precondition(value > 0, "a frame rate is above zero")
        self.frames = value
        self.seconds = 1
    }
}

extension FrameRate: CustomStringConvertible {
    /// `30`, or `30000/1001`.
    public var description: String {
        seconds == 1 ? "\(frames)" : "\(frames)/\(seconds)"
    }
}

extension FrameRate: LosslessStringConvertible {
    /// Reads `30`, `12.5`, or `30000/1001`. The decimal names of the NTSC rates (`23.976`, `29.97`,
    /// `59.94`, `119.88`) mean their exact fractions over 1001. Nil for anything else.
    public init?(_ description: String) {
        if let slash = description.firstIndex(of: "/") {
            guard let frames = Int32(description[..<slash]),
                let seconds = Int32(description[description.index(after: slash)...])
            else { return nil }
            self.init(frames, per: seconds)
            return
        }
        guard let dot = description.firstIndex(of: ".") else {
            guard let frames = Int32(description) else { return nil }
            self.init(frames, per: 1)
            return
        }
        let fraction = description[description.index(after: dot)...]
        guard (1...6).contains(fraction.utf8.count), fraction.utf8.allSatisfy({ 48...57 ~= $0 }),
            let whole = Int64(description[..<dot]), whole >= 0, !description.hasPrefix("-"),
            let decimals = Int64(fraction)
        else { return nil }
        let scale = (0..<fraction.utf8.count).reduce(Int64(1)) { scale, _ in scale * 10 }
        guard whole <= Int64(Int32.max) else { return nil }
        let frames = whole * scale + decimals
        // 23.976, 23.98, 29.97, 59.94, 119.88: within a hundredth below a whole rate × 1000/1001.
        let nominal = whole + 1
        if [24, 30, 48, 60, 120, 240].contains(nominal) {
            let distance = abs(frames * 1001 - nominal * 1000 * scale)
            if fraction.utf8.count >= 2, distance * 200 < 1001 * scale {
                self.init(Int32(nominal * 1000), per: 1001)
                return
            }
        }
        let divisor = max(1, greatestCommonDivisor(frames, scale))
        guard let exact = Int32(exactly: frames / divisor) else { return nil }
        self.init(exact, per: Int32(scale / divisor))
    }
}

private func greatestCommonDivisor(_ first: Int64, _ second: Int64) -> Int64 {
    var (larger, smaller) = (first, second)
    while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
    return larger
}
