public import VideoCapturing

/// The outputs that a program offers, by name, file extension and URL scheme: a value that the program makes, so that it
/// links only what it lists.
///
/// ```swift
/// let catalog = OutputCatalog([.webm, .mjpegServer])
/// try publisher.add(catalog.makeOutput("film.webm"))
/// try publisher.add(catalog.makeOutput("serve://8080"))
/// ```
public struct OutputCatalog: Sendable {
    /// The outputs, in the order in which they are to be shown.
    public let entries: [OutputEntry]

    /// Names, extensions and schemes are to be unique; the first of two is found.
    public init(_ entries: [OutputEntry]) { self.entries = entries }

    /// The output of that name; nil when there is none.
    public func entry(named name: String) -> OutputEntry? { entries.first { $0.name == name } }

    /// Makes the output that a text stands for: a name (`null`), a name and a file (`ivf:-`), a URL (`serve://8080`), a
    /// path by its extension (`film.webm`), a name and a URL (`whip:https://host/path`), or `-` for standard output in the first format that has an extension.
    ///
    /// - Parameters:
    ///   - text: the output.
    ///   - options: the values of its options; those of its own (``OutputEntry/options``) are passed on.
    ///   - overwrites: whether an existing file is replaced.
    /// - Throws: `OptionError` for a text that stands for nothing, and for values that cannot be used.
    public func makeOutput(
        _ text: String, options: OptionValues = OptionValues(), overwrites: Bool = false
    ) throws(OptionError) -> any MediaOutput {
        let (entry, target) = try resolve(text)
        let own = options.filter { name in entry.options.contains { $0.name == name } }
        return try entry.makeOutput(OutputEntry.Request(target: target, options: own, overwrites: overwrites))
    }

    /// The entry that a text stands for, and its target; see ``makeOutput(_:options:overwrites:)``.
    ///
    /// - Throws: `OptionError` with the nearest name, or the list of all.
    public func resolve(_ text: String) throws(OptionError) -> (entry: OutputEntry, target: String) {
        guard !text.isEmpty else {
            throw OptionError("output", text, "give a file name, - for standard output, null or md5.")
        }
        guard !text.utf8.contains(0) else {
            throw OptionError("output", text, "contains a null character, which file names cannot.")
        }
        if text == "-", let first = entries.first(where: { !$0.extensions.isEmpty }) { return (first, "-") }
        if let entry = entry(named: text), !entry.needsTarget { return (entry, entry.defaultTarget ?? "") }
        if let colon = text.firstIndex(of: ":") {
            let name = String(text[..<colon])
            let rest = String(text[text.index(after: colon)...])
            let isClaimed = rest.hasPrefix("//") ? entries.first { $0.claimsURL(text) } : nil
            if rest.hasPrefix("//"), let entry = isClaimed ?? entries.first(where: { $0.recognizes(name.lowercased()) })
            {
                return (entry, text)
            }
            let isURL = urlScheme(of: rest).map { rest.dropFirst($0.utf8.count).hasPrefix("://") } ?? false
            if let entry = entry(named: name), !entry.extensions.isEmpty || !entry.needsTarget || isURL {
                guard !rest.isEmpty || !entry.needsTarget else {
                    throw OptionError("output", text, "give a file name after the colon, or - for standard output.")
                }
                guard let standard = entry.defaultTarget else { return (entry, entry.needsTarget ? rest : "") }
                return (entry, rest.isEmpty ? standard : rest)
            }
            if let entry = entry(named: name), entry.takesURL {
                throw OptionError(
                    "output", text, "\(name) takes a URL behind the colon, as in \(name):https://host/path.")
            }
            // `photos:today.webm` is a file name; `yuf:-` is a misspelled format, `rtmq://host` a misspelled scheme.
            if rest == "-" { throw unknown(name, "name", entries.map(\.name), text) }
            let publishers = entries.filter(\.takesURL).map { "\($0.name):\(text)" }
            if ["http", "https"].contains(name.lowercased()), !publishers.isEmpty {
                throw OptionError(
                    "output", text, "name the protocol before it, as in \(publishers.joined(separator: " or ")).")
            }
            if rest.hasPrefix("//") { throw unknown(name, "scheme", entries.flatMap(\.schemes), text) }
        }
        let known = entries.flatMap(\.extensions)
        guard let ending = fileExtension(of: text) else {
            if let near = nearestName(to: text, in: entries.filter { !$0.needsTarget }.map(\.name)) {
                throw OptionError("output", text, "no output has this name. Did you mean \(near)?")
            }
            throw OptionError(
                "output", text,
                "The name has no extension that says what to write; use one of "
                    + "\(known.map { ".\($0)" }.joined(separator: ", ")), or name the format.")
        }
        if let entry = entries.first(where: { $0.extensions.contains(ending) }) { return (entry, text) }
        throw unknown(ending, "extension", known, text)
    }

