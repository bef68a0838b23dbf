/// Reads bits per second: `800000`, `800k`, `1.5M`.
public enum BitrateOption {
    static let range: ClosedRange<Int64> = 1000...2_000_000_000

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
                "--bitrate", text, "no number of bits per second. Give digits, with k or M if you like: 800k, 1.5M.")
        }
        guard range.contains(value) else {
            throw OptionError("--bitrate", text, "a bitrate is 1k to 2000M bits per second.")
        }
        return Int(value)
    }
}
