/// Reads a whole number within a range.
public enum CountOption {
    /// - Parameter option: the option's name, for what is thrown.
    public static func parse<Value: FixedWidthInteger>(
        _ text: String, option: String, range: ClosedRange<Value>
    ) throws(OptionError) -> Value {
        guard let value = parseDigits(text, as: Value.self), range.contains(value) else {
            throw OptionError(option, text, "give a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }
}
