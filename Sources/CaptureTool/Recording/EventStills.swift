import MediaPublishing
import VideoCapturing

/// Takes a still for each clip that begins, next to its file: `door-001.jpg` of `door-001.webm`. Safe to use from any thread.
final class EventStills: Sendable {
    /// Takes the frame of this moment, and writes it under a path that no file has. It calls back once, on any thread, with the
    /// reason where there is no still.
    typealias Taker = @Sendable (_ path: String, _ done: @escaping @Sendable ((any Error)?) -> Void) -> Void

    private let take: Taker
    private let onNotice: @Sendable (String) -> Void
    /// The stills by the paths of the clips that are recorded.
    private let paths = Locked<[String: String]>([:])

    /// How long an event waits for its still.
    private static let timeout = Duration.seconds(3)

    /// - Parameters:
    ///   - take: takes one.
    ///   - onNotice: called with a sentence for the user, on any thread.
    init(_ take: @escaping Taker, onNotice: @escaping @Sendable (String) -> Void) {
        self.take = take
        self.onNotice = onNotice
    }

    /// The path of the still of an event's clip; nil without one. The begin of a clip takes it, and waits for it.
    func path(for event: RecordingEvent) -> String? {
        guard event.phase == .begin else { return paths.withLock { $0.removeValue(forKey: event.path) } }
        let path = TriggeredOutput.stillPath(of: event.path)
        let result = Locked<Result<Void, any Error>?>(nil)
        take(path) { error in
            result.withLock { $0 = error.map { .failure($0) } ?? .success(()) }
            result.wakeAll()
        }
        switch result.wait(until: MonotonicClock().now + EventStills.timeout, for: { $0 }) {
        case .success:
            paths.withLock { $0[event.path] = path }
            return path
        case .failure(let error):
            onNotice("\(path): no still of the event. \(error)")
            return nil
        case nil:
            onNotice("\(path): no still of the event within \(EventStills.timeout).")
            return nil
        }
    }
}
