import VideoCapturing

/// The modes of a camera in the order in which they serve a request, and the formats that cannot serve it.
struct ModeRanking: Sendable {
    /// A mode, and how it is known.
    struct Entry: Sendable, Hashable {
        var mode: CameraMode
        /// A slower variant of another entry, for a bus that is too slow for that.
        var isReserve = false
        /// The driver has set it, with this rate; it needs no other proof.
        var isProven = false
    }

    let request: CameraModeRequest
    /// The best first.
    private(set) var entries: [Entry]
    /// The formats that were left out, in the driver's order.
    let unusable: [RejectedMode]

    /// Orders the entries.
    init(request: CameraModeRequest, entries: [Entry], unusable: [RejectedMode]) {
        self.request = request
        self.unusable = unusable
        self.entries = ModeRanking.ordered(entries, for: request)
    }

    /// How a format is taken; nil for one that is neither listed by the camera as usable nor known without its help.
    func format(_ fourCC: FourCC) -> CaptureFormat? {
        CaptureFormat.of(fourCC) { name in entries.contains { $0.mode.fourCC == name } }
    }

    /// The modes without slower variants, the best first.
    var modes: [CameraMode] { entries.filter { !$0.isReserve }.map(\.mode) }

    /// The best first.
    ///
    /// A smaller size comes before the exact one only where that is slower than 15 frames a second and than the
    /// desired rate. As a rule between two modes this would contradict the order of a third, larger one; so the
    /// smaller size gets no better a bucket than the exact one that it must not overtake.
    static func ordered(_ entries: [Entry], for request: CameraModeRequest) -> [Entry] {
        let floor = min(15, request.rate)
        var keyed = entries.map { (entry: $0, key: ModeKey($0.mode, for: request)) }
        let limit =
            keyed.filter { $0.key.fit == .exact && !$0.entry.isReserve && ($0.entry.mode.rate ?? floor) >= floor }
            .map(\.key.bucket).max() ?? 0
        for index in keyed.indices where keyed[index].key.fit == .smaller {
            keyed[index].key.bucket = max(keyed[index].key.bucket, limit)
        }
        return keyed.sorted { $0.key < $1.key }.map(\.entry)
    }
}
