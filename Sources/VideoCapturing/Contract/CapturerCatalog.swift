/// The capturers that a program offers, by name and by URL scheme: a value that the program makes, so that it links
/// only what it lists.
///
/// ```swift
/// let catalog = CapturerCatalog([
///     .noise, .camera,
///     CapturerEntry(name: "gradient", summary: "A gradient.", options: [.size(default: "640x480")]) { request in
///         CatalogSource(GradientCapturer(size: try request.size() ?? .vga640x480))
///     },
/// ])
/// let source = try catalog.entry(named: "noise")?.make(CapturerEntry.Request())
/// ```
public struct CapturerCatalog: Sendable {
    /// The capturers, in the order in which they are shown.
    public let entries: [CapturerEntry]

    /// Names and schemes must be unique; the first of two with the same name is found.
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

    /// The scheme of a URL, in lower case: the text before the first colon, of letters, digits, `+`, `-` and `.`,
    /// beginning with a letter (RFC 3986, 3.1). Nil when there is none.
    public static func scheme(of url: String) -> String? {
        urlScheme(of: url)
    }
}

/// One capturer of a ``CapturerCatalog``: what it is called, its options, and how it is made. All that a program shows of
/// a capturer, reads for it from a command line, and does with it comes from here.
public struct CapturerEntry: Sendable {
    /// The name by which it is chosen; upper and lower case are the same.
    public var name: String
    /// What it captures, in one sentence.
    public var summary: String
    /// The URL schemes that it serves, without the colon; upper and lower case are the same.
    public var schemes: [String]
    /// The options of a ``CapturerEntry/Request`` that it reads.
    public var options: [OptionDescription]
    /// The option whose value is ``CapturerEntry/Request/input``, such as `input` or `device`; nil for a capturer without one.
    public var inputOption: String?
    /// The devices that it captures from; nil for a capturer without devices.
    public var devices: DeviceDirectory?
    /// Whether its captures may have sound of their own (`SoundOwner` of `AudioCapturing`).
    public var mayHaveSound = false
    /// Checks its libraries and devices on this machine; nil when there is nothing to check.
    public var check: (@Sendable () -> [Finding])?
    /// Makes the capture of a request. `initCapture` opens the device, not this call. Values of options that are not
    /// among ``options`` are ignored. Throws `OptionError` for an invalid value or combination.
    public var make: @Sendable (CapturerEntry.Request) throws -> CatalogSource

    /// An entry.
    ///
    /// - Parameters:
    ///   - name: the name by which it is chosen; upper and lower case are the same.
    ///   - summary: one sentence on what it captures.
    ///   - schemes: the URL schemes that it serves, without the colon; upper and lower case are the same.
    ///   - options: the options of a ``CapturerEntry/Request`` that it reads.
    ///   - inputOption: the option whose value is ``CapturerEntry/Request/input``.
    ///   - devices: the devices that it captures from.
    ///   - check: checks its libraries and devices.
    ///   - make: makes the capture; it opens nothing yet.
    public init(
        name: String, summary: String, schemes: [String] = [], options: [OptionDescription] = [],
        inputOption: String? = nil, devices: DeviceDirectory? = nil, check: (@Sendable () -> [Finding])? = nil,
        make: @escaping @Sendable (CapturerEntry.Request) throws -> CatalogSource
    ) {
        self.name = name
        self.summary = summary
        self.schemes = schemes
        self.options = options
        self.inputOption = inputOption
        self.devices = devices
        self.check = check
        self.make = make
    }

    /// The option of that name or alias; nil when the capturer has none.
    public func option(named name: String) -> OptionDescription? { options.first { $0.isNamed(name) } }
}
