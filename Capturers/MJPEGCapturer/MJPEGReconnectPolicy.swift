import VideoCapturing

/// When a lost connection is tried again. A first frame makes it begin anew.
public struct MJPEGReconnectPolicy: Sendable, Hashable {
    /// So many attempts, each after so long a wait.
    public struct Step: Sendable, Hashable {
        /// The wait before each attempt.
        public var delay: Duration
        /// How many attempts are made so; the last step is repeated without end.
        public var attempts: Int

        public init(delay: Duration, attempts: Int) {
            self.delay = delay
            self.attempts = attempts
        }
    }

    /// In order; empty for never.
    public var steps: [Step]

    public init(steps: [Step]) {
        self.steps = steps
    }

    /// After 1 s five times, 5 s five times, 10 s ten times, and then every minute, as go2rtc does.
    public static let standard = MJPEGReconnectPolicy(steps: [
        Step(delay: .seconds(1), attempts: 5), Step(delay: .seconds(5), attempts: 5),
        Step(delay: .seconds(10), attempts: 10), Step(delay: .seconds(60), attempts: 1),
    ])

    /// Not at all: the capture stops when the connection is lost, with the end of the stream where the server has
    /// ended it in good order.
    public static let never = MJPEGReconnectPolicy(steps: [])

    /// After always the same wait.
    public static func every(_ delay: Duration) -> MJPEGReconnectPolicy {
        MJPEGReconnectPolicy(steps: [Step(delay: delay, attempts: 1)])
    }

    /// The wait before attempt number `attempt`, which counts from 1; nil for none.
    public func delay(beforeAttempt attempt: Int) -> Duration? {
        var left = attempt
        for step in steps {
            if left <= step.attempts { return step.delay }
            left -= step.attempts
        }
        return steps.last?.delay
    }
}
