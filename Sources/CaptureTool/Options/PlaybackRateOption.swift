import FileCapturer

/// Reads how fast a file is played: `0.5`, `2`; an `x` may follow.
public enum PlaybackRateOption {
    public static func parse(_ text: String) throws(OptionError) -> Double {
        let digits = text.hasSuffix("x") ? text.dropLast() : text[...]
        guard let tenThousandths = parseDecimal(digits, decimals: 4) else {
            throw OptionError(
                "--rate", text, "no speed. Give a number: 0.5 for half as fast, 2 for twice as fast.")
        }
        let rate = Double(tenThousandths) / 10_000
        guard FilePlayback.rates.contains(rate) else {
            throw OptionError("--rate", text, "a speed is 0.01 to 100; --fps max is as fast as possible.")
        }
        return rate
    }
}
