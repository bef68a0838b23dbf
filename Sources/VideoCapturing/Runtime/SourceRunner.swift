/// Carries the orders of a ``SourceCapturer`` to the capture thread, and waits for its answers.
///
/// An order is a change of ``SourceControl``; the thread (``SourceLoop``) obeys and changes the phase.
final class SourceRunner: Sendable {
    let control: SourceControl
    private let context: FrameContext
    private let loop: SourceLoop
    private let name: String
    private let patience: Duration
    private let openPatience: Duration

    init(
        _ source: sending some FrameSource, name: String, clock: any CaptureClock, patience: Duration,
        openPatience: Duration
    ) {
        self.name = name
        self.patience = patience
        self.openPatience = openPatience
        control = SourceControl(settings: source.settings, contentHint: source.contentHint)
        context = FrameContext(clock: clock, control: control)
        loop = SourceLoop(source, control: control, context: context)
    }

    func open() throws(CaptureError) {
        let mustOpen: Bool? = control.contents.wait(until: limit) { contents -> Bool? in
            if contents.isBusy { return nil }
            guard contents.phase == .idle else { return false }
            contents.phase = .opening
            contents.failure = nil
            contents.statistics = CaptureStatistics()
            return true
        }
        guard let mustOpen else { throw stalled("open") }
        guard mustOpen else { return }
        do {
            try CaptureThread(name: name) { [loop] in loop.run() }
        } catch {
            control.update { contents, _ in contents.phase = .idle }
            throw error
        }
        let openLimit = MonotonicClock().now.advanced(by: openPatience)
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

    func start() throws(CaptureError) {
        enum Answer { case mustWait, isStarted, isIdle }
        // A stop that has not been obeyed yet came from inside `consumeFrame`, or gave up on the source.
        let answer: Answer? = control.contents.wait(until: limit) { [states = control.states] contents -> Answer? in
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

    func stop() throws(CaptureError) {
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
        func isGoingOn(_ contents: SourceControl.Contents) -> Bool {
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

    /// A source that does not let go is left behind on its thread, and closed there when it does.
    func release() {
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
        state: CaptureState, reason: CaptureStateChange.Reason, andClose: Bool = false
    ) -> (session: UInt64?, life: UInt64?) {
        let order = control.update { [context] contents, states in
            if andClose, contents.phase != .idle, contents.phase != .closing { contents.isCloseOrdered = true }
            if andClose, contents.phase == .opening { context.raiseStop() }
            let order = (
                session: contents.phase.isStarted ? contents.sessionsEnded : nil,
                life: contents.phase != .idle ? contents.livesEnded : nil
            )
            guard contents.phase.isStarted, !contents.isStopOrdered else { return order }
            contents.isStopOrdered = true
            states.transition(to: state, reason: reason)
            context.raiseStop()
            return order
        }
        context.callStopHandler()
        return order
    }

    /// Patience is about a person's time, so it is the machine's clock even when the capture's is virtual.
    private var limit: MediaTime { MonotonicClock().now.advanced(by: patience) }

    private var subject: String { control.contents.withLock { $0.settings.sourceName } ?? name }

    private func stalled(_ operation: String) -> CaptureError {
        CaptureError(
            .stalled, operation: operation, subject: subject,
            message: "The source has not answered for \(patience); check the device, then start again.")
    }

    private func outOfOrder(_ operation: String) -> CaptureError {
        CaptureError(
            .invalidState, operation: operation, subject: subject,
            message: "Cannot \(operation): the capture is not initialized. Call initCapture first.")
    }
}
