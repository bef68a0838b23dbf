/// An option that cannot be used: one sentence for the user that says what would be valid.
public struct OptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The option's name without dashes.
    public let option: String
    /// The sentence, safe to show on a terminal: `--fps 'x': not a frame rate. …`
    public let description: String

    /// Makes the sentence.
    ///
    /// - Parameters:
    ///   - option: the name without dashes: `fps`.
    ///   - value: the given value; nil when the error is not in one value, or the value is a secret.
    ///   - message: the fault and the valid values.
    public init(_ option: String, _ value: String? = nil, _ message: String) {
        self.option = option
        // The value may be a megabyte long, or contain control characters.
        let shown = value.map { " '\(printable($0, limit: 60))'" } ?? ""
        // The message may quote a part of the value.
        description = "--\(option)\(shown): \(printable(message, limit: 500))"
    }

    /// Makes the sentence for a variable of the environment that stands in for an option.
    ///
    /// - Parameters:
    ///   - variable: the variable's name.
    ///   - message: the fault and the valid values.
    public init(variable: String, _ message: String) {
        option = variable
        description = "\(variable): \(printable(message, limit: 500))"
    }
}
