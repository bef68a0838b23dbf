/// A `Content-Type`, parsed leniently: `multipart/x-mixed-replace; boundary="--x";` and the like.
package struct ContentType: Hashable {
    /// The type, as in `image/jpeg`, in lower case.
    package let name: String
    /// The parameter `boundary`, without quotes; nil without one.
    package let boundary: [UInt8]?

    package init(_ text: ArraySlice<UInt8>) {
        let parts = ContentType.split(text)
        name = String(decoding: (parts.first ?? []).map(ASCII.lowercased), as: UTF8.self)
        var boundary: [UInt8]?
        for part in parts.dropFirst() {
            guard let equals = part.firstIndex(of: ASCII.equals),
                ASCII.equal(ASCII.trimmed(part[..<equals]), "boundary")
            else { continue }
            let value = ContentType.unquoted(ASCII.trimmed(part[(equals + 1)...]))
            if !value.isEmpty { boundary = value }
            break
        }
        self.boundary = boundary
    }

    /// Whether the body is a sequence of parts.
    package var isMultipart: Bool { name.hasPrefix("multipart/") }

    /// Whether it is one JPEG image.
    package var isPicture: Bool { ["image/jpeg", "image/jpg", "image/pjpeg"].contains(name) }

    /// Whether the type must be determined from the bytes.
    package var isVague: Bool {
        [
            "", "application/octet-stream", "video/x-motion-jpeg", "video/mjpeg", "video/x-mjpeg", "video/x-jpeg",
            "image/mjpeg", "image/x-mjpeg",
        ].contains(name)
    }

    /// At semicolons outside of quotes.
    private static func split(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = text.startIndex
        var isQuoted = false
        for (index, byte) in zip(text.indices, text) {
            if byte == ASCII.quote { isQuoted.toggle() }
            guard byte == ASCII.semicolon, !isQuoted else { continue }
            parts.append(ASCII.trimmed(text[start..<index]))
            start = index + 1
        }
        parts.append(ASCII.trimmed(text[start...]))
        return parts
    }

    private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.first == ASCII.quote else { return Array(text) }
        var result: [UInt8] = []
        var isEscaped = false
        for byte in text.dropFirst() {
            if !isEscaped, byte == ASCII.quote { break }
            isEscaped = !isEscaped && byte == ASCII.backslash
            if !isEscaped { result.append(byte) }
        }
        return result
    }
}
