/// An option of a capturer, a codec or an output: the one place where its name, its values and its help are written.
/// Command lines, listings, shell completion and manuals come from it.
public struct OptionDescription: Sendable, Hashable {
    /// What an option takes.
    public enum Value: Sendable, Hashable {
        /// Nothing: it is given or not.
        case flag
        /// Text; the placeholder says what, such as `WIDTHxHEIGHT`.
        case text(_ placeholder: String)
        /// One of these words; upper and lower case are the same.
        case choice([String])
        /// The path of a file.
        case file
        /// Text that is never shown again, such as a password.
        case secret(_ placeholder: String)
    }

    /// The name, as a command line has it after `--`: `pixel-format`.
    public var name: String
    /// What it takes.
    public var value: Value
    /// What it does, in a few words without a full stop.
    public var help: String
    /// What applies when it is left out, in words; nil for an option that must be given.
    public var defaultText: String?
    /// Further names, such as `preset` for `size`.
    public var aliases: [String]
    /// Whether it may be given several times, each with a value.
    public var isRepeatable: Bool

    /// An option; see the properties.
    public init(
        _ name: String, _ value: Value, _ help: String, default defaultText: String?, aliases: [String] = [],
        isRepeatable: Bool = false
    ) {
        self.name = name
        self.value = value
        self.help = help
        self.defaultText = defaultText
        self.aliases = aliases
        self.isRepeatable = isRepeatable
    }

    /// A flag, which is off unless it is given.
    public static func flag(_ name: String, _ help: String) -> OptionDescription {
        OptionDescription(name, .flag, help, default: "off")
    }

    /// Whether its value is left out of messages and listings.
    public var isSecret: Bool { if case .secret = value { true } else { false } }

    /// Whether it stands alone, without a value.
    public var isFlag: Bool { value == .flag }

    /// Whether `name` is its name or one of its aliases.
    public func isNamed(_ name: String) -> Bool { self.name == name || aliases.contains(name) }

    /// What stands for its value in a help text: `WIDTHxHEIGHT`, `FILE`, `a|b`; empty for a flag.
    public var placeholder: String {
        switch value {
        case .flag: ""
        case .text(let placeholder), .secret(let placeholder): placeholder
        case .choice(let words): words.joined(separator: "|")
        case .file: "FILE"
        }
    }
}
