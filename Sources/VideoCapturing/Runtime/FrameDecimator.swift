/// Chooses which frames of a stream to keep so that a rate is not exceeded, by their timestamps: evenly, and
/// without drift.
package struct FrameDecimator {
    private var rate: FrameRate?
    private var first: MediaTime?
    private var lastSlot: Int64 = -1

    package init() {}

    /// Whether the frame with this timestamp is to be kept at most `rate` frames a second.
    package mutating func keeps(_ timestamp: MediaTime, atMost rate: FrameRate?) -> Bool {
        guard let rate else {
            self.rate = nil
            return true
        }
        if rate != self.rate || first == nil || timestamp < first! {
            self.rate = rate
            first = timestamp
            lastSlot = 0
            return true
        }
        // A quarter of an interval early still counts as due, so that jitter around a matching rate
        // drops nothing.
        let tolerance = Duration.nanoseconds(rate.frameInterval.nanoseconds / 4)
        let slot = rate.frameIndex(at: (timestamp - first!) + tolerance)
        guard slot > lastSlot else { return false }
        lastSlot = slot
        return true
    }
}
