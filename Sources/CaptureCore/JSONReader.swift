extension JSONValue {
    /// Reads a whole text (RFC 8259).
    ///
    /// Bounded by the text: the result is no larger than a constant times the text, and values may be nested 64 deep.
    ///
    /// - Returns: nil for text that is not JSON. Numbers that are not whole, or beyond 63 bits, are ``number(_:decimals:)``.
    package init?(reading text: some Sequence<UInt8>) {
        var reader = JSONReader(bytes: Array(text))
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipBlanks()
        guard reader.isAtEnd else { return nil }
        self = value
    }

    /// The first member with this name; nil without one, and for a value that is not an object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// Nil for a value that is not text.
    package var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// Nil for a value that is not a whole number.
    package var integerValue: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// Nil for a value that is neither true nor false.
    package var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// Empty for a value that is not an array.
    package var elements: [JSONValue] {
        guard case .array(let values) = self else { return [] }
        return values
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    private var at = 0
    private static let maximumDepth = 64

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }
    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    mutating func value(depth: Int) -> JSONValue? {
        skipBlanks()
        guard depth < JSONReader.maximumDepth, let byte = next else { return nil }
        switch byte {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let isThere = word.withUTF8Buffer { bytes[at...].starts(with: $0) }
        if isThere { at += word.utf8CodeUnitCount }
        return isThere
    }

    private mutating func object(depth: Int) -> JSONValue? {
        at += 1
        var members: [(name: String, value: JSONValue)] = []
        skipBlanks()
        if take("}") { return .object(members) }
        while true {
            skipBlanks()
            guard next == UInt8(ascii: "\""), let name = string() else { return nil }
            skipBlanks()
            guard take(":"), let value = value(depth: depth + 1) else { return nil }
            members.append((name, value))
            skipBlanks()
            if take("}") { return .object(members) }
            guard take(",") else { return nil }
        }
    }

    private mutating func array(depth: Int) -> JSONValue? {
        at += 1
        var values: [JSONValue] = []
        skipBlanks()
        if take("]") { return .array(values) }
        while true {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
            skipBlanks()
            if take("]") { return .array(values) }
            guard take(",") else { return nil }
        }
    }

    private mutating func string() -> String? {
        at += 1
        var text: [UInt8] = []
        while let byte = next {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text += UTF8.encode(scalar)!
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    /// What stands behind a backslash. Halves of a pair that stand alone become U+FFFD.
    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = unit() else { return nil }
            guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
            let before = at
            guard take("\\u"), let trail = self.unit(), UTF16.isTrailSurrogate(trail) else {
                at = before
                return "\u{FFFD}"
            }
            return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
        default: return nil
        }
    }

    private mutating func unit() -> UInt16? {
        let digits = bytes[at...].prefix(4).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 4 else { return nil }
        at += 4
        return digits.reduce(0) { $0 << 4 | UInt16($1) }
    }

    private mutating func number() -> JSONValue? {
        let start = at
        _ = take("-")
        let digits = skipDigits()
        guard digits > 0, digits == 1 || bytes[at - digits] != UInt8(ascii: "0") else { return nil }
        var isWhole = true
        if take(".") {
            isWhole = false
            guard skipDigits() > 0 else { return nil }
        }
        if take("e") || take("E") {
            isWhole = false
            if !take("+") { _ = take("-") }
            guard skipDigits() > 0 else { return nil }
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        if isWhole, let number = Int64(text) { return .integer(number) }
        return Double(text).map { .number($0) }
    }

    private mutating func skipDigits() -> Int {
        let start = at
        while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
        return at - start
    }
}
