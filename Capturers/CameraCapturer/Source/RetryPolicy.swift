import VideoCapturing

/// The steps to recover a camera that delivers no frames: first its stream is restarted, then the camera is reopened
/// three times at once, then at growing intervals indefinitely.
struct RetryPolicy {
    enum Step: Hashable {
        /// `VIDIOC_STREAMOFF`, then `VIDIOC_STREAMON`.
        case restartStream
        /// Close the node and open it again; one of `of` attempts without a wait.
        case reopen(attempt: Int, of: Int)
        /// Wait for this time, then open the camera again.
        case waitAndReopen(Duration)
    }

    static let quickReopens = 3
    static let longestWait = Duration.seconds(30)

    /// The time for which frames must have been captured until the fault counts as recovered.
    static let recovery = Duration.seconds(2)

    private var stepsTaken = 0
    private var wait = Duration.seconds(1)
    private var firstFrame: MediaTime?

    /// The next step, after the camera has failed (again).
    mutating func next() -> Step {
        firstFrame = nil
        defer { stepsTaken += 1 }
        if stepsTaken == 0 { return .restartStream }
        if stepsTaken <= RetryPolicy.quickReopens {
            return .reopen(attempt: stepsTaken, of: RetryPolicy.quickReopens)
        }
        defer { wait = min(wait * 2, RetryPolicy.longestWait) }
        return .waitAndReopen(wait)
    }

    /// Records a complete frame. Once frames have been captured for a while the next fault begins at the first step
    /// again; a camera that fails after each frame continues with the next step.
    @inline(__always) mutating func recordFrame(at now: MediaTime) {
        if stepsTaken > 0 { didDeliverAfterFault(at: now) }
    }

    private mutating func didDeliverAfterFault(at now: MediaTime) {
        guard let firstFrame else {
            self.firstFrame = now
            return
        }
        if now - firstFrame >= RetryPolicy.recovery { self = RetryPolicy() }
    }
}
