import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads a name and a password: `NAME:PASSWORD`, or `@FILE` whose first line is that, since every user of a machine
/// can see the command lines of all.
enum LoginOption {
    static func parse(_ text: String, option: String) throws(OptionError) -> (name: String, password: String) {
        var line = text
        if text.hasPrefix("@") {
            guard let read = firstLine(of: String(text.dropFirst())) else {
                throw OptionError(option, text, "the file cannot be read: \(String(cString: strerror(errno))).")
            }
            line = read
        }
        // What was given may be a password, and is not shown.
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw OptionError(option, nil, "give NAME:PASSWORD, or @FILE with that in its first line.")
        }
        return (String(line[..<colon]), String(line[line.index(after: colon)...]))
    }

    private static func firstLine(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        guard getline(&line, &capacity, file) >= 0, let line else { return "" }
        return String(String(cString: line).prefix { !$0.isNewline })
    }
}
