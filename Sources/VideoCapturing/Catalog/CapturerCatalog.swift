/// The capturers that a program offers, by name and by URL scheme: a value that the program makes, so that it links
/// only what it lists.
///
/// ```swift
/// let catalog = CapturerCatalog([
///     CapturerEntry(name: "noise", summary: "White noise.") { request in
///         NoiseCapturer(format: request.format(default: .nv12(width: 640, height: 480)))
///     }
/// ])
/// let capture = try catalog.entry(named: "noise")?.makeCapture(CaptureRequest())
/// ```
public struct CapturerCatalog: Sendable {
    /// The capturers, in the order in which they are to be shown.
    public let entries: [CapturerEntry]

    /// Names and schemes are to be unique; the first of two with the same name is found.
    public init(_ entries: [CapturerEntry]) {
        self.entries = entries
    }

    /// The names, in order.
    public var names: [String] { entries.map(\.name) }

    /// The capturer of that name; upper and lower case are the same.
    public func entry(named name: String) -> CapturerEntry? {
        let name = name.lowercased()
        return entries.first { $0.name.lowercased() == name }
    }

    /// The capturer that serves the URL's scheme, as `http` in `http://camera.local/video`; nil for a string without
    /// a scheme, or with one that no capturer serves.
    public func entry(forURL url: String) -> CapturerEntry? {
        guard let scheme = CapturerCatalog.scheme(of: url) else { return nil }
        return entries.first { $0.schemes.contains { $0.lowercased() == scheme } }
    }

    /// The scheme of a URL, in lower case: what comes before the first colon, of letters, digits, `+`, `-` and `.`,
    /// beginning with a letter (RFC 3986, 3.1). Nil when there is none.
    public static func scheme(of url: String) -> String? {
        guard let colon = url.firstIndex(of: ":"), colon > url.startIndex else { return nil }
        let scheme = url[..<colon].lowercased()
        func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte) }
        guard isLetter(scheme.utf8.first!) else { return nil }
        let isScheme = scheme.utf8.allSatisfy { byte in
            isLetter(byte) || (48...57).contains(byte) || [43, 45, 46].contains(byte)
        }
        return isScheme ? scheme : nil
    }
}
