/// One line of a head: `Name: value`, parsed leniently. Blanks around both are left out, those before the colon too.
struct HeaderLine {
    let name: ArraySlice<UInt8>
    let value: ArraySlice<UInt8>

    /// Nil for a line without a colon.
    init?(_ line: ArraySlice<UInt8>) {
        guard let colon = line.firstIndex(of: ASCII.colon) else { return nil }
        name = ASCII.trimmed(line[..<colon])
        value = ASCII.trimmed(line[(colon + 1)...])
    }

    func isNamed(_ lowercaseName: StaticString) -> Bool { ASCII.equal(name, lowercaseName) }

    var text: String { String(decoding: value, as: UTF8.self) }
}
