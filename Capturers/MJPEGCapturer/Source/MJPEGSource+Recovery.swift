import VideoCapturing

extension MJPEGSource {
    /// Handles a lost connection: reports it, and schedules the next attempt. False when there is none, and no error
    /// either.
    ///
    /// Throws the error that ends the capture.
    func lose(_ loss: ConnectionLoss, _ context: FrameContext) throws(CaptureError) -> Bool {
        guard !context.isStopping else { return true }
        collectLosses()
        disconnect()
        let delay = configuration.reconnect.delay(beforeAttempt: 1)
        guard try recovery.begin(after: loss, delay: delay, context) else { return false }
        let reason = loss.reason("server")
        status.count { $0.lastInterruption = reason }
        status.report(.disconnected(reason: reason))
        if let delay { status.report(.waiting(delay, attempt: 1)) }
        return true
    }

    /// Waits for the time of the next attempt and connects; also returns when the capture is being stopped.
    func recover(_ context: FrameContext) throws(CaptureError) -> Bool {
        guard let attempt = recovery.attempt else { return false }
        guard recovery.wait(context) else { return true }
        do throws(CaptureError) {
            try connect(context)
            recovery.end()
            status.count { $0.reconnects += 1 }
            status.report(.reconnected(attempts: attempt))
        } catch {
            guard !context.isStopping else { return true }
            let delay = configuration.reconnect.delay(beforeAttempt: attempt + 1)
            try recovery.retry(after: error, delay: delay, context)
            status.report(.attemptFailed(reason: error.message, attempt: attempt))
            if let delay { status.report(.waiting(delay, attempt: attempt + 1)) }
        }
        return true
    }
}
