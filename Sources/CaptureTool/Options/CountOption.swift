/// Reads a whole number within a range.
public enum CountOption {
    /// - Parameters:
    ///   - text: what was given.
    ///   - option: the option's name, for what is thrown.
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
