/// The command line: a command, then `--name value` and `--flag`.
struct Arguments {
    let command: String
    private var words: [String]

    init(_ words: some Collection<String>) throws {
        guard let command = words.first else { throw UsageError("name a command; see capturer-bench help") }
        self.command = command
        self.words = Array(words.dropFirst())
    }

    /// Takes `--name` out; whether it was there.
    mutating func flag(_ name: String) -> Bool {
        guard let index = words.firstIndex(of: "--\(name)") else { return false }
        words.remove(at: index)
        return true
    }

    /// Takes `--name value` out.
    mutating func value(_ name: String) throws -> String? {
        guard let index = words.firstIndex(of: "--\(name)") else { return nil }
        guard index + 1 < words.count else { throw UsageError("--\(name) needs a value") }
        defer { words.removeSubrange(index...index + 1) }
        return words[index + 1]
    }

    mutating func required(_ name: String) throws -> String {
        guard let value = try value(name) else { throw UsageError("\(command) needs --\(name)") }
        return value
    }

    /// A whole number above zero.
    mutating func count(_ name: String, default standard: Int) throws -> Int {
        guard let text = try value(name) else { return standard }
        guard let number = Int(text), number > 0 else { throw UsageError("--\(name) is a number above zero") }
        return number
    }

    /// `--size WxH`.
    mutating func size() throws -> (width: Int, height: Int) {
        let sides = try required("size").split(separator: "x").compactMap { Int($0) }
        guard sides.count == 2 else { throw UsageError("--size is WIDTHxHEIGHT") }
        return (sides[0], sides[1])
    }

    /// Throws when a word was left over.
    func finish() throws {
        if let word = words.first { throw UsageError("\(command) does not know \(word)") }
    }
}

struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// How long to measure.
struct Effort {
    let isQuick: Bool

    init(_ arguments: inout Arguments) {
        isQuick = arguments.flag("quick")
    }

    /// How often everything has its turn.
    var rounds: Int { isQuick ? 3 : 9 }

    /// A number of frames, a fifth of it when it must be quick.
    func frames(_ count: Int) -> Int { isQuick ? count / 5 : count }
}
