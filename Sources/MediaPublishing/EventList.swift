import VideoCapturing

/// The handlers and streams of a publisher's events.
final class EventList: Sendable {
    private struct State {
        var handler: (@Sendable (MediaPublisher.Event) -> Void)?
        var streams: [AsyncStream<MediaPublisher.Event>.Continuation] = []
        var hasEnded = false
    }

    private let state = Locked(State())

    func setHandler(_ handler: @escaping @Sendable (MediaPublisher.Event) -> Void) {
        state.withLock { $0.handler = handler }
    }

    func stream() -> AsyncStream<MediaPublisher.Event> {
        let (stream, continuation) = AsyncStream<MediaPublisher.Event>.makeStream()
        state.withLock { $0.streams.append(continuation) }
        return stream
    }

    func post(_ event: MediaPublisher.Event) {
        let (handler, streams) = state.withLock { ($0.handler, $0.streams) }
        handler?(event)
        for stream in streams { stream.yield(event) }
    }

    /// Posts the end; the first one counts.
    func end(_ end: MediaPublisher.Event.End) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { post(.ended(end)) }
    }

    func finish() {
        for stream in state.withLock({ $0.streams }) { stream.finish() }
    }
}
