/// One thing that the doctor has looked at.
struct Finding: Sendable, Hashable {
    enum State: String, Sendable, Hashable {
        /// It is there and works.
        case ok
        /// It is not there, and only what needs it cannot be done.
        case missing
        /// Nothing can be captured without it.
        case broken
    }

    /// The part of the machine: `libraries`, `devices`, `display`, `programs`, `place`.
    var topic: String
    var name: String
    var state: State
    /// The version, or what was found.
    var detail: String
    /// How to mend it; nil where there is nothing to mend.
    var remedy: String?

    init(_ topic: String, _ name: String, _ state: State, _ detail: String, remedy: String? = nil) {
        self.topic = topic
        self.name = name
        self.state = state
        self.detail = detail
        self.remedy = remedy
    }
}
