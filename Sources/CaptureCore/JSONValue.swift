/// A JSON value (RFC 8259) with the members of objects in a fixed order.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A number with up to six decimals; `null` where there is no such number.
    case number(Double)
    /// Text.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Members in order.
    case object([(name: String, value: JSONValue)])

    /// A whole number; one beyond 63 bits is the largest of them.
    public static func count(_ value: UInt64) -> JSONValue { .integer(Int64(clamping: value)) }

    /// The value on one line.
    public var text: String {
        var result = ""
        write(to: &result)
        return result
    }

    private func write(to result: inout String) {
        switch self {
        case .null: result += "null"
        case .bool(let value): result += value ? "true" : "false"
        case .integer(let value): result += "\(value)"
        // There is no infinity in JSON.
        case .number(let value): result += value.isFinite && abs(value) < 1e15 ? fixed(value, 6) : "null"
        case .string(let value): JSONValue.write(value, to: &result)
        case .array(let values):
            result += "["
            for (index, value) in values.enumerated() {
                if index > 0 { result += "," }
                value.write(to: &result)
            }
            result += "]"
        case .object(let members):
            result += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { result += "," }
                JSONValue.write(member.name, to: &result)
                result += ":"
                member.value.write(to: &result)
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
            case _ where scalar.isPrintable: result.unicodeScalars.append(scalar)
            // JSON is shown on terminals too.
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
