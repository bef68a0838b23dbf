import NIOCore

extension ByteBuffer {
    /// Appends a number in decimal digits, without making a string.
    mutating func writeDecimal(_ value: Int) {
        if value < 0 { writeInteger(UInt8(ascii: "-")) }
        writeDigits(UInt64(value.magnitude), atLeast: 1)
    }

    /// Appends a time in seconds with six decimals.
    mutating func writeSeconds(nanoseconds: Int64) {
        if nanoseconds < 0 { writeInteger(UInt8(ascii: "-")) }
        let microseconds = nanoseconds.magnitude / 1000
        writeDigits(microseconds / 1_000_000, atLeast: 1)
        writeInteger(UInt8(ascii: "."))
        writeDigits(microseconds % 1_000_000, atLeast: 6)
    }

    private mutating func writeDigits(_ value: UInt64, atLeast least: Int) {
        var count = 1
        var limit: UInt64 = 10
        // 20 digits are the most that 64 bits have.
        while count < 20, value >= limit {
            count += 1
            limit = limit.multipliedReportingOverflow(by: 10).overflow ? .max : limit * 10
        }
        count = max(count, least)
        var rest = value
        writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            for index in stride(from: count - 1, through: 0, by: -1) {
                bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return count
        }
    }
}
