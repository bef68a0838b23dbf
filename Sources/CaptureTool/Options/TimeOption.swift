/// Reads a time in seconds: `10`, `2.5`; an `s` may follow.
public enum TimeOption {
    /// A year: more is a slip of the finger.
    static let longest: Int64 = 366 * 86_400 * 1_000_000_000

    /// - Parameters:
    ///   - text: what was given, in seconds.
    ///   - option: the option's name, for what is thrown.
    ///   - allowsZero: whether 0 is a time that makes sense.
    public static func parse(
        _ text: String, option: String, allowsZero: Bool = false
    ) throws(OptionError) -> Duration {
        let digits = text.hasSuffix("s") ? text.dropLast() : text[...]
        guard let nanoseconds = parseDecimal(digits, decimals: 9),
            ((allowsZero ? 0 : 1)...longest).contains(nanoseconds)
        else {
            throw OptionError(
                option, text, "no time\(allowsZero ? "" : " above zero"). Give seconds: 10 or 2.5.")
        }
        return .nanoseconds(nanoseconds)
    }
}
