/// Keeps damage true when frames are left out: what a frame that was left out has changed, the next one
/// that is passed on has changed.
///
/// Frames whose damage is unknown or empty cost no allocation.
package struct DamageLedger {
    /// Beyond these a list is of no more use than the whole picture.
    package static let mostRectangles = 64

    /// What was changed by frames left out; nil when that may be anything.
    private var owed: [PixelRect]? = []
    /// Whether a frame with a picture of its own was left out.
    private var hasSkippedPicture = false

    package init() {}

    /// For one who has seen nothing yet: all of his first picture is new to him.
    package static var unseen: DamageLedger {
        var ledger = DamageLedger()
        ledger.forget()
        return ledger
    }

    /// Notes a frame that is not passed on.
    package mutating func skip(_ frame: VideoFrame) {
        if !frame.isRepeat { hasSkippedPicture = true }
        owe(frame.damage)
    }

    /// Notes a frame that its source has given and that is not passed on.
    package mutating func skip(_ frame: SourceFrame) {
        if !frame.isRepeat { hasSkippedPicture = true }
        owe(frame.damage)
    }

    /// What all that was left out up to now makes of the next frame.
    package mutating func settle(_ frame: inout VideoFrame) {
        if hasSkippedPicture { frame.isRepeat = false }
        if owed?.isEmpty != true {
            owe(frame.damage)
            frame.damage = owed
        }
        owed = []
        hasSkippedPicture = false
    }

    /// Notes that the consumer has been shown something else, so that the next picture differs everywhere.
    package mutating func forget() {
        hasSkippedPicture = true
        owed = nil
    }

    private mutating func owe(_ damage: [PixelRect]?) {
        guard let damage, let sum = owed, sum.count + damage.count <= DamageLedger.mostRectangles else {
            owed = nil
            return
        }
        if !damage.isEmpty { owed = sum.isEmpty ? damage : sum + damage }
    }
}
