/// A JSON value (RFC 8259) with the members of objects in a fixed order.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// With a fixed number of decimals; `null` for what JSON has no number for.
    case number(Double, decimals: Int = 6)
    case string(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])

    package static func count(_ value: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: value)) }

    /// On one line, without spaces.
    package var text: String { text(space: "") }

    /// On one line.
    ///
    /// - Parameter space: what stands behind each comma and colon.
    package func text(space: String) -> String {
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

/// `value` with a fixed number of decimals: `fixed(3.14159, 2)` is `3.14`.
package func fixed(_ value: Double, _ decimals: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "?" }
    let scale = (0..<decimals).reduce(Int64(1)) { scale, _ in scale * 10 }
    // The fraction is formatted separately: the whole number in units of its last decimal may exceed 64 bits.
    var whole = Int64(abs(value))
    var fraction = Int64(((abs(value) - Double(whole)) * Double(scale)).rounded())
    if fraction == scale { (whole, fraction) = (whole + 1, 0) }
    let sign = value < 0 && (whole, fraction) > (0, 0) ? "-" : ""
    guard decimals > 0 else { return "\(sign)\(whole)" }
    let digits = String(fraction)
    return "\(sign)\(whole)." + String(repeating: "0", count: decimals - digits.count) + digits
}
