import VideoCapturing

extension MJPEGSource {
    /// The connection is lost: says so, and plans the next attempt. False when there is none, and no error either.
    ///
    /// Throws what ends the capture.
    func lose(_ loss: StreamLoss, _ context: FrameContext) throws(CaptureError) -> Bool {
        guard !context.isStopping else { return true }
        collectLosses()
        disconnect()
        guard let delay = configuration.reconnect.delay(beforeAttempt: 1) else {
            guard var error = loss.error else { return false }
            if case .failed = loss { error.code = .deviceLost }
            throw error
        }
        if case .stalled = loss {
            context.reportInterruption(.stalled)
        } else {
            context.reportInterruption(.deviceDisconnected)
        }
        outage = StreamOutage(due: context.now.advanced(by: delay))
        status.count { [reason = loss.reason] in $0.lastInterruption = reason }
        status.tell(.disconnected(reason: loss.reason))
        status.tell(.waiting(delay, attempt: 1))
        return true
    }

    /// Waits for the time of the next attempt and makes it; also returns when the capture is being stopped.
    func recover(_ context: FrameContext) throws(CaptureError) -> Bool {
        guard let outage else { return false }
        guard context.wait(until: outage.due) else { return true }
        do throws(CaptureError) {
            try connect(context)
            self.outage = nil
            status.count { $0.reconnects += 1 }
            status.tell(.reconnected(attempts: outage.attempt))
        } catch {
            guard !context.isStopping else { return true }
            let next = outage.attempt + 1
            guard let delay = configuration.reconnect.delay(beforeAttempt: next) else { throw error }
            self.outage = StreamOutage(attempt: next, due: context.now.advanced(by: delay))
            status.tell(.attemptFailed(reason: error.message, attempt: outage.attempt))
            status.tell(.waiting(delay, attempt: next))
        }
        return true
    }
}
