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
