/// The sound capturers that a program offers, by name and by URL scheme: a value that the program makes, so that it links
/// only what it lists. What `CapturerCatalog` is for pictures.
///
/// ```swift
/// let catalog = AudioCapturerCatalog([.tone, .microphone])
/// let request = AudioCapturerEntry.Request(input: "hw:Mic")
/// let source = try catalog.entry(named: "mic")?.make(request)
/// ```
public struct AudioCapturerCatalog: Sendable {
    /// The capturers, in the order in which they are shown.
    public let entries: [AudioCapturerEntry]

    /// Names and schemes must be unique; the first of two with the same name is found.
    public init(_ entries: [AudioCapturerEntry]) {
        self.entries = entries
    }

    /// The names, in order.
    public var names: [String] { entries.map(\.name) }

    /// The capturer of that name; upper and lower case are the same.
    public func entry(named name: String) -> AudioCapturerEntry? {
        let name = name.lowercased()
        return entries.first { $0.name.lowercased() == name }
    }

    /// The capturer and the request of a text as `--audio` takes it: `tone`, `mic:DEVICE` or a URL. Names are looked for
    /// first, so that a capturer's input may contain anything.
    ///
    /// - Parameters:
    ///   - text: a name, a name with an input after a colon, or a URL of a scheme that a capturer serves.
    ///   - options: the values of the capturer's options.
    /// - Returns: nil when no capturer has the name or serves the scheme, or it takes no input.
    public func find(
        _ text: String, options: OptionValues = OptionValues()
    ) -> (entry: AudioCapturerEntry, request: AudioCapturerEntry.Request)? {
        if let entry = entry(named: text) { return (entry, AudioCapturerEntry.Request(options: options)) }
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let prefix = text[..<colon].lowercased()
        if let entry = entry(named: prefix), entry.inputPlaceholder != nil {
            let input = String(text[text.index(after: colon)...])
            return (entry, AudioCapturerEntry.Request(input: input, options: options))
        }
        let server = entries.first { entry in entry.schemes.contains { $0.lowercased() == prefix } }
        return server.map { ($0, AudioCapturerEntry.Request(input: text, options: options)) }
    }
}

/// One capturer of an ``AudioCapturerCatalog``: what it is called, its options, and how it is made. All that a program
/// shows of a capturer, reads for it from a command line, and does with it comes from here.
public struct AudioCapturerEntry: Sendable {
    /// The name by which it is chosen; upper and lower case are the same.
    public var name: String
    /// What it captures, in one sentence.
    public var summary: String
    /// The URL schemes that it serves, without the colon; upper and lower case are the same.
    public var schemes: [String]
    /// The options of an ``AudioCapturerEntry/Request`` that it reads.
    public var options: [OptionDescription]
    /// What may follow its name and a colon, as in `mic:DEVICE`; nil for a capturer without an input.
    public var inputPlaceholder: String?
    /// The devices that it captures from; nil for a capturer without devices.
    public var devices: DeviceDirectory?
    /// Checks its libraries and devices on this machine; nil when there is nothing to check.
    public var check: (@Sendable () -> [Finding])?
    /// Makes the capture of a request. `initCapture` opens the device, not this call. Values of options that are not
    /// among ``options`` are ignored. Throws `OptionError` for an invalid value or combination.
    public var make: @Sendable (AudioCapturerEntry.Request) throws -> AudioCatalogSource

    /// An entry.
    ///
    /// - Parameters:
    ///   - name: the name by which it is chosen; upper and lower case are the same.
    ///   - summary: one sentence on what it captures.
    ///   - schemes: the URL schemes that it serves, without the colon; upper and lower case are the same.
    ///   - options: the options of an ``AudioCapturerEntry/Request`` that it reads.
    ///   - inputPlaceholder: what may follow its name and a colon.
    ///   - devices: the devices that it captures from.
    ///   - check: checks its libraries and devices.
    ///   - make: makes the capture; it opens nothing yet.
    public init(
        name: String, summary: String, schemes: [String] = [], options: [OptionDescription] = [],
        inputPlaceholder: String? = nil, devices: DeviceDirectory? = nil, check: (@Sendable () -> [Finding])? = nil,
        make: @escaping @Sendable (AudioCapturerEntry.Request) throws -> AudioCatalogSource
    ) {
        self.name = name
        self.summary = summary
        self.schemes = schemes
        self.options = options
        self.inputPlaceholder = inputPlaceholder
        self.devices = devices
        self.check = check
        self.make = make
    }

    /// What a program asks of a capturer.
    public struct Request: Sendable, Hashable {
        /// The device or URL; nil for the default.
        public var input: String?
        /// The values of the capturer's options.
        public var options: OptionValues

        /// A request.
        ///
        /// - Parameters:
        ///   - input: the device or URL; nil for the default.
        ///   - options: the values of the capturer's options.
        public init(input: String? = nil, options: OptionValues = OptionValues()) {
            self.input = input
            self.options = options
        }
    }
}

/// A capture that an ``AudioCapturerEntry`` has made, and what a program shows that knows no more of it.
public struct AudioCatalogSource: Sendable {
    /// The capture, not initialized yet.
    public var capture: any AudioCapture
    /// Whether it makes sound as fast as consumers accept it.
    public var isMadeOnDemand = false
    /// Sets the handler that gets events as sentences for the user: lost, found again, a new title. It is called on any
    /// thread and must return soon.
    public var setNoticeHandler: @Sendable (_ handler: @escaping @Sendable (String) -> Void) -> Void = { _ in }
    /// After `initCapture`: how it chose what it delivers, as lines for the user.
    public var explanation: @Sendable () -> [String] = { [] }

    /// A capture with nothing else to say; see the properties.
    public init(_ capture: any AudioCapture) {
        self.capture = capture
    }
}