    private func unknown(_ name: String, _ what: String, _ known: [String], _ text: String) -> OptionError {
        let guess = nearestName(to: name, in: known).map { " Did you mean \($0)?" } ?? ""
        return OptionError(
            "output", text, "No format has the \(what) \(name).\(guess) There are \(known.joined(separator: ", ")).")
    }
}

/// An output that a program offers: its names, its options, and how to make it.
public struct OutputEntry: Sendable {
    /// The name by which it is chosen, also as `NAME:FILE`.
    public let name: String
    /// What it is, in a few words.
    public let summary: String
    /// The extensions of the files that it writes, without the dot, in lower case.
    public let extensions: [String]
    /// The URL schemes that it serves, in lower case.
    public let schemes: [String]
    /// Its options.
    public let options: [OptionDescription]
    /// Whether it needs a file or a URL; `null` does not.
    public let needsTarget: Bool
    /// The target where only its name was given; see ``needsTarget``.
    public let defaultTarget: String?
    /// Whether it has keys, of which one asks for stills; see `OutputContext.requestStill`.
    public let hasKeys: Bool
    /// Whether its clients may start clips; see `OutputContext.recording`.
    public let firesTriggers: Bool

    private let make: @Sendable (OutputEntry.Request) throws(OptionError) -> any MediaOutput

    /// An output; see the properties. What `make` makes opens nothing yet.
    public init(
        name: String, summary: String, extensions: [String] = [], schemes: [String] = [],
        options: [OptionDescription] = [], needsTarget: Bool = true, defaultTarget: String? = nil,
        hasKeys: Bool = false, firesTriggers: Bool = false,
        make: @escaping @Sendable (OutputEntry.Request) throws(OptionError) -> any MediaOutput
    ) {
        self.name = name
        self.summary = summary
        self.extensions = extensions
        self.schemes = schemes
        self.options = options
        self.needsTarget = needsTarget
        self.defaultTarget = defaultTarget
        self.hasKeys = hasKeys
        self.firesTriggers = firesTriggers
        self.make = make
    }

    /// Schemes that it refuses with what to do instead, and that are therefore not listed.
    package var refusedSchemes: [String] = []

    /// Whether a URL is for this entry, though its scheme belongs to another one: `rtsp://…?listen` is for a server.
    package var claimsURL: @Sendable (_ url: String) -> Bool = { _ in false }

    fileprivate func recognizes(_ scheme: String) -> Bool {
        schemes.contains(scheme) || refusedSchemes.contains(scheme)
    }

    /// Whether it is chosen as `NAME:URL`, with a URL of a scheme that others use too.
    package var takesURL: Bool { needsTarget && extensions.isEmpty && schemes.isEmpty }

    /// Makes the output; it opens nothing yet.
    ///
    /// - Throws: `OptionError` for a value that cannot be used.
    public func makeOutput(_ request: OutputEntry.Request) throws(OptionError) -> any MediaOutput { try make(request) }
}

extension OutputEntry {
    /// What an ``OutputEntry`` makes an output for.
    public struct Request: Sendable, Hashable {
        /// The path, `-` for standard output, or the URL.
        public var target: String
        /// The values of the entry's options, and of a URL's query.
        public var options: OptionValues
        /// Whether an existing file is replaced.
        public var overwrites: Bool

        /// A request; see the properties.
        public init(target: String, options: OptionValues = OptionValues(), overwrites: Bool = false) {
            self.target = target
            self.options = options
            self.overwrites = overwrites
        }
    }
}

/// The extension of the path's last component, in lower case; nil when there is none. The dot of a hidden file does not
/// count.
private func fileExtension(of path: String) -> String? {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let ending = name[name.index(after: dot)...]
    return ending.isEmpty ? nil : ending.lowercased()
}
