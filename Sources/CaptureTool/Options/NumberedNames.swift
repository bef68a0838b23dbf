/// The names of numbered pictures: `picture%03d.png`, as FFmpeg reads them.
struct NumberedNames {
    private let prefix: String
    private let digits: Int
    private let suffix: String

    /// Nil for a text without exactly one number to be filled in.
    init?(_ pattern: String) {
        // `%%` stands for a percent sign.
        let parts = pattern.split(separator: "%%", omittingEmptySubsequences: false)
            .map { $0.split(separator: "%", omittingEmptySubsequences: false) }
        guard let place = parts.firstIndex(where: { $0.count > 1 }), parts.allSatisfy({ $0.count <= 2 }),
            parts.filter({ $0.count > 1 }).count == 1
        else { return nil }
        let (before, after) = (parts[place][0], parts[place][1])
        let width = after.prefix { ("0"..."9").contains($0) }
        guard after.dropFirst(width.count).first == "d", width.count < 3 else { return nil }
        prefix = (parts[..<place].map { String($0[0]) } + [String(before)]).joined(separator: "%")
        suffix = ([String(after.dropFirst(width.count + 1))] + parts[(place + 1)...].map { String($0[0]) })
            .joined(separator: "%")
        digits = Int(width) ?? 0
    }

    /// The name with a number.
    func name(_ number: Int) -> String {
        let text = "\(number)"
        return prefix + String(repeating: "0", count: max(0, digits - text.count)) + text + suffix
    }

    /// What `look` gives for the pictures that there are: from the first one, whose number is at most 1000, to the last
    /// before a gap.
    func existing<Value>(_ look: (String) -> Value?) -> [Value] {
        guard let first = (0...1000).first(where: { look(name($0)) != nil }) else { return [] }
        var found: [Value] = []
        while let value = look(name(first + found.count)) { found.append(value) }
        return found
    }
}
