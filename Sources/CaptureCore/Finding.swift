/// The result of one check of the machine: what a program's self-test shows to its user.
public struct Finding: Sendable, Hashable {
    /// How it came out.
    public enum State: String, Sendable, Hashable {
        /// Present and working.
        case ok
        /// Missing; only what needs it is unavailable.
        case missing
        /// Broken; nothing can be captured without it.
        case broken
    }

    /// The part of the machine: `libraries`, `devices`, `display`, `programs`, `place`.
    public var topic: String
    /// The checked item: a library, a device's path.
    public var name: String
    /// How it came out.
    public var state: State
    /// The version, or the result.
    public var detail: String
    /// How to fix it, in one sentence; nil where nothing needs fixing.
    public var remedy: String?

    /// A finding; see the properties.
    public init(_ topic: String, _ name: String, _ state: State, _ detail: String, remedy: String? = nil) {
        self.topic = topic
        self.name = name
        self.state = state
        self.detail = detail
        self.remedy = remedy
    }
}
