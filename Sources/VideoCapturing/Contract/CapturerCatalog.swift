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

/// One capturer of a ``CapturerCatalog``: what it is called, what it can be told, and how it is made.
public struct CapturerEntry: Sendable {
    /// Something that the capturer can be told in a ``CaptureRequest``.
    public struct Option: Sendable, Hashable {
        /// The name, as a command line has it: `size`, `fps`, `pixel-format`, `input`, `seed`.
        public var name: String
        /// What it means, in a few words.
        public var meaning: String
        /// What is taken when it is left out, in words; nil when it must be given.
        public var defaultValue: String?

        public init(_ name: String, _ meaning: String, default defaultValue: String?) {
            self.name = name
            self.meaning = meaning
            self.defaultValue = defaultValue
        }
    }

    /// The name by which it is chosen; upper and lower case are the same.
    public let name: String
    /// What it captures, in one sentence.
    public let summary: String
    /// The URL schemes that it serves, without the colon; upper and lower case are the same.
    public let schemes: [String]
    /// What it can be told.
    public let options: [Option]

    private let make: @Sendable (CaptureRequest) throws(CaptureError) -> any VideoCapture

    /// - Parameters:
    ///   - name: the name by which it is chosen; upper and lower case are the same.
    ///   - summary: one sentence on what it captures.
    ///   - schemes: the URL schemes that it serves, without the colon; upper and lower case are the same.
    ///   - options: what a ``CaptureRequest`` can tell it.
    ///   - make: makes the capture; it opens nothing yet, `initCapture` does.
    public init(
        name: String, summary: String, schemes: [String] = [], options: [Option] = [],
        make: @escaping @Sendable (CaptureRequest) throws(CaptureError) -> any VideoCapture
    ) {
        self.name = name
        self.summary = summary
        self.schemes = schemes
        self.options = options
        self.make = make
    }

    /// The option of that name; nil when the capturer cannot be told so.
    public func option(named name: String) -> Option? { options.first { $0.name == name } }

    /// A capture as asked for. What does not apply to the capturer is ignored; see ``options``.
    ///
    /// - Throws: `invalidConfiguration` when something that must be given is missing.
    public func makeCapture(_ request: CaptureRequest) throws(CaptureError) -> any VideoCapture {
        try make(request)
    }
}

/// What a program asks of a capturer that it knows by name only. Nil stands for the capturer's own choice.
public struct CaptureRequest: Sendable, Hashable {
    /// The rate that is asked for.
    public enum Rate: Sendable, Hashable {
        /// A number of frames per second.
        case frames(FrameRate)
        /// As fast as consumers take them.
        case maximum
    }

    /// The size in pixels.
    public var size: (width: Int, height: Int)? {
        get { width.flatMap { width in height.map { (width, $0) } } }
        set {
            width = newValue?.width
            height = newValue?.height
        }
    }
    private var width: Int?
    private var height: Int?

    /// How the samples shall lie in memory.
    public var pixelFormat: PixelFormat?
    /// The rate.
    public var rate: Rate?
    /// The device, file or address.
    public var input: String?
    /// What chooses among pictures that are made by chance.
    public var seed: UInt64?
    /// Options that only some capturers know, by name, each with the values that were given for it; a switch that is on
    /// has one empty value.
    public var further: [String: [String]] = [:]

    /// A request that leaves everything to the capturer.
    public init() {}

    /// The format asked for, with what is left open taken from `standard`.
    public func format(default standard: VideoFormat) -> VideoFormat {
        VideoFormat(
            pixelFormat ?? standard.pixelFormat, width: width ?? standard.imageWidth,
            height: height ?? standard.imageHeight, estimatedFramesPerSecond: standard.estimatedFramesPerSecond)
    }

    /// The rate asked for, or `standard`; nil for as fast as consumers take the frames.
    public func frameRate(default standard: FrameRate) -> FrameRate? {
        switch rate {
        case .frames(let rate): rate
        case .maximum: nil
        case nil: standard
        }
    }
}
