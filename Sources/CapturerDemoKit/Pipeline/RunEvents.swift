import VideoCapturing

/// What happens to a run, from any thread, for the main thread to wait for.
final class RunEvents: Sendable {
    /// Why a run ends.
    enum End: Sendable {
        /// All frames, or all of the time, that was asked for.
        case limitReached
        /// A signal.
        case asked
        /// The capture has stopped by itself.
        case captureStopped(StopReason)
        /// An output has failed, and the run is not to go on without it.
        case outputFailed
    }

    /// An output that has failed.
    struct Failure: Sendable {
        /// The output's number in the plan; nil for the encoder and with it all its outputs.
        var output: Int?
        var error: any Error
    }

    private struct State {
        var end: End?
        var failures: [Failure] = []
    }

    private let state = Locked(State())

    /// Tells why the run ends; the first reason counts.
    func post(_ end: End) {
        state.withLock { $0.end = $0.end ?? end }
        state.wakeAll()
    }

    /// Tells of an output that has failed.
    func post(_ failure: Failure) {
        state.withLock { $0.failures.append(failure) }
        state.wakeAll()
    }

    /// Waits until the run is to end, something has failed, or the deadline has passed. Failures are given once.
    func wait(until deadline: MediaTime) -> (end: End?, failures: [Failure]) {
        func take(_ state: inout State) -> (end: End?, failures: [Failure]) {
            defer { state.failures = [] }
            return (state.end, state.failures)
        }
        let news = state.wait(until: deadline) { state -> (end: End?, failures: [Failure])? in
            state.end != nil || !state.failures.isEmpty ? take(&state) : nil
        }
        return news ?? (nil, [])
    }

    /// The failures that nobody has been told of.
    func takeFailures() -> [Failure] {
        state.withLock { state in
            defer { state.failures = [] }
            return state.failures
        }
    }
}
