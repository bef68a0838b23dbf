/// Reads a number of digits with an optional fraction, `12` or `0.5`, as a multiple of 10⁻ⁿ, where n is `decimals`.
/// Nil for signs, spaces, exponents, further decimals, and what does not fit.
func parseDecimal(_ text: Substring, decimals: Int) -> Int64? {
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

/// Reads a whole number of digits only; nil for anything else and for what does not fit.
func parseDigits<Value: FixedWidthInteger>(_ text: String, as type: Value.Type = Value.self) -> Value? {
    isDigits(text[...]) ? Value(text) : nil
}

private func isDigits(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) }
}
