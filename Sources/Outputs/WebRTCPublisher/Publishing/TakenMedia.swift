import RTP

/// What a peer takes of what it is offered, over all sessions.
struct TakenMedia {
    /// What the last session does not carry.
    private(set) var refusals: [Negotiation.Refusal] = []
    /// Media that some session has carried.
    private var taken: Set<String> = []

    mutating func add(_ agreed: Negotiation) {
        refusals = agreed.refusals
        for stream in agreed.streams { taken.insert(stream.codec == .opus ? "audio" : "video") }
    }

    /// The first medium that no session has carried; nil without one, and the second time.
    mutating func takeMissing() -> Negotiation.Refusal? {
        defer { refusals = [] }
        return refusals.first { !taken.contains($0.media) }
    }
}

extension Negotiation.Refusal {
    /// The medium in the words of the tool.
    var noun: String { media == "audio" ? "sound" : media }
}
