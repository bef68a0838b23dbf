import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The pattern of the names of files that follow each other: `film-%03d.webm` has their number, `%Y%m%d-%H%M%S.webm` the
/// time at which each begins, by strftime(3).
///
/// `%3d` and `%03d` are numbers with at least that number of digits; `%d` without any is the day of the month, as for strftime.
struct SplitName: Sendable, Hashable {
    private enum Part: Sendable, Hashable {
        case text(String)
        case number(digits: Int)
        case time(String)
    }

    /// The folder with a slash behind it; empty for the current one.
    private let folder: String
    private let parts: [Part]

    /// Parses a pattern; one without any field gets a number before its extension.
    ///
    /// - Throws: `OptionError` for an unknown field, and for fields in the names of folders.
    init(_ pattern: String) throws(OptionError) {
        let slash = pattern.lastIndex(of: "/")
        folder = slash.map { String(pattern[...$0]) } ?? ""
        guard !folder.contains("%") else {
            throw OptionError("output", pattern, "fields such as %H are for the name of the file, not of its folder.")
        }
        let name = slash.map { pattern[pattern.index(after: $0)...] } ?? pattern[...]
        var parts = try SplitName.parse(name, pattern)
        if !parts.contains(where: { if case .text = $0 { false } else { true } }), case .text(let whole)? = parts.first
        {
            let dot = whole.lastIndex(of: ".") ?? whole.endIndex
            parts = [.text(whole[..<dot] + "-"), .number(digits: 3), .text(String(whole[dot...]))]
        }
        self.parts = parts
    }

    private static func parse(_ name: Substring, _ pattern: String) throws(OptionError) -> [Part] {
        var parts: [Part] = []
        var text = ""
        func flush() { if !text.isEmpty { parts.append(.text(text)) } }
        var rest = name
        while let character = rest.popFirst() {
            guard character == "%" else {
                text.append(character)
                continue
            }
            let width = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(width.count)
            switch rest.popFirst() {
            case "%" where width.isEmpty: text.append("%")
            case "d" where !width.isEmpty:
                flush()
                text = ""
                parts.append(.number(digits: min(Int(width) ?? 3, 18)))
            case let field? where width.isEmpty && "YmdHMSjyFTsbazeuV".contains(field):
                flush()
                text = ""
                parts.append(.time("%\(field)"))
            default:
                throw OptionError(
                    "output", pattern,
                    "there is such a field neither for numbers (%03d) nor for times (%Y, %m, %d, %H, %M, %S, %s); "
                        + "a percent sign is %%.")
            }
        }
        flush()
        return parts
    }

    /// Whether names have a number, so that each is another one.
    var hasNumber: Bool { parts.contains { if case .number = $0 { true } else { false } } }

    /// The path of a file.
    ///
    /// - Parameters:
    ///   - number: its number.
    ///   - time: when it begins, in seconds since 1970.
    func path(number: Int, time: Int64) -> String {
        var clock = time_t(time)
        var fields = tm()
        localtime_r(&clock, &fields)
        return folder
            + parts.map { part in
                switch part {
                case .text(let text): return text
                case .number(let digits):
                    let text = String(number)
                    return String(repeating: "0", count: max(0, digits - text.count)) + text
                case .time(let field):
                    var buffer = [CChar](repeating: 0, count: 64)
                    let count = strftime(&buffer, buffer.count, field, &fields)
                    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
                }
            }.joined()
    }

    /// A file of the folder that this pattern has named.
    struct File: Sendable {
        var path: String
        var bytes: Int64
        /// When it was changed last, in nanoseconds since 1970.
        var changed: Int64
        var number: Int?
    }

    /// The regular files that the pattern may have named, in this run or an earlier one, the oldest first.
    func existingFiles() -> [File] {
        guard let directory = opendir(folder.isEmpty ? "." : folder) else { return [] }
        defer { closedir(directory) }
        var files: [File] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let number = match(name[...], parts[...]) else { continue }
            var status = stat()
            guard lstat(folder + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            files.append(
                File(
                    path: folder + name, bytes: Int64(status.st_size), changed: nanoseconds(of: status.st_mtim),
                    number: number < 0 ? nil : number))
        }
        return files.sorted { ($0.changed, $0.number ?? 0) < ($1.changed, $1.number ?? 0) }
    }

    /// The number in a name, -1 for none; nil when the pattern does not make such a name.
    private func match(_ name: Substring, _ parts: ArraySlice<Part>) -> Int? {
        guard let part = parts.first else { return name.isEmpty ? -1 : nil }
        let rest = parts.dropFirst()
        if case .text(let text) = part {
            return name.hasPrefix(text) ? match(name.dropFirst(text.count), rest) : nil
        }
        // A field is as long as what follows allows.
        var isNumber = false
        if case .number = part { isNumber = true }
        let longest = name.prefix { $0.isASCII && ($0.isNumber || !isNumber && ($0.isLetter || "+-:".contains($0))) }
            .count
        for length in stride(from: longest, to: 0, by: -1) {
            guard let found = match(name.dropFirst(length), rest) else { continue }
            guard isNumber else { return found }
            return Int(name.prefix(length)).map { max($0, found) } ?? found
        }
        return nil
    }
}
