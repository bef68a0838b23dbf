/// The values that were given for options, by name, as they were typed. Each is parsed where it is used, by the methods
/// that throw ``OptionError``.
///
/// ```swift
/// let quality = try values.count("jpeg-quality", in: 1...100) ?? 80
/// ```
public struct OptionValues: Sendable, Hashable {
    private var values: [String: [String]]

    /// Values by the options' names; a flag that is set has one empty value.
    public init(_ values: [String: [String]] = [:]) { self.values = values }

    /// The last value of an option; nil when it was not given. Setting it replaces all.
    public subscript(name: String) -> String? {
        get { values[name]?.last }
        set { values[name] = newValue.map { [$0] } }
    }

    /// All values of an option that may be repeated, in their order.
    public func all(_ name: String) -> [String] { values[name] ?? [] }

    /// Adds a value of an option.
    public mutating func append(_ value: String, for name: String) { values[name, default: []].append(value) }

    /// Whether an option was given.
    public func contains(_ name: String) -> Bool { values[name] != nil }

    /// The names of the options that were given, in alphabetical order.
    public var names: [String] { values.keys.sorted() }

    /// These values, with those of `other` in place of values for the same options.
    public func merging(_ other: OptionValues) -> OptionValues {
        OptionValues(values.merging(other.values) { $1 })
    }

    /// The values of the options for which `isIncluded` is true.
    public func filter(_ isIncluded: (String) -> Bool) -> OptionValues {
        OptionValues(values.filter { isIncluded($0.key) })
    }
}

extension OptionValues {
    /// The value of an option as `parse` reads it; nil when it was not given.
    ///
    /// - Parameters:
    ///   - name: the option's name.
    ///   - parse: takes the text, and the option's name for its error.
    public func parsed<Value>(
        _ name: String, _ parse: (_ text: String, _ option: String) throws(OptionError) -> Value
    ) throws(OptionError) -> Value? {
        guard let text = self[name] else { return nil }
        return try parse(text, name)
    }

    /// A whole number within a range.
    public func count<Value: FixedWidthInteger>(
        _ name: String, in range: ClosedRange<Value>
    ) throws(OptionError) -> Value? {
        try parsed(name) { (text, option) throws(OptionError) in
            guard let value = parseDigits(text, as: Value.self), range.contains(value) else {
                throw OptionError(option, text, "give a whole number from \(range.lowerBound) to \(range.upperBound).")
            }
            return value
        }
    }

    /// One of several words; upper and lower case are the same.
    public func choice<Value>(
        _ name: String, _ choices: [(name: String, value: Value)]
    ) throws(OptionError) -> Value? {
        try parsed(name) { (text, option) throws(OptionError) in
            let word = text.lowercased()
            if let choice = choices.first(where: { $0.name == word }) { return choice.value }
            let names = choices.map(\.name)
            let guess = nearestName(to: word, in: names).map { " Did you mean \($0)?" } ?? ""
            throw OptionError(option, text, "unknown.\(guess) Choose one of \(names.joined(separator: ", ")).")
        }
    }

    /// A time: seconds (`10`, `2.5`, `2.5s`), milliseconds (`500ms`), minutes (`5m`, `5min`), hours (`1h`) or days (`1d`),
    /// or by the clock (`1:30`, `00:01:30`), up to a year.
    ///
    /// - Parameters:
    ///   - name: the option's name.
    ///   - allowsZero: whether 0 is valid.
    public func time(_ name: String, allowsZero: Bool = false) throws(OptionError) -> Duration? {
        try parsed(name) { (text, option) throws(OptionError) in
            guard let time = parseTime(text), time > .zero || allowsZero && time == .zero else {
                throw OptionError(
                    option, text,
                    "not a time\(allowsZero ? "" : " above zero"). Give seconds (10, 2.5), 500ms, 5m, 1h or 00:01:30.")
            }
            return time
        }
    }

    /// Bits per second: `800000`, `800k`, `1.5M`, `2Mbps`.
    public func bitrate(_ name: String) throws(OptionError) -> Int? {
        try parsed(name) { (given, option) throws(OptionError) in
            let text = withoutUnit(given, ["bps", "bit/s", "b/s"])
            let decimals = text.hasSuffix("k") || text.hasSuffix("K") ? 3 : text.hasSuffix("M") ? 6 : 0
            guard let value = parseDecimal(decimals > 0 ? text.dropLast() : text[...], decimals: decimals) else {
                throw OptionError(
                    option, given, "not a bitrate. Give bits per second, optionally in k or M: 800k, 1.5M.")
            }
            guard (1000...2_000_000_000).contains(value) else {
                throw OptionError(option, given, "out of range; a bitrate is 1k to 2000M bits per second.")
            }
            return Int(value)
        }
    }
}
