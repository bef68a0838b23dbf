import VideoCapturing

/// Keeps damage true when frames are left out: what a frame that was left out has changed, the next one
/// that is passed on has changed.
struct DamageLedger {
    /// What was changed by frames left out; nil when that may be anything.
    private var owed: [PixelRect]? = []
    /// Whether a frame with a picture of its own was left out.
    private var hasSkippedPicture = false

    /// Notes a frame that is not passed on.
    mutating func skip(_ frame: VideoFrame) {
        if !frame.isRepeat { hasSkippedPicture = true }
        owe(frame.damage)
    }

    /// What all that was left out up to now makes of the next frame.
    mutating func settle(_ frame: inout VideoFrame) {
        if hasSkippedPicture { frame.isRepeat = false }
        if owed != [] {
            owe(frame.damage)
            frame.damage = owed
        }
        self = DamageLedger()
    }

    /// Notes that the consumer has been shown something else, so that the next picture differs everywhere.
    mutating func forget() {
        hasSkippedPicture = true
        owed = nil
    }

    private mutating func owe(_ damage: [PixelRect]?) {
        guard let damage, let sum = owed, sum.count + damage.count <= mostRectangles else {
            owed = nil
            return
        }
        if !damage.isEmpty { owed = sum + damage }
    }
}

/// Beyond these a list is of no more use than the whole picture.
private let mostRectangles = 64
