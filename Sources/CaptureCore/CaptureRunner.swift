/// Carries the orders of a capture's callers to its thread, and waits for the answers: initCapture, startCapture,
/// stopCapture and releaseCapture of every capture, whatever its media.
///
/// An order is a change of ``CaptureControl``; the thread obeys and changes the phase.
package final class CaptureRunner<Media: CaptureMedia>: Sendable {
    package let control: CaptureControl<Media>
    private let body: @Sendable () -> Void
    private let name: String
    private let timeout: Duration
    private let openTimeout: Duration

    /// - Parameters:
    ///   - control: the state that is shared with the thread.
    ///   - name: of the thread, and of the capture in errors where it has no other.
    ///   - timeout: how long to wait for a source that does not answer.
    ///   - openTimeout: the same while it is being opened.
    ///   - body: what the thread does from open to close.
    package init(
        _ control: CaptureControl<Media>, name: String, timeout: Duration, openTimeout: Duration,
        body: @escaping @Sendable () -> Void
    ) {
        self.control = control
        self.name = name
        self.timeout = timeout
        self.openTimeout = openTimeout
        self.body = body
    }

    package func open() throws(CaptureError) {
        let mustOpen: Bool? = control.contents.wait(until: limit) { contents -> Bool? in
            if contents.isBusy { return nil }
            guard contents.phase == .idle else { return false }
            contents.phase = .opening
            contents.failure = nil
            contents.media.willOpen()
            return true
        }
        guard let mustOpen else { throw stalled("open") }
        guard mustOpen else { return }
        do {
            try CaptureThread(name: name) { [body] in body() }
        } catch {
            control.update { contents, _ in contents.phase = .idle }
            throw error
        }
        let openLimit = MonotonicClock().now.advanced(by: openTimeout)
        let isAnswered: Void? = control.contents.wait(until: openLimit) { $0.phase == .opening ? nil : () }
        if isAnswered == nil {
            let isStuck = control.update { contents, _ in
                guard contents.phase == .opening else { return false }
                contents.isCloseOrdered = true
                return true
            }
            if isStuck { throw stalled("open") }
        }
        if let failure = control.contents.withLock({ $0.failure }) { throw failure }
    }

    package func start() throws(CaptureError) {
        // A stop that has not been obeyed yet came from inside `consumeFrame`, or gave up on the source.
        let answer: StartAnswer? = control.contents.wait(until: limit) {
            [states = control.states] contents -> StartAnswer? in
            if contents.phase == .idle { return .isIdle }
            if contents.isBusy { return nil }
            guard contents.phase == .ready else { return .isStarted }
            contents.phase = .starting
            contents.isStartOrdered = true
            contents.failure = nil
            states.transition(to: .starting, reason: .requested)
            return .mustWait
        }
        switch answer {
        case nil: throw stalled("start")
        case .isIdle: throw outOfOrder("start")
        case .isStarted: return
        case .mustWait: break
        }
        control.contents.wakeAll()
        let isAnswered: Void? = control.contents.wait(until: limit) { contents in
            contents.phase == .starting && !contents.isStopOrdered ? nil : ()
        }
        guard isAnswered != nil else {
            let error = stalled("start")
            orderStop(state: .stopped(.error(error)), reason: .failure(error))
            throw error
        }
        if let failure = control.contents.withLock({ $0.failure }) { throw failure }
    }

    package func stop() throws(CaptureError) {
        let (isKnown, isOnCaptureThread) = control.contents.withLock { contents in
            (
                [.ready, .starting, .running].contains(contents.phase) && !contents.isCloseOrdered,
                contents.thread == CaptureThread.currentIdentifier
            )
        }
        guard isKnown else { throw outOfOrder("stop") }
        let order = orderStop(state: .stopping, reason: .requested)
        guard !isOnCaptureThread else { return }
        try awaitStop(order.session)
    }

    /// - Parameter session: how many had ended when the stop was ordered; nil when there was none to stop. What
    ///   others have started since is not waited for.
    private func awaitStop(_ session: UInt64?) throws(CaptureError) {
        guard let session else { return }
        func isGoingOn(_ contents: CaptureControl<Media>.Contents) -> Bool {
            contents.phase.isStarted && contents.sessionsEnded == session
        }
        let isAtRest: Void? = control.contents.wait(until: limit) { isGoingOn($0) ? nil : () }
        if isAtRest != nil { return }
        // The rule that no consumer runs after a stop holds even now, however long the consumer takes.
        let isStuck = control.contents.wait { isGoingOn($0) && $0.isDelivering ? nil : isGoingOn($0) } ?? true
        guard isStuck else { return }
        let error = stalled("stop")
        control.update { contents, states in
            guard isGoingOn(contents) else { return }
            states.transition(to: .stopped(.error(error)), reason: .failure(error))
        }
        throw error
    }

    /// A source that does not return is left behind on its thread, and closed there when it does.
    package func release() {
        let isOnCaptureThread = control.contents.withLock { $0.thread == CaptureThread.currentIdentifier }
        // In one step with the stop: a start in between would never be stopped.
        let order = orderStop(state: .stopping, reason: .requested, andClose: true)
        guard !isOnCaptureThread else { return }
        do { try awaitStop(order.session) } catch { return }
        guard let life = order.life else { return }
        _ = control.contents.wait(until: limit) { $0.livesEnded != life ? () : nil }
    }

    /// Nothing is delivered from here on, and the source's waits end.
    @discardableResult
    private func orderStop(
        state: CaptureState, reason: CaptureState.Change.Reason, andClose: Bool = false
    ) -> (session: UInt64?, life: UInt64?) {
        let order = control.update { [waiter = control.waiter] contents, states in
            if andClose, contents.phase != .idle, contents.phase != .closing { contents.isCloseOrdered = true }
            if andClose, contents.phase == .opening { waiter.raiseStop() }
            let order = (
                session: contents.phase.isStarted ? contents.sessionsEnded : nil,
                life: contents.phase != .idle ? contents.livesEnded : nil
            )
            guard contents.phase.isStarted, !contents.isStopOrdered else { return order }
            contents.isStopOrdered = true
            states.transition(to: state, reason: reason)
            waiter.raiseStop()
            return order
        }
        control.waiter.callStopHandler()
        return order
    }

    /// The timeout is about a person's time, so it is by the machine's clock even when the capture's is virtual.
    private var limit: MediaTime { MonotonicClock().now.advanced(by: timeout) }

    private var subject: String { control.contents.withLock { $0.media.sourceName } ?? name }

    private func stalled(_ operation: String) -> CaptureError {
        CaptureError(
            .stalled, operation: operation, subject: subject,
            message: "The source has not answered for \(timeout); check the device, then start again.")
    }

    private func outOfOrder(_ operation: String) -> CaptureError {
        CaptureError(
            .invalidState, operation: operation, subject: subject,
            message: "Cannot \(operation): the capture is not initialized. Call initCapture first.")
    }
}

/// What a start finds.
private enum StartAnswer { case mustWait, isStarted, isIdle }
