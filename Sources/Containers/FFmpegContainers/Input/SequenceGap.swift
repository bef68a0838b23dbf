import Glibc

/// A picture that is missing in a sequence of numbered files: the library ends there, without an error.
struct SequenceGap: Equatable {
    /// The name of the first file that is missing.
    var missing: String
    /// How many pictures lie behind it.
    var countAfter: Int

    /// The first gap in the numbers of the files that fit a pattern, as in `folder/img%03d.png`; nil when there is none,
    /// or the number is not in the last part of the path.
    static func first(in pattern: String) -> SequenceGap? {
        let slash = pattern.lastIndex(of: "/")
        let folder = slash.map { String(pattern[...$0]) } ?? "."
        let name = slash.map { pattern[pattern.index(after: $0)...] } ?? pattern[...]
        guard let pattern = NumberedName(name) else { return nil }
        let numbers = names(in: folder).compactMap(pattern.number).sorted()
        for (index, number) in numbers.enumerated().dropFirst() where number > numbers[index - 1] + 1 {
            return SequenceGap(missing: pattern.name(numbers[index - 1] + 1), countAfter: numbers.count - index)
        }
        return nil
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
                })
        }
        return names
    }
}

/// A file's name with a number in it, `%d` or `%03d`; `%%` stands for a percent sign.
private struct NumberedName {
    private let before: String
    private let after: String
    private let leastDigits: Int

    /// Nil unless there is exactly one number.
    init?(_ pattern: Substring) {
        var parts = [""]
        var digits = 0
        var rest = pattern
        while let character = rest.popFirst() {
            guard character == "%" else {
                parts[parts.count - 1].append(character)
                continue
            }
            let width = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(width.count)
            switch rest.popFirst() {
            case "%": parts[parts.count - 1].append("%")
            case "d":
                digits = Int(width) ?? 0
                parts.append("")
            default: return nil
            }
        }
        guard parts.count == 2 else { return nil }
        before = parts[0]
        after = parts[1]
        leastDigits = min(digits, 255)
    }

    func name(_ number: Int) -> String {
        let digits = String(number)
        return before + String(repeating: "0", count: max(0, leastDigits - digits.count)) + digits + after
    }

    /// The number in a file's name; nil when the name does not fit, or has another number of digits.
    func number(_ text: String) -> Int? {
        guard text.hasPrefix(before), text.hasSuffix(after), text.utf8.count > before.utf8.count + after.utf8.count,
            let number = Int32(text.dropFirst(before.count).dropLast(after.count)), number >= 0,
            name(Int(number)) == text
        else { return nil }
        return Int(number)
    }
}
