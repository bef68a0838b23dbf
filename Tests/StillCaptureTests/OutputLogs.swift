import MediaPublishing
import Testing
import VideoCapturing

/// What happens to a publisher's run, kept for a test that waits for it.
final class EventLog: Sendable {
    private struct State {
        var hasEnded = false
        var failures: [any Error] = []
        var completed: [MediaPublisher.OutputID] = []
    }

    private let state = Locked(State())

    init(_ publisher: MediaPublisher) {
        publisher.setEventHandler { [state] event in
            state.withLock { state in
                switch event {
                case .ended: state.hasEnded = true
                case .outputsFailed(_, let error): state.failures.append(error)
                case .outputCompleted(let id): state.completed.append(id)
                case .warning: break
                }
            }
            state.wakeAll()
        }
    }

    var failures: [any Error] { state.withLock { $0.failures } }
    var completed: [MediaPublisher.OutputID] { state.withLock { $0.completed } }

    func waitForEnd() throws {
        try #require(state.wait(until: EventLog.limit) { $0.hasEnded ? () : nil } != nil)
    }

    func waitForCompletion(of id: MediaPublisher.OutputID) throws {
        try #require(state.wait(until: EventLog.limit) { $0.completed.contains(id) ? () : nil } != nil)
    }

    func waitForFailure() throws -> any Error {
        try #require(state.wait(until: EventLog.limit) { $0.failures.first })
    }

    static var limit: MediaTime { MonotonicClock().now.advanced(by: .seconds(60)) }
}

/// What an output reports to a context of the test's own.
final class Reports: Sendable {
    private struct State {
        var failures: [any Error] = []
        var warnings: [String] = []
        var completions = 0
    }

    private let state = Locked(State())

    var failures: [any Error] { state.withLock { $0.failures } }
    var warnings: [String] { state.withLock { $0.warnings } }
    var hasCompleted: Bool { state.withLock { $0.completions == 1 } }

    func fail(_ error: any Error) { state.withLock { $0.failures.append(error) } }
    func warn(_ text: String) { state.withLock { $0.warnings.append(text) } }
    func complete() {
        state.withLock { $0.completions += 1 }
        state.wakeAll()
    }

    func waitForCompletion() -> Bool {
        state.wait(until: EventLog.limit) { $0.completions > 0 ? () : nil } != nil
    }
}
