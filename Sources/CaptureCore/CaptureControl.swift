/// What a ``CaptureRunner``'s capture thread and its callers share: orders one way, answers the other. The life cycle of
/// every capture, whatever its media.
///
/// `Sendable` since all of it is behind one lock. Neither a source nor a consumer is called while it is held; the state
/// machine is, so that states change in the order of the phases.
package final class CaptureControl<Media: CaptureMedia>: Sendable {
    package struct Contents {
        package var phase = CapturePhase.idle
        /// A start that the thread has not seen yet.
        package var isStartOrdered = false
        /// The thread is to close the source and end, once no start is left to obey.
        package var isCloseOrdered = false
        /// Set by a stop until the thread has obeyed; from then on nothing is delivered.
        package var isStopOrdered = false
        /// Counts the ends of sessions (start to stop) and of lives (open to close), so that a caller that waits for one
        /// knows that it has been, even if the next has begun already.
        package var sessionsEnded: UInt64 = 0
        package var livesEnded: UInt64 = 0
        /// A call of the consumer is running.
        package var isDelivering = false
        /// The capture thread, from its beginning to its end.
        package var thread: UInt?
        /// Why the last open or start failed.
        package var failure: CaptureError?
        package var isInterrupted = false
        /// What belongs to the kind of media: consumer, settings, wants, statistics.
        package var media: Media

        /// Whether data are being delivered or are about to be.
        @inlinable package var isStarted: Bool { phase.isStarted && !isStopOrdered }

        /// Whether a stop or a close is in progress that the thread has not obeyed yet.
        var isBusy: Bool { isStopOrdered || isCloseOrdered || phase == .opening || phase == .closing }
    }

    package let contents: Locked<Contents>
    package let states = CaptureStateMachine()
    /// Ends the waits of the capture thread.
    package let waiter: CaptureWaiter

    package init(_ media: sending Media, clock: any CaptureClock) {
        contents = Locked(Contents(media: media))
        waiter = CaptureWaiter(clock: clock)
    }

    /// Changes the contents and lets every waiter look.
    package func update<Result>(_ body: (inout Contents, CaptureStateMachine) -> Result) -> Result {
        let result = contents.withLock { body(&$0, states) }
        contents.wakeAll()
        return result
    }

    // MARK: On the capture thread

    /// The thread has begun.
    package func begin() { contents.withLock { $0.thread = CaptureThread.currentIdentifier } }

    /// The source could not be opened; the thread ends.
    package func failOpening(_ failure: CaptureError) {
        update { contents, _ in
            contents.failure = failure
            end(&contents)
        }
    }

    /// The source is open.
    package func didOpen(_ adopt: (inout Media) -> Void) {
        update { contents, states in
            adopt(&contents.media)
            contents.phase = .ready
            states.transition(to: .initialized, reason: .requested)
        }
    }

    /// Blocks until there is an order; false when it is to close. A start that came first is obeyed first: its
    /// stop has been ordered too by then.
    package func awaitStart() -> Bool {
        contents.wait { contents -> Bool? in
            if contents.isStartOrdered {
                contents.isStartOrdered = false
                return true
            }
            guard contents.isCloseOrdered else { return nil }
            contents.phase = .closing
            return false
        }!
    }

    /// The source has started.
    package func didStart(_ adopt: (inout Media) -> Void) {
        update { contents, states in
            contents.phase = .running
            adopt(&contents.media)
            contents.media.didStart()
            if !contents.isStopOrdered { states.transition(to: .running, reason: .source) }
        }
    }

    /// The source failed to start, or while it ran. How the session ends therefore.
    package func endingOfSession(after failure: CaptureError) -> CaptureState.StopReason {
        contents.withLock { contents in
            if contents.phase == .starting, !contents.isStopOrdered { contents.failure = failure }
        }
        return switch failure.code {
        case .deviceLost: .deviceLost(failure)
        case .endOfStream: .endOfStream
        default: .error(failure)
        }
    }

    /// The source has stopped.
    ///
    /// - Parameter ending: why, unless a stop was ordered.
    package func didStop(_ ending: CaptureState.StopReason) {
        update { [waiter] contents, states in
            let wasOrdered = contents.isStopOrdered
            contents.phase = .ready
            contents.sessionsEnded += 1
            contents.isStopOrdered = false
            contents.isInterrupted = false
            waiter.resetStop()
            if wasOrdered {
                // Unless the stop has been given up and reported as an error already.
                if case .stopped = states.state { return }
                states.transition(to: .stopped(.user), reason: .requested)
            } else {
                let reason = ending.error.map { CaptureState.Change.Reason.failure($0) } ?? .source
                states.transition(to: .stopped(ending), reason: reason)
            }
        }
    }

    /// The source is closed; the thread ends.
    package func didClose() {
        update { contents, states in
            end(&contents)
            states.transition(to: .idle, reason: .requested)
        }
    }

    private func end(_ contents: inout Contents) {
        contents.phase = .idle
        contents.livesEnded += 1
        contents.isStartOrdered = false
        contents.isCloseOrdered = false
        contents.thread = nil
        // A release while the source was being opened has raised it.
        waiter.resetStop()
    }

    /// No data come for now, and why; from inside the source.
    package func reportInterruption(_ reason: CaptureState.InterruptionReason) {
        contents.withLock { contents in
            guard contents.phase == .running, !contents.isStopOrdered else { return }
            if !contents.isInterrupted { contents.media.didInterrupt() }
            contents.isInterrupted = true
            states.transition(to: .interrupted(reason), reason: .source)
        }
    }
}

/// What a life cycle asks of a kind of media. Called with the control locked.
package protocol CaptureMedia {
    /// The name of the source, for errors.
    var sourceName: String? { get }
    /// The capture is being initialized: statistics begin at zero.
    mutating func willOpen()
    /// The capture has started.
    mutating func didStart()
    /// The capture is interrupted.
    mutating func didInterrupt()
}

/// Where a capture thread is in its life.
package enum CapturePhase: Sendable {
    case idle
    case opening
    case ready
    case starting
    case running
    case closing

    @inlinable package var isStarted: Bool { self == .starting || self == .running }
}
