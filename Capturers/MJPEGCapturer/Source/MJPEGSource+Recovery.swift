import VideoCapturing

extension MJPEGSource {
    /// Handles a lost connection: reports it, and schedules the next attempt. False when there is none, and no error
    /// either.
    ///
    /// Throws the error that ends the capture.
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
        outage = StreamInterruption(due: context.now.advanced(by: delay))
        status.count { [reason = loss.reason] in $0.lastInterruption = reason }
        status.report(.disconnected(reason: loss.reason))
        status.report(.waiting(delay, attempt: 1))
        return true
    }

    /// Waits for the time of the next attempt and connects; also returns when the capture is being stopped.
    func recover(_ context: FrameContext) throws(CaptureError) -> Bool {
        guard let outage else { return false }
        guard context.wait(until: outage.due) else { return true }
        do throws(CaptureError) {
            try connect(context)
            self.outage = nil
            status.count { $0.reconnects += 1 }
            status.report(.reconnected(attempts: outage.attempt))
        } catch {
            guard !context.isStopping else { return true }
            let next = outage.attempt + 1
            guard let delay = configuration.reconnect.delay(beforeAttempt: next) else { throw error }
            self.outage = StreamInterruption(attempt: next, due: context.now.advanced(by: delay))
            status.report(.attemptFailed(reason: error.message, attempt: outage.attempt))
            status.report(.waiting(delay, attempt: next))
        }
        return true
    }
}

/// Why a connection has ended.
enum StreamLoss: Error {
    /// The server has closed the stream regularly.
    case ended
    /// Nothing was received within the timeout.
    case stalled(CaptureError)
    /// Another error.
    case failed(CaptureError)

    /// Nil for a regular end.
    var error: CaptureError? {
        switch self {
        case .ended: nil
        case .stalled(let error), .failed(let error): error
        }
    }

    /// A sentence for the user.
    var reason: String { error?.message ?? "The server has ended the stream." }
}

/// The time between a loss and the first image after it.
struct StreamInterruption {
    /// Counts from 1.
    var attempt = 1
    /// The time of the attempt, by the capture's clock.
    var due: MediaTime
}
