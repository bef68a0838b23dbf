import MediaContainers
import VideoCapturing

/// Reads one name of a list.
public enum ChoiceOption {
    /// The value of that name; upper and lower case are the same. Throws with the nearest name and the list.
    public static func parse<Value>(
        _ text: String, option: String, choices: [(name: String, value: Value)]
    ) throws(OptionError) -> Value {
        let name = text.lowercased()
        if let choice = choices.first(where: { $0.name == name }) { return choice.value }
        let names = choices.map(\.name)
        let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
        throw OptionError(option, text, "unknown.\(guess) There are \(names.joined(separator: ", ")).")
    }

    /// The clockwise turn that makes the picture upright: `0`, `90`, `180`, `270`.
    public static func orientation(_ text: String) throws(OptionError) -> VideoOrientation {
        try parse(
            text, option: "--orientation",
            choices: [("0", .up), ("90", .left), ("180", .down), ("270", .right)])
    }

    /// `none`, `motion`, `detail`, `text`.
    public static func contentHint(_ text: String) throws(OptionError) -> VideoContentHint {
        try parse(text, option: "--content-hint", choices: VideoContentHint.allCases.map { ($0.rawValue, $0) })
    }

    /// `nv12`, `i420`, `argb` and the other formats by name.
    public static func pixelFormat(_ text: String) throws(OptionError) -> PixelFormat {
        try parse(
            text, option: "--pixel-format", choices: PixelFormat.allCases.map { ($0.rawValue.lowercased(), $0) })
    }

    /// `text`, `json`, `none`.
    public static func statistics(_ text: String) throws(OptionError) -> StatisticsStyle {
        try parse(text, option: "--stats", choices: StatisticsStyle.allCases.map { ($0.rawValue, $0) })
    }
}

/// How the tool tells what it does while it runs.
public enum StatisticsStyle: String, Sendable, Hashable, CaseIterable {
    /// For people.
    case text
    /// One JSON object on each line.
    case json
    /// Only where the outputs are, at the end.
    case none
}
