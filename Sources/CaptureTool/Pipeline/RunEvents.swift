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
        var warnings: [String] = []
        var notices: [String] = []
    }

    /// What has happened since it was asked last.
    struct News: Sendable {
        var end: End?
        var failures: [Failure] = []
        /// Sentences for the user: nothing is lost, but something is not as it should be.
        var warnings: [String] = []
        /// Sentences that the user may want to know.
        var notices: [String] = []
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

    /// Tells what is not as it should be.
    func post(warning: String) {
        state.withLock { $0.warnings.append(warning) }
        state.wakeAll()
    }

    /// Tells what the user may want to know.
    func post(notice: String) {
        state.withLock { $0.notices.append(notice) }
        state.wakeAll()
    }

    /// Waits until the run is to end, something has happened, or the deadline has passed. Failures, warnings and notices
    /// are given once.
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

    /// The failures that nobody has been told of.
    func takeFailures() -> [Failure] {
        state.withLock { state in
            defer { state.failures = [] }
            return state.failures
        }
    }
}
