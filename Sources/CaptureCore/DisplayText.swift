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

extension FrameRate {
    /// The rate to show: `30`, `12.5`, `29.97`; rounded to thousandths.
    package var text: String {
        let thousandths = (Int64(frames) * 1000 + Int64(seconds) / 2) / Int64(seconds)
        guard thousandths > 0 else { return description }
        var fraction = String(thousandths % 1000 + 1000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(thousandths / 1000)\(fraction.isEmpty ? "" : ".")\(fraction)"
    }
}

/// A count with a decimal prefix, three digits at least: `998 kB`, `1.02 MB`.
package func scaled(_ value: Double, _ unit: String) -> String {
    let prefixes = ["", "k", "M", "G", "T"]
    var value = value
    var index = 0
    while value >= 999.5, index < prefixes.count - 1 {
        value /= 1000
        index += 1
    }
    let decimals = index == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
    return "\(fixed(value, decimals)) \(prefixes[index])\(unit)"
}

/// Minutes and seconds, with hours where there are any: `01:05`, `2:00:00`.
package func clockText(_ time: Duration) -> String {
    let seconds = max(0, time.components.seconds)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let rest = "\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    return seconds >= 3600 ? "\(seconds / 3600):\(rest)" : rest
}

/// Milliseconds with as many digits as matter: `0.4`, `12`.
package func milliseconds(_ time: Duration) -> String {
    let value = time.seconds * 1000
    return fixed(value, value < 9.95 ? 1 : 0)
}

/// Quotes a path as one word for a shell, which no program mistakes for an option.
package func shellQuoted(_ path: String) -> String {
    let path = path.hasPrefix("-") ? "./\(path)" : path
    let isPlain = path.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_./+,:@%".utf8.contains(byte)
        }
    }
    guard !isPlain else { return path }
    return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
