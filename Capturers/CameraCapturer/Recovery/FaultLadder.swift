import VideoCapturing

/// What is to be done about a camera that does not deliver, step by step: first its stream is restarted, then the
/// camera is opened anew three times, then at growing distances for as long as it takes.
struct FaultLadder {
    enum Step: Hashable {
        /// `VIDIOC_STREAMOFF`, then `VIDIOC_STREAMON`.
        case restartStream
        /// Close the node and open it again; which time, of how many that follow each other at once.
        case reopen(attempt: Int, of: Int)
        /// Leave the camera alone for so long, then open it again.
        case waitAndReopen(Duration)
    }

    static let quickReopens = 3
    static let longestWait = Duration.seconds(30)

    /// How long frames must have come for the fault to count as past.
    static let recovery = Duration.seconds(2)

    private var stepsTaken = 0
    private var wait = Duration.seconds(1)
    private var firstFrame: MediaTime?

    /// The next step, after the camera has failed (again).
    mutating func next() -> Step {
        firstFrame = nil
        defer { stepsTaken += 1 }
        if stepsTaken == 0 { return .restartStream }
        if stepsTaken <= FaultLadder.quickReopens {
            return .reopen(attempt: stepsTaken, of: FaultLadder.quickReopens)
        }
        defer { wait = min(wait * 2, FaultLadder.longestWait) }
        return .waitAndReopen(wait)
    }

    /// A whole frame has come. Once they have come for a while the next fault begins at the first step again; a
    /// camera that fails after each frame climbs on.
    @inline(__always) mutating func noteFrame(at now: MediaTime) {
        if stepsTaken > 0 { noteFrameAfterFault(at: now) }
    }

    private mutating func noteFrameAfterFault(at now: MediaTime) {
        guard let firstFrame else {
            self.firstFrame = now
            return
        }
        if now - firstFrame >= FaultLadder.recovery { self = FaultLadder() }
    }
}
