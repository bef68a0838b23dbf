import VideoCapturing

/// The capture behind a ``StillEngine``: whether it runs, and which one it is.
extension StillEngine {
    func beginAttaching() -> Bool {
        connection.withLock { connection in
            defer { connection.isAttached = true }
            return !connection.isAttached
        }
    }

    func connect(_ feedback: CaptureFeedback) {
        connection.withLock { connection in
            connection.feedback = feedback
            connection.wasDetached = false
        }
        feedback.updateWants(.passive)
    }

    func attach(_ publisher: VideoPublisher) {
        connection.withLock { $0.publisher = publisher }
        _ = syncGate()
    }

    func detach() {
        let observation = connection.withLock { connection in
            let old = connection.observation
            connection = Connection(wasDetached: true, observationNumber: connection.observationNumber + 1)
            return old
        }
        observation?.cancel()
        perform(state.withLock { $0.failAll(.notRunning(nil)) })
    }

    func currentCapture() -> (any VideoCapture)? { connection.withLock { $0.publisher }?.capture }

    /// Reads whether the capture runs, and follows a publisher to another capture.
    ///
    /// - Returns: the capture's state; nil without a publisher.
    func syncGate() -> CaptureState? {
        // Several threads read the state, none under the lock: the first value read may arrive last.
        let reading = state.withLock { $0.makeIdentifier() }
        guard let capture = currentCapture() else { return nil }
        let (number, isReplaced) = connection.withLock { connection -> (UInt64?, Bool) in
            guard connection.observed !== capture else { return (nil, false) }
            connection.observed = capture
            connection.observationNumber += 1
            return (connection.observationNumber, connection.observation != nil)
        }
        if let number { observe(capture, number) }
        let captureState = capture.state
        let effects = state.withLock { state in
            var effects = StillEffects()
            if isReplaced {
                for identifier in state.bursts.keys { state.bursts[identifier]!.reportReplacement(&effects) }
            }
            state.adopt(captureState, reading, &effects)
            state.updateReadiness()
            return effects
        }
        perform(effects)
        return captureState
    }

    private func observe(_ capture: any VideoCapture, _ number: UInt64) {
        let changes = capture.stateChanges()
        let task = Task { [weak self] in
            for await _ in changes { self?.captureChanged(number) }
        }
        let surplus = connection.withLock { connection in
            guard connection.observationNumber == number else { return task as Task<Void, Never>? }
            defer { connection.observation = task }
            return connection.observation
        }
        surplus?.cancel()
    }

    private func captureChanged(_ number: UInt64) {
        let now = syncGate()
        // That the old capture of a publisher that has another ends is of no concern.
        guard let now, connection.withLock({ $0.observationNumber }) == number else { return }
        let effects = state.withLock { state in
            var effects = StillEffects(wakesScheduler: true)
            // Unless it runs again by now, and the requests are for that.
            if StillState.Gate(now) == .closed, state.gate == .closed { state.failSingles(.notRunning(now), &effects) }
            state.updateReadiness()
            return effects
        }
        perform(effects)
        // The picture of then is not that of now.
        while state.withLock({ $0.gate == .open ? nil : $0.ring.removeFirst() }) != nil {}
    }

    /// Follows a capture that another object watches, into an interruption; the next frame ends it.
    func interrupt(_ new: CaptureState) {
        let effects = state.withLock { state in
            var effects = StillEffects(wakesScheduler: true)
            for identifier in state.bursts.keys { state.bursts[identifier]!.report(new, &effects) }
            state.setGate(.momentarilyClosed)
            state.updateReadiness()
            return effects
        }
        perform(effects)
        while state.withLock({ $0.gate == .open ? nil : $0.ring.removeFirst() }) != nil {}
    }

    /// Why nothing is taken now: the capture does not run, or its publisher has gone. Without a publisher frames are handed
    /// in by hand, and may be at any time.
    func refusal(_ captureState: CaptureState?) -> StillCaptureError? {
        if state.withLock({ $0.isClosed }) || connection.withLock({ $0.wasDetached }) { return .notRunning(nil) }
        guard let captureState, StillState.Gate(captureState) == .closed else { return nil }
        return .notRunning(captureState)
    }
}
