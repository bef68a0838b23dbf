/// What a ``SourceRunner``'s capture thread and its callers share: orders one way, answers the other.
///
/// `Sendable` since all of it is behind one lock. Neither the source nor a consumer is called while it is
/// held; the state machine is, so that states change in the order of the phases.
final class SourceControl: Sendable {
    struct Contents {
        var phase = Phase.idle
        /// A start that the thread has not seen yet.
        var isStartOrdered = false
        /// The thread is to close the source and end, once no start is left to obey.
        var isCloseOrdered = false
        /// Set by a stop until the thread has obeyed; from then on nothing is delivered.
        var isStopOrdered = false
        /// Counts the ends of sessions (start to stop) and of lives (open to close), so that who waits for one
        /// knows that it has been, even if the next has begun already.
        var sessionsEnded: UInt64 = 0
        var livesEnded: UInt64 = 0
        /// A call of the consumer is running.
        var isDelivering = false
        /// The capture thread, from its beginning to its end.
        var thread: UInt?
        /// Why the last open or start failed.
        var failure: CaptureError?
        var isInterrupted = false
        weak var consumer: (any VideoCaptureConsumer)? {
            didSet { consumersSet &+= 1 }
        }
        /// How often a consumer has been set: tells a new one from the last, which may have had the same address.
        var consumersSet: UInt64 = 0
        var contentHint: VideoContentHint
        var settings: CaptureSettings
        var pendingWants: CaptureWants?
        var statistics = CaptureStatistics()

        /// Whether frames are being delivered or are about to be.
        var isStarted: Bool { phase.isStarted && !isStopOrdered }

        /// Whether a stop or a close is under way that the thread has not obeyed yet.
        var isBusy: Bool { isStopOrdered || isCloseOrdered || phase == .opening || phase == .closing }
    }

    enum Phase {
        case idle
        case opening
        case ready
        case starting
        case running
        case closing

        var isStarted: Bool { self == .starting || self == .running }
    }

    let contents: Locked<Contents>
    let states = CaptureStateMachine()

    init(settings: CaptureSettings, contentHint: VideoContentHint) {
        contents = Locked(Contents(contentHint: contentHint, settings: settings))
    }

    /// Changes the contents and lets every waiter look.
    func update<Result>(_ body: (inout Contents, CaptureStateMachine) -> Result) -> Result {
        let result = contents.withLock { body(&$0, states) }
        contents.wakeAll()
        return result
    }

    /// On the capture thread, from inside the source.
    func noteInterruption(_ reason: InterruptionReason) {
        contents.withLock { contents in
            guard contents.phase == .running, !contents.isStopOrdered else { return }
            if !contents.isInterrupted { contents.statistics.interruptions += 1 }
            contents.isInterrupted = true
            states.transition(to: .interrupted(reason), reason: .source)
        }
    }
}
