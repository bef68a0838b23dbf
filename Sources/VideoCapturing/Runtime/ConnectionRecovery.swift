/// Why the connection of a network source has ended.
package enum ConnectionLoss: Error {
    /// The other side has ended the stream regularly.
    case ended
    /// Nothing was received within the timeout.
    case stalled(CaptureError)
    /// Another error.
    case failed(CaptureError)

    /// Nil for a regular end.
    package var error: CaptureError? {
        switch self {
        case .ended: nil
        case .stalled(let error), .failed(let error): error
        }
    }

    /// A sentence for the user.
    ///
    /// - Parameter peer: the other side, as in `server`.
    package func reason(_ peer: String) -> String { error?.message ?? "The \(peer) has ended the stream." }
}

/// The attempts of a network source to connect again after a loss, on the capture thread.
///
/// The source connects, and says which delays its configuration has; the order of things is here.
package struct ConnectionRecovery {
    private struct Attempt {
        /// Counts from 1 since the loss.
        var number: Int
        /// By the capture's clock.
        var due: MediaTime
    }
    private var next: Attempt?

    /// There is nothing to recover.
    package init() {}

    /// The number of the attempt that is due next; nil while there is nothing to recover.
    package var attempt: Int? { next?.number }

    /// Begins after a loss, and reports the interruption.
    ///
    /// - Parameters:
    ///   - loss: nil where no connection was made in this session.
    ///   - delay: before the first attempt; nil when none is wanted.
    ///   - context: of the source.
    /// - Returns: false when there is no attempt, and no error either: the stream has ended.
    /// - Throws: the error that ends the capture.
    package mutating func begin(
        after loss: ConnectionLoss?, delay: Duration?, _ context: FrameContext
    ) throws(CaptureError) -> Bool {
        guard let delay else {
            guard var error = loss?.error else { return false }
            if case .failed = loss { error.code = .deviceLost }
            throw error
        }
        if case .stalled = loss {
            context.reportInterruption(.stalled)
        } else {
            context.reportInterruption(.deviceDisconnected)
        }
        next = Attempt(number: 1, due: context.now.advanced(by: delay))
        return true
    }

    /// Waits for the time of the next attempt. False when the capture is being stopped, or without a next attempt.
    package func wait(_ context: FrameContext) -> Bool {
        guard let next else { return false }
        return context.wait(until: next.due)
    }

    /// Schedules another attempt after one that has failed.
    ///
    /// - Parameters:
    ///   - error: why it has failed.
    ///   - delay: before the next; nil when none is wanted.
    ///   - context: of the source.
    /// - Throws: `error` when no further attempt is wanted.
    package mutating func retry(
        after error: CaptureError, delay: Duration?, _ context: FrameContext
    ) throws(CaptureError) {
        guard let delay else { throw error }
        next = Attempt(number: (next?.number ?? 0) + 1, due: context.now.advanced(by: delay))
    }

    /// Ends with a connection, or with the session.
    package mutating func end() { next = nil }
}
