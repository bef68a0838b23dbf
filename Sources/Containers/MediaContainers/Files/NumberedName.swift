/// The pattern of the names of numbered files, as FFmpeg reads it: `image%d.png`, `image%03d.png`; `%%` is a percent sign.
package struct NumberedName: Sendable, Hashable {
    private let prefix: String
    private let suffix: String
    private let minimumDigits: Int

    /// Parses a pattern; nil unless it contains exactly one number.
    package init?(_ pattern: some StringProtocol) {
        var parts = [""]
        var digits = 0
        var rest = Substring(pattern)
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
        prefix = parts[0]
        suffix = parts[1]
        minimumDigits = min(digits, 255)
    }

    /// The name of the file with a number.
    package func name(_ number: Int) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, minimumDigits - digits.count)) + digits + suffix
    }

    /// The number in a file's name; nil when the name does not match the pattern, or has another number of digits.
    package func number(in name: String) -> Int? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.utf8.count > prefix.utf8.count + suffix.utf8.count,
            let number = Int32(name.dropFirst(prefix.count).dropLast(suffix.count)), number >= 0,
            self.name(Int(number)) == name
        else { return nil }
        return Int(number)
    }
}
