import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The pattern of a file name: text with at most one number (`%03d`) and any number of times by strftime(3) (`%H%M%S`).
///
/// `%d` without digits is the day of the month in a name that has a month as well (`%m`, `%b`), and a number elsewhere.
package struct FileNamePattern: Sendable, Hashable {
    package enum Part: Sendable, Hashable {
        case text(String)
        /// A number with at least `width` characters, filled with zeros or spaces.
        case number(width: Int, isPadded: Bool)
        case time(TimeField)
    }

    /// Why a text is not a pattern.
    package enum Fault: Error {
        /// Neither a number nor a time.
        case unknownField
        case severalNumbers
    }

    package private(set) var parts: [Part] = []

    /// Parses a pattern, without a null character.
    package init(_ text: some StringProtocol) throws(Fault) {
        var plain = ""
        func flush(_ parts: inout [Part]) {
            if !plain.isEmpty { parts.append(.text(plain)) }
            plain = ""
        }
        var rest = Substring(text)
        while let character = rest.popFirst() {
            guard character == "%" else {
                plain.append(character)
                continue
            }
            let width = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(width.count)
            let letter = rest.popFirst()
            if letter == "%", width.isEmpty {
                plain.append("%")
                continue
            }
            flush(&parts)
            if letter == "d", width.utf8.count <= 2 {
                parts.append(.number(width: Int(width) ?? 0, isPadded: width.hasPrefix("0")))
            } else if width.isEmpty, let letter, let fields = TimeField.parts(letter) {
                parts += fields
            } else {
                throw .unknownField
            }
        }
        flush(&parts)
        if parts.contains(where: { $0 == .time(.month) || $0 == .time(.monthName) }) {
            parts = parts.map { $0 == .number(width: 0, isPadded: false) ? .time(.day) : $0 }
        }
        guard parts.count(where: \.isNumber) <= 1 else { throw .severalNumbers }
    }

    /// The pattern of a name without fields, with a number before its extension.
    init(numbering name: String) {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        parts = [.text(name[..<dot] + "-"), .number(width: 3, isPadded: true), .text(String(name[dot...]))]
    }

    /// Has numbers filled with zeros whatever their fields say: `%3d` as `%03d`.
    mutating func fillWithZeros() {
        parts = parts.map { if case .number(let width, _) = $0 { .number(width: width, isPadded: true) } else { $0 } }
    }

    package var hasNumber: Bool { parts.contains(where: \.isNumber) }
    package var hasTime: Bool { parts.contains { if case .time = $0 { true } else { false } } }

    /// The name of a file.
    ///
    /// - Parameters:
    ///   - number: its number.
    ///   - time: in seconds since 1970.
    package func name(number: Int, time: Int64) -> String {
        var clock = time_t(time)
        var fields = tm()
        localtime_r(&clock, &fields)
        return parts.map { part in
            switch part {
            case .text(let text): return text
            case .number(let width, let isPadded):
                let digits = String(number)
                return String(repeating: isPadded ? "0" : " ", count: max(0, width - digits.utf8.count)) + digits
            case .time(let field): return field.text(&fields)
            }
        }.joined()
    }

    // MARK: Names of files

    /// More digits are no number of ours, and would overflow.
    private static let maximumDigits = 15

    /// The number in a name that this pattern makes, -1 for a pattern without one; nil for every other name.
    ///
    /// Each field matches exactly what ``name(number:time:)`` writes, and has a fixed length but for the number, so that
    /// no name costs more than one pass for each length of that.
    func number(in name: ArraySlice<UInt8>) -> Int? {
        guard let index = parts.firstIndex(where: \.isNumber), case .number(let width, let isPadded) = parts[index]
        else {
            return FileNamePattern.rest(of: name, after: parts[...])?.isEmpty == true ? -1 : nil
        }
        guard let rest = FileNamePattern.rest(of: name, after: parts[..<index]) else { return nil }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let minimum = max(1, width)
        let most = min(digits.count, FileNamePattern.maximumDigits)
        guard isPadded || width <= 1, minimum <= most else { return nil }
        for count in minimum...most {
            // Only as many zeros as fill it up.
            if count > minimum, rest.first == UInt8(ascii: "0") { return nil }
            guard FileNamePattern.rest(of: rest.dropFirst(count), after: parts[(index + 1)...])?.isEmpty == true else {
                continue
            }
            return rest.prefix(count).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        return nil
    }

    /// What follows the parts, which are text and times; nil when the name does not begin with them.
    private static func rest(of name: ArraySlice<UInt8>, after parts: ArraySlice<Part>) -> ArraySlice<UInt8>? {
        var name = name
        for part in parts {
            switch part {
            case .text(let text):
                guard name.starts(with: text.utf8) else { return nil }
                name = name.dropFirst(text.utf8.count)
            case .time(let field):
                guard let length = field.length(in: name) else { return nil }
                name = name.dropFirst(length)
            case .number: return nil
            }
        }
        return name
    }
}

extension FileNamePattern.Part {
    package var isNumber: Bool { if case .number = self { true } else { false } }
}

/// A part of a time, by its letter in strftime(3).
package enum TimeField: Character, Sendable, Hashable, CaseIterable {
    case year = "Y"
    case yearOfCentury = "y"
    case month = "m"
    case monthName = "b"
    /// `%d` in strftime(3), which is a number in names without a month.
    case day = "D"
    case paddedDay = "e"
    case dayOfYear = "j"
    case week = "V"
    case weekday = "u"
    case weekdayName = "a"
    case hour = "H"
    case minute = "M"
    case second = "S"
    case secondsSince1970 = "s"
    case zone = "z"

    /// The parts that a letter of strftime(3) stands for; nil for an unknown one.
    static func parts(_ letter: Character) -> [FileNamePattern.Part]? {
        switch letter {
        case "D": nil
        case "F": [.time(.year), .text("-"), .time(.month), .text("-"), .time(.day)]
        case "T": [.time(.hour), .text(":"), .time(.minute), .text(":"), .time(.second)]
        default: TimeField(rawValue: letter).map { [.time($0)] }
        }
    }

    func text(_ time: inout tm) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, self == .day ? "%d" : "%\(rawValue)", &time)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The length of this field at the beginning of a name; nil where there is not one.
    func length(in name: ArraySlice<UInt8>) -> Int? {
        switch self {
        case .year: TimeField.digits(4, 0...9999, name)
        case .yearOfCentury: TimeField.digits(2, 0...99, name)
        case .month: TimeField.digits(2, 1...12, name)
        case .day: TimeField.digits(2, 1...31, name)
        case .paddedDay:
            name.first == UInt8(ascii: " ")
                ? TimeField.digits(1, 1...9, name.dropFirst()).map { $0 + 1 } : TimeField.digits(2, 10...31, name)
        case .dayOfYear: TimeField.digits(3, 1...366, name)
        case .week: TimeField.digits(2, 1...53, name)
        case .weekday: TimeField.digits(1, 1...7, name)
        case .hour: TimeField.digits(2, 0...23, name)
        case .minute: TimeField.digits(2, 0...59, name)
        case .second: TimeField.digits(2, 0...60, name)
        // From 2001 to 2286.
        case .secondsSince1970: TimeField.digits(10, 1_000_000_000...9_999_999_999, name)
        case .zone:
            name.first == UInt8(ascii: "+") || name.first == UInt8(ascii: "-")
                ? TimeField.digits(4, 0...1459, name.dropFirst()).map { $0 + 1 } : nil
        case .monthName: named(in: name, 12) { $0.tm_mon = $1 }
        case .weekdayName: named(in: name, 7) { $0.tm_wday = $1 }
        }
    }

    /// The longest of the names, in the language of the program, with which a file's name begins.
    private func named(in name: ArraySlice<UInt8>, _ count: Int32, _ set: (inout tm, Int32) -> Void) -> Int? {
        (0..<count).compactMap { index -> Int? in
            var time = tm()
            time.tm_mday = 1
            set(&time, index)
            let text = text(&time)
            return !text.isEmpty && name.starts(with: text.utf8) ? text.utf8.count : nil
        }.max()
    }

    private static func digits(_ count: Int, _ range: ClosedRange<Int>, _ name: ArraySlice<UInt8>) -> Int? {
        let digits = name.prefix(count)
        guard digits.count == count, digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
            return nil
        }
        let value = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(value) ? count : nil
    }
}
