import MediaPublishing
import VideoCapturing

/// The events of a run, posted from any thread, for which the main thread waits.
final class RunEvents: Sendable {
    /// Outputs that have failed, several when it is their encoder.
    struct Failure: Sendable {
        var outputs: [MediaPublisher.OutputID]
        var error: any Error
    }

    /// The events since the last wait.
    struct News: Sendable {
        /// Why the run ends; stays.
        var end: MediaPublisher.Event.End?
        var failures: [Failure] = []
        /// Sentences for the user, about problems that lose no data.
        var warnings: [String] = []
        /// Sentences for the user, for information.
        var notices: [String] = []
        /// Clips that have begun or ended.
        var recordings: [RecordingEvent] = []
        /// Whether an output has all that it was to get.
        var hasCompletion = false
        /// Whether to open files again.
        var isReopening = false

        var isEmpty: Bool {
            end == nil && failures.isEmpty && warnings.isEmpty && notices.isEmpty && recordings.isEmpty
                && !hasCompletion && !isReopening
        }
    }

    private let state = Locked(News())
    private let warnings = Locked(NoticeLimiter())

    /// Posts an event of the publisher.
    func post(_ event: MediaPublisher.Event) {
        var admitted: [String] = []
        if case .warning(let warning) = event {
            admitted = warnings.withLock { $0.admit(warning, at: MonotonicClock().now) }
        }
        state.withLock { state in
            switch event {
            case .ended(let end): state.end = state.end ?? end
            case .outputsFailed(let outputs, let error): state.failures.append(Failure(outputs: outputs, error: error))
            case .outputCompleted: state.hasCompletion = true
            case .warning: state.warnings += admitted
            }
        }
        state.wakeAll()
    }

    /// Posts information for the user.
    func post(notice: String) {
        state.withLock { $0.notices.append(notice) }
        state.wakeAll()
    }

    /// Posts a request to open files again.
    func postReopening() {
        state.withLock { $0.isReopening = true }
        state.wakeAll()
    }

    /// Posts the begin or the end of a clip.
    func post(_ event: RecordingEvent) {
        state.withLock { $0.recordings.append(event) }
        state.wakeAll()
    }

    /// Waits until the run is to end, an event was posted, or the deadline has passed. Failures, warnings and notices
    /// are returned once.
    func wait(until deadline: MediaTime) -> News {
        let news = state.wait(until: deadline) { state -> News? in
            guard !state.isEmpty else { return nil }
            defer { state = News(end: state.end) }
            return state
        }
        return news ?? News()
    }
}
