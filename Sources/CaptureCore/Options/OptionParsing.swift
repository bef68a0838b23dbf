/// Digits with an optional fraction, `12` or `0.5`, as a multiple of 10⁻ⁿ, where n is `decimals`; nil for signs, spaces,
/// exponents, more decimals, and overflow.
package func parseDecimal(_ text: Substring, decimals: Int) -> Int64? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, isDigits(whole), var value = Int64(whole) else { return nil }
    let fraction = parts.count == 2 ? parts[1] : ""
    guard parts.count == 1 || isDigits(fraction), fraction.utf8.count <= decimals else { return nil }
    let digits = Array(fraction.utf8) + [UInt8](repeating: 48, count: decimals - fraction.utf8.count)
    for digit in digits {
        let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) = shifted.addingReportingOverflow(Int64(digit - 48))
        guard !overflow, !carry else { return nil }
        value = sum
    }
    return value
}

/// A whole number that consists of digits only; nil for anything else, and for overflow.
package func parseDigits<Value: FixedWidthInteger>(_ text: String, as type: Value.Type = Value.self) -> Value? {
    isDigits(text[...]) ? Value(text) : nil
}

private func isDigits(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) }
}

/// A time in seconds, with the unit `ms`, `s`, `m`, `h` or `d`, or by the clock (`1:30`, `00:01:30`); nil for anything
/// else, and for more than a year.
package func parseTime(_ text: String) -> Duration? {
    let units: [(suffix: String, nanoseconds: Int64, decimals: Int)] = [
        ("ms", 1, 6), ("sec", 1, 9), ("s", 1, 9), ("min", 60, 9), ("m", 60, 9), ("h", 3600, 9), ("d", 86_400, 9),
        ("", 1, 9),
    ]
    if text.contains(":") { return parseClock(text) }
    guard let unit = units.first(where: { text.hasSuffix($0.suffix) }),
        let value = parseDecimal(text.dropLast(unit.suffix.count), decimals: unit.decimals)
    else { return nil }
    let (nanoseconds, overflow) = value.multipliedReportingOverflow(by: unit.nanoseconds)
    // More than a year is a typing error.
    guard !overflow, nanoseconds <= 366 * 86_400 * 1_000_000_000 else { return nil }
    return .nanoseconds(nanoseconds)
}

/// `MINUTES:SECONDS` or `HOURS:MINUTES:SECONDS`, the seconds with an optional fraction.
private func parseClock(_ text: String) -> Duration? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let seconds = parseDecimal(parts[parts.count - 1], decimals: 9),
        seconds < 60_000_000_000
    else { return nil }
    var minutes: Int64 = 0
    for (index, part) in parts.dropLast().enumerated() {
        guard let value = parseDigits(String(part), as: Int64.self), index == 0 || value < 60, value <= 1_000_000
        else { return nil }
        minutes = minutes * 60 + value
    }
    guard minutes <= 366 * 1440 else { return nil }
    return .seconds(minutes * 60) + .nanoseconds(seconds)
}

/// A number without the unit that people write behind it, in any letter case: `30 fps` without `fps`.
package func withoutUnit(_ text: String, _ units: [String]) -> String {
    guard let unit = units.first(where: { text.lowercased().hasSuffix($0) }) else { return text }
    var number = text.dropLast(unit.count)
    while number.last == " " { number.removeLast() }
    return String(number)
}

/// A number of bytes: `500MB`, `1.5G`, `2GiB`; nil for anything else.
package func parseBytes(_ text: String) -> Int64? {
    var word = text.lowercased()[...]
    var isBinary = false
    if word.hasSuffix("ib") {
        isBinary = true
        word = word.dropLast(2)
    } else if word.hasSuffix("b") {
        word = word.dropLast()
    }
    let power = word.last.flatMap { "kmgt".firstIndex(of: $0) }.map {
        "kmgt".distance(from: "kmgt".startIndex, to: $0) + 1
    }
    guard power != nil || !isBinary else { return nil }
    // In thousandths, so that 1.5G is exact.
    guard let thousandths = parseDecimal(power == nil ? word : word.dropLast(), decimals: 3) else { return nil }
    let unit = (0..<(power ?? 0)).reduce(Int64(1)) { unit, _ in unit * (isBinary ? 1024 : 1000) }
    let (product, overflow) = thousandths.multipliedReportingOverflow(by: unit)
    return overflow ? nil : product / 1000
}
