/// An option that cannot be: one sentence for the user, with what would be valid.
public struct OptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// - Parameters:
    ///   - option: as it is typed, `--fps`.
    ///   - value: what was given for it; nil when the fault is not in one value.
    ///   - message: what is wrong and what would be valid.
    public init(_ option: String, _ value: String? = nil, _ message: String) {
        // A value of a megabyte, or with control characters, is not to be shown as it is.
        let shown = value.map { " '\(printable($0, limit: 60))'" } ?? ""
        // The message may quote a part of the value.
        description = "\(option)\(shown): \(printable(message, limit: 500))"
    }
}
