import VideoCapturing

/// `text` as it may go to a terminal: on one line, cut to `limit` characters, without what a terminal would obey or
/// nobody can see, and without the names and passwords in URLs.
func printable(_ text: String, limit: Int) -> String {
    let text = maskingUserInfo(in: text)
    var result = ""
    for scalar in text.unicodeScalars.prefix(limit) {
        result.unicodeScalars.append(scalar.isPrintable ? scalar : "?")
    }
    return text.unicodeScalars.count > limit ? result + "…" : result
}

extension Unicode.Scalar {
    /// Whether it can be seen and does nothing to the text around it. Not so are control characters, ends of lines, and
    /// what sets the direction of text or has no width.
    var isPrintable: Bool {
        if isASCII { return (0x20..<0x7F).contains(value) }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return false
        // Variation selectors follow many an emoji.
        default: return !properties.isDefaultIgnorableCodePoint || properties.isVariationSelector
        }
    }
}
