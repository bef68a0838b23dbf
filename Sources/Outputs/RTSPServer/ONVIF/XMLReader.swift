/// An element of an XML document with its namespace (Namespaces in XML 1.0).
struct XMLElement: Sendable, Hashable {
    var namespace: String
    var name: String
    /// The values of the attributes by their names without prefixes.
    var attributes: [String: String] = [:]
    /// The text between the tags, without that of the children.
    var text = ""
    var children: [XMLElement] = []

    /// The first child of a name; nil without one.
    subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

    /// The text without the whitespace at its ends.
    var trimmedText: String {
        let isSpace = { (character: Character) in character.isWhitespace }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}

/// A strict reader for small documents of strangers: no document types, so no entities but the five of XML itself, no
/// processing instructions and no CDATA sections; limits on depth and on the number of elements.
struct XMLReader {
    /// Why a document was not read.
    enum Failure: Error, Sendable, Hashable {
        /// It is not well-formed, or uses a part of XML that is refused.
        case malformed
        /// It has too many elements or attributes, or they are nested too deep.
        case tooLarge
    }

    static let maximumDepth = 32
    static let maximumElements = 1024
    static let maximumAttributes = 32

    private struct Open {
        var element: XMLElement
        var tag: String
        /// The namespaces by their prefixes; that without a prefix as "".
        var scope: [String: String]
    }

    private let bytes: [UInt8]
    private var index = 0
    private var stack: [Open] = []
    private var elements = 0

    /// The root element of a document in UTF-8.
    static func read(_ bytes: [UInt8]) throws(Failure) -> XMLElement {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
        var reader = XMLReader(bytes: bytes)
        return try reader.document()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func document() throws(Failure) -> XMLElement {
        _ = skip("\u{FEFF}")
        if skip("<?xml ") { try skipPast("?>") }
        var root: XMLElement?
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "<") else {
                let text = try decode(upTo: UInt8(ascii: "<"))
                if !stack.isEmpty {
                    stack[stack.count - 1].element.text += text
                } else if !text.allSatisfy(\.isWhitespace) {
                    throw .malformed
                }
                continue
            }
            if skip("<!--") {
                try skipPast("-->")
            } else if skip("</") {
                let tag = try name()
                skipSpace()
                guard skip(">"), let open = stack.popLast(), open.tag == tag else { throw .malformed }
                close(open.element, &root)
            } else if root == nil {
                try startTag(&root)
            } else {
                throw .malformed
            }
        }
        guard let root, stack.isEmpty else { throw .malformed }
        return root
    }

    private mutating func close(_ element: XMLElement, _ root: inout XMLElement?) {
        if stack.isEmpty {
            root = element
        } else {
            stack[stack.count - 1].element.children.append(element)
        }
    }

    private mutating func startTag(_ root: inout XMLElement?) throws(Failure) {
        index += 1
        elements += 1
        guard elements <= XMLReader.maximumElements, stack.count < XMLReader.maximumDepth else { throw .tooLarge }
        let tag = try name()
        var scope = stack.last?.scope ?? [:]
        var attributes: [String: String] = [:]
        while true {
            let before = index
            skipSpace()
            if skip("/>") || skip(">") { break }
            guard index > before else { throw .malformed }
            let key = try name()
            skipSpace()
            guard skip("=") else { throw .malformed }
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") else {
                throw .malformed
            }
            let quote = bytes[index]
            index += 1
            let value = try decode(upTo: quote)
            index += 1
            guard attributes.updateValue(value, forKey: key) == nil else { throw .malformed }
            guard attributes.count <= XMLReader.maximumAttributes else { throw .tooLarge }
            if key == "xmlns" { scope[""] = value }
            if key.hasPrefix("xmlns:") { scope[String(key.dropFirst(6))] = value }
        }
        let isEmpty = bytes[index - 2] == UInt8(ascii: "/")
        let parts = tag.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { throw .malformed }
        let prefix = parts.count == 2 ? String(parts[0]) : ""
        guard let namespace = scope[prefix] ?? (prefix.isEmpty ? "" : nil) else { throw .malformed }
        var element = XMLElement(namespace: namespace, name: String(parts[parts.count - 1]))
        for (key, value) in attributes where !key.hasPrefix("xmlns") {
            element.attributes[key.split(separator: ":").last.map(String.init) ?? key] = value
        }
        if isEmpty { close(element, &root) } else { stack.append(Open(element: element, tag: tag, scope: scope)) }
    }

    private mutating func name() throws(Failure) -> String {
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"),
                UInt8(ascii: ":"), 0x80...:
                break
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                guard index > start else { throw .malformed }
            default:
                guard index > start else { throw .malformed }
                return String(decoding: bytes[start..<index], as: UTF8.self)
            }
            index += 1
        }
        throw .malformed
    }

    /// The text up to a byte, or to the end of the document, with its references replaced.
    private mutating func decode(upTo end: UInt8) throws(Failure) -> String {
        var result: [UInt8] = []
        while index < bytes.count, bytes[index] != end {
            switch bytes[index] {
            case UInt8(ascii: "&"):
                guard let stop = bytes[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw .malformed }
                let reference = String(decoding: bytes[index + 1..<stop], as: UTF8.self)
                guard let character = XMLReader.character(reference) else { throw .malformed }
                result += Array(String(character).utf8)
                index = stop + 1
            case UInt8(ascii: "<"), 0..<9, 11, 12, 14..<32: throw .malformed
            default:
                result.append(bytes[index])
                index += 1
            }
        }
        guard index < bytes.count || end == UInt8(ascii: "<") else { throw .malformed }
        return String(decoding: result, as: UTF8.self)
    }

    private static func character(_ reference: String) -> Character? {
        let named: [String: Character] = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"]
        guard reference.hasPrefix("#") else { return named[reference] }
        let isHex = reference.hasPrefix("#x")
        let digits = reference.dropFirst(isHex ? 2 : 1)
        guard digits.utf8.first.map({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) == true,
            let number = UInt32(digits, radix: isHex ? 16 : 10), let scalar = Unicode.Scalar(number),
            number >= 32 || [9, 10, 13].contains(number)
        else { return nil }
        return Character(scalar)
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            guard bytes[index...].starts(with: text) else { return false }
            index += text.count
            return true
        }
    }

    private mutating func skipSpace() {
        while index < bytes.count, [9, 10, 13, 32].contains(bytes[index]) { index += 1 }
    }

    private mutating func skipPast(_ text: StaticString) throws(Failure) {
        while index < bytes.count {
            if skip(text) { return }
            index += 1
        }
        throw .malformed
    }
}

/// A text with the characters replaced that have a meaning in XML, and without those that XML cannot have.
func xmlText(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars where scalar.value >= 32 {
        switch scalar {
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case "&": result += "&amp;"
        case "\"": result += "&quot;"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
