/// The fields of Digest credentials: `name=value` or `name="value"`, separated by commas.
package struct DigestFields {
    private var fields: [String: String] = [:]

    /// Reads the text behind the word `Digest`; anything but fields is left out.
    package init(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        var index = 0
        func skip(_ letters: Set<UInt8>) { while index < bytes.count, letters.contains(bytes[index]) { index += 1 } }
        while true {
            skip([0x20, 0x09, UInt8(ascii: ",")])
            let start = index
            while index < bytes.count, bytes[index] != UInt8(ascii: "=") { index += 1 }
            guard index < bytes.count else { return }
            let name = String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
            index += 1
            var value: [UInt8] = []
            if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                index += 1
                while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                    if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
                    value.append(bytes[index])
                    index += 1
                }
                index += 1
            } else {
                while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != 0x20 {
                    value.append(bytes[index])
                    index += 1
                }
            }
            // The first one counts; no client sends two of the same name.
            if fields[name] == nil { fields[name] = String(decoding: value, as: UTF8.self) }
        }
    }

    /// The value of a field; nil without it.
    package subscript(name: String) -> String? { fields[name] }
}
