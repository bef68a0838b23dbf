/// Gives the frames of changing captures, and their repeats, one unbroken line of timestamps and sequence
/// numbers.
struct FrameSequencer {
    private(set) var lastTimestamp: MediaTime?
    private var lastNumber: UInt64?
    private var lastInputNumber: UInt64?

    /// Places a frame of the current capture; gaps in its numbers stay as wide as they are.
    mutating func place(_ frame: inout VideoFrame) {
        let step = lastInputNumber.map { frame.sequenceNumber > $0 ? frame.sequenceNumber - $0 : 1 } ?? 1
        lastInputNumber = frame.sequenceNumber
        advance(&frame, by: step)
    }

    /// Places a frame that is sent again.
    mutating func placeRepeat(_ frame: inout VideoFrame) {
        advance(&frame, by: 1)
    }

    /// The next frame is another capture's, whose numbers begin anew.
    mutating func beginCapture() {
        lastInputNumber = nil
    }

    private mutating func advance(_ frame: inout VideoFrame, by step: UInt64) {
        let number = lastNumber.map { $0 &+ step } ?? frame.sequenceNumber
        lastNumber = number
        frame.sequenceNumber = number
        if let lastTimestamp, frame.timestamp <= lastTimestamp {
            frame.timestamp = lastTimestamp.advanced(by: .nanoseconds(1))
        }
        lastTimestamp = frame.timestamp
    }
}
