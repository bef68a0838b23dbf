/// Keeps damage true when frames are left out: what a frame that was left out has changed, the next one
/// that is passed on has changed.
///
/// Frames whose damage is unknown or empty cost no allocation.
package struct DamageAccumulator {
    /// Beyond these a list is of no more use than the whole picture.
    package static let maximumRectangles = 64

    /// The parts that left-out frames changed; nil when that may be anything.
    private var pending: [PixelRect]? = []
    /// Whether a frame with a new picture was left out.
    private var hasSkippedPicture = false

    package init() {}

    /// For a consumer that has had no frame yet: all of its first frame counts as changed.
    package static var unseen: DamageAccumulator {
        var accumulator = DamageAccumulator()
        accumulator.invalidate()
        return accumulator
    }

    /// Notes a frame that is not passed on.
    package mutating func add(_ frame: VideoFrame) {
        if !frame.isRepeat { hasSkippedPicture = true }
        merge(frame.damage)
    }

    /// Notes a frame that its source has given and that is not passed on.
    package mutating func add(_ frame: SourceFrame) {
        if !frame.isRepeat { hasSkippedPicture = true }
        merge(frame.damage)
    }

    /// What all that was left out up to now makes of the next frame.
    package mutating func flush(into frame: inout VideoFrame) {
        if hasSkippedPicture { frame.isRepeat = false }
        if pending?.isEmpty != true {
            merge(frame.damage)
            frame.damage = pending
        }
        pending = []
        hasSkippedPicture = false
    }

    /// Notes that the consumer has been shown something else, so that the next picture differs everywhere.
    package mutating func invalidate() {
        hasSkippedPicture = true
        pending = nil
    }

    private mutating func merge(_ damage: [PixelRect]?) {
        guard let damage, let sum = pending, sum.count + damage.count <= DamageAccumulator.maximumRectangles else {
            pending = nil
            return
        }
        if !damage.isEmpty { pending = sum.isEmpty ? damage : sum + damage }
    }
}
