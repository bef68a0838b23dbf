import VideoCapturing

/// The events of a run, posted from any thread, for which the main thread waits.
final class RunEvents: Sendable {
    /// Why a run ends.
    enum End: Sendable {
        /// The requested number of frames, or duration, was reached.
        case limitReached
        /// A signal.
        case asked
        /// The capture has stopped on its own: at the end of a file, or after an error.
        case captureStopped(CaptureState.StopReason)
        /// An output has failed, and the run does not continue without it.
        case outputFailed
    }

    /// An output that has failed.
    struct Failure: Sendable {
        /// The output's index in the plan; nil for the encoder, and with it all its outputs.
        var output: Int?
        var error: any Error
    }

    private struct State {
        var end: End?
        var failures: [Failure] = []
        var warnings: [String] = []
        var notices: [String] = []
    }

    /// The events since the last wait.
    struct News: Sendable {
        var end: End?
        var failures: [Failure] = []
        /// Sentences for the user, about problems that lose no data.
        var warnings: [String] = []
        /// Sentences for the user, for information.
        var notices: [String] = []
    }

    private let state = Locked(State())

    /// Posts the reason why the run ends; the first one counts.
    func post(_ end: End) {
        state.withLock { $0.end = $0.end ?? end }
        state.wakeAll()
    }

    /// Posts the failure of an output.
    func post(_ failure: Failure) {
        state.withLock { $0.failures.append(failure) }
        state.wakeAll()
    }

    /// Posts a problem that loses no data.
    func post(warning: String) {
        state.withLock { $0.warnings.append(warning) }
        state.wakeAll()
    }

    /// Posts information for the user.
    func post(notice: String) {
        state.withLock { $0.notices.append(notice) }
        state.wakeAll()
    }

    /// Waits until the run is to end, an event was posted, or the deadline has passed. Failures, warnings and notices
    /// are returned once.
    func wait(until deadline: MediaTime) -> News {
        let news = state.wait(until: deadline) { state -> News? in
            let isQuiet = state.failures.isEmpty && state.warnings.isEmpty && state.notices.isEmpty
            guard state.end != nil || !isQuiet else { return nil }
            defer {
                state.failures = []
                state.warnings = []
                state.notices = []
            }
            return News(
                end: state.end, failures: state.failures, warnings: state.warnings, notices: state.notices)
        }
        return news ?? News()
    }

    /// Removes and returns the failures that have not been reported.
    func takeFailures() -> [Failure] {
        state.withLock { state in
            defer { state.failures = [] }
            return state.failures
        }
    }
}
