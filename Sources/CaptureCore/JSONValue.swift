/// A JSON value (RFC 8259) with the members of objects in a fixed order.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// With a fixed number of decimals; `null` for what JSON has no number for.
    case number(Double, decimals: Int = 6)
    /// Text.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Members in order.
    case object([(name: String, value: JSONValue)])

    /// A whole number; one beyond 63 bits is the nearest of them.
    public static func count(_ value: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: value)) }

    /// On one line, without spaces.
    public var text: String { text(space: "") }

    /// On one line.
    ///
    /// - Parameter space: what stands behind each comma and colon.
    public func text(space: String) -> String {
        var result = ""
        write(to: &result, space)
        return result
    }

    private func write(to result: inout String, _ space: String) {
        switch self {
        case .null: result += "null"
        case .bool(let value): result += value ? "true" : "false"
        case .integer(let value): result += "\(value)"
        case .number(let value, let decimals):
            result += value.isFinite && abs(value) < 1e15 ? fixed(value, decimals) : "null"
        case .string(let value): JSONValue.write(value, to: &result)
        case .array(let values):
            result += "["
            for (index, value) in values.enumerated() {
                if index > 0 { result += "," + space }
                value.write(to: &result, space)
            }
            result += "]"
        case .object(let members):
            result += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { result += "," + space }
                JSONValue.write(member.name, to: &result)
                result += ":" + space
                member.value.write(to: &result, space)
            }
            result += "}"
        }
    }

    private static func write(_ text: String, to result: inout String) {
        result += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case _ where scalar.isPrintable && scalar != "<": result.unicodeScalars.append(scalar)
            // JSON is shown on terminals too, and in pages.
            default:
                for unit in UTF16.encode(scalar)! {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        result += "\""
    }
}
