import NIOCore

/// Writes JSON (RFC 8259) into a buffer.
struct JSONText {
    private(set) var buffer = ByteBuffer()
    private var needsComma = false

    mutating func object(_ name: String? = nil, _ body: (inout JSONText) -> Void) {
        if let name { begin(name) }
        buffer.writeStaticString("{")
        needsComma = false
        body(&self)
        buffer.writeStaticString("}")
        needsComma = true
    }

    mutating func field(_ name: String, _ value: String) {
        begin(name)
        write(value)
        needsComma = true
    }

    mutating func field(_ name: String, _ value: Bool) { raw(name, value ? "true" : "false") }
    mutating func field(_ name: String, _ value: some BinaryInteger) { raw(name, String(value)) }

    /// With three decimals at most, which is all that these numbers are worth.
    mutating func field(_ name: String, _ value: Double) {
        raw(name, value.isFinite ? "\((value * 1000).rounded() / 1000)" : "0")
    }

    private mutating func raw(_ name: String, _ text: String) {
        begin(name)
        buffer.writeString(text)
        needsComma = true
    }

    private mutating func begin(_ name: String) {
        if needsComma { buffer.writeStaticString(", ") }
        write(name)
        buffer.writeStaticString(": ")
        needsComma = false
    }

    private mutating func write(_ text: String) {
        buffer.writeStaticString("\"")
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": buffer.writeStaticString("\\\"")
            case "\\": buffer.writeStaticString("\\\\")
            case "\n": buffer.writeStaticString("\\n")
            case _ where scalar.value < 0x20 || scalar == "<" || scalar == "\u{7F}":
                // "<" too, so that the text does no harm where a page is made of it.
                buffer.writeStaticString("\\u00")
                buffer.writeString(hexText([UInt8(scalar.value)]))
            default: buffer.writeString(String(scalar))
            }
        }
        buffer.writeStaticString("\"")
    }
}
