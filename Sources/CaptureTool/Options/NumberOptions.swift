import FileCapturer
import VideoCapturing

/// Parses digits with an optional fraction, `12` or `0.5`, as a multiple of 10⁻ⁿ, where n is `decimals`; nil for signs,
/// spaces, exponents, more decimals, and overflow.
func parseDecimal(_ text: Substring, decimals: Int) -> Int64? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, isDigits(whole), var value = Int64(whole) else { return nil }
    let fraction = parts.count == 2 ? parts[1] : ""
    guard parts.count == 1 || isDigits(fraction), fraction.utf8.count <= decimals else { return nil }
    let digits = Array(fraction.utf8) + [UInt8](repeating: 48, count: decimals - fraction.utf8.count)
    for digit in digits {
        let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) = shifted.addingReportingOverflow(Int64(digit - 48))
        guard !overflow, !carry else { return nil }
        value = sum
    }
    return value
}

/// Parses a whole number that consists of digits only; nil for anything else, and for overflow.
func parseDigits<Value: FixedWidthInteger>(_ text: String, as type: Value.Type = Value.self) -> Value? {
    isDigits(text[...]) ? Value(text) : nil
}

private func isDigits(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) }
}

/// Parses a whole number within a range.
public enum CountOption {
    /// Parses a number.
    ///
    /// - Parameters:
    ///   - text: the value that was given.
    ///   - option: the option's name, for the error.
    ///   - range: the numbers that are allowed.
    public static func parse<Value: FixedWidthInteger>(
        _ text: String, option: String, range: ClosedRange<Value>
    ) throws(OptionError) -> Value {
        guard let value = parseDigits(text, as: Value.self), range.contains(value) else {
            throw OptionError(option, text, "give a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }
}

/// Parses bits per second: `800000`, `800k`, `1.5M`.
public enum BitrateOption {
    static let range: ClosedRange<Int64> = 1000...2_000_000_000

    /// The bitrate that `text` stands for, in bits per second.
    public static func parse(_ text: String) throws(OptionError) -> Int {
        var digits = text[...]
        var decimals = 0
        switch text.last {
        case "k", "K": decimals = 3
        case "M": decimals = 6
        default: break
        }
        if decimals > 0 { digits = digits.dropLast() }
        guard let value = parseDecimal(digits, decimals: decimals) else {
            throw OptionError(
                "--bitrate", text, "not a bitrate. Give bits per second, optionally in k or M: 800k, 1.5M.")
        }
        guard range.contains(value) else {
            throw OptionError("--bitrate", text, "out of range; a bitrate is 1k to 2000M bits per second.")
        }
        return Int(value)
    }
}

/// Parses a frame rate: `30`, `12.5`, `30000/1001`, or `max` for as fast as possible.
public enum RateOption {
    static let slowest = FrameRate(1, per: 3600)!
    static let fastest = FrameRate(1000, per: 1)!

    /// The frame rate that `text` stands for.
    public static func parse(_ text: String) throws(OptionError) -> CaptureRequest.Rate {
        if text.lowercased() == "max" { return .maximum }
        guard let rate = FrameRate(text) else {
            throw OptionError(
                "--fps", text, "not a frame rate. Give frames per second (30, 12.5, 30000/1001) or max.")
        }
        guard (slowest...fastest).contains(rate) else {
            throw OptionError(
                "--fps", text,
                "out of range; a frame rate is 1/3600 to 1000 frames per second, or max.")
        }
        return .frames(rate)
    }
}

/// Parses a time in seconds: `10`, `2.5`; an `s` may follow.
public enum TimeOption {
    /// A year; more than that is a typing error.
    static let longest: Int64 = 366 * 86_400 * 1_000_000_000

    /// Parses a time.
    ///
    /// - Parameters:
    ///   - text: the value that was given, in seconds.
    ///   - option: the option's name, for the error.
    ///   - allowsZero: whether 0 is valid.
    public static func parse(
        _ text: String, option: String, allowsZero: Bool = false
    ) throws(OptionError) -> Duration {
        let digits = text.hasSuffix("s") ? text.dropLast() : text[...]
        guard let nanoseconds = parseDecimal(digits, decimals: 9),
            ((allowsZero ? 0 : 1)...longest).contains(nanoseconds)
        else {
            throw OptionError(
                option, text, "not a time\(allowsZero ? "" : " above zero"). Give seconds: 10 or 2.5.")
        }
        return .nanoseconds(nanoseconds)
    }
}

/// The maximum interval between key frames: seconds (`2`, `0.5s`) or frames (`60f`).
public enum KeyFrameIntervalOption: Sendable, Hashable {
    /// A time.
    case time(Duration)
    /// A number of frames.
    case frames(Int64)

    /// The interval that `text` stands for.
    public static func parse(_ text: String) throws(OptionError) -> KeyFrameIntervalOption {
        if text.hasSuffix("f") {
            guard let count = parseDigits(String(text.dropLast()), as: Int64.self), (1...1_000_000).contains(count)
            else {
                throw OptionError(
                    "--keyframe-interval", text, "not a number of frames from 1 to 1000000. Give it as 60f.")
            }
            return .frames(count)
        }
        do {
            return .time(try TimeOption.parse(text, option: "--keyframe-interval"))
        } catch {
            throw OptionError(
                "--keyframe-interval", text, "not an interval above zero. Give seconds (2, 0.5) or frames (60f).")
        }
    }

    /// The time at a frame rate. For a number of frames it is half a frame interval less, since timestamps may be
    /// slightly early.
    func duration(at rate: FrameRate) -> Duration {
        switch self {
        case .time(let time): time
        case .frames(let count): max(.nanoseconds(1), rate.time(ofFrame: count) - rate.frameInterval / 2)
        }
    }
}

/// Parses a playback speed: `0.5`, `2`; an `x` may follow.
public enum PlaybackRateOption {
    /// The speed that `text` stands for; 1 is normal speed.
    public static func parse(_ text: String) throws(OptionError) -> Double {
        let digits = text.hasSuffix("x") ? text.dropLast() : text[...]
        guard let tenThousandths = parseDecimal(digits, decimals: 4) else {
            throw OptionError(
                "--rate", text, "not a speed. Give a number: 0.5 for half speed, 2 for double speed.")
        }
        let rate = Double(tenThousandths) / 10_000
        guard FileCapturer.Playback.rates.contains(rate) else {
            throw OptionError(
                "--rate", text, "out of range; a speed is 0.01 to 100. For as fast as possible, use --fps max.")
        }
        return rate
    }
}
