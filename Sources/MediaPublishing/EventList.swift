import VideoCapturing

/// The handlers and streams of a publisher's events.
final class EventList: Sendable {
    private struct State {
        var handler: (@Sendable (MediaPublisher.Event) -> Void)?
        var streams: [AsyncStream<MediaPublisher.Event>.Continuation] = []
        var end: MediaPublisher.Event.End?
        var isFinished = false
    }

    private let state = Locked(State())

    func setHandler(_ handler: @escaping @Sendable (MediaPublisher.Event) -> Void) {
        state.withLock { $0.handler = handler }
    }

    func stream() -> AsyncStream<MediaPublisher.Event> {
        let (stream, continuation) = AsyncStream<MediaPublisher.Event>.makeStream()
        let isFinished = state.withLock { state in
            if !state.isFinished { state.streams.append(continuation) }
            // With the lock held, so that it comes once.
            if let end = state.end ?? (state.isFinished ? .stopRequested : nil) { continuation.yield(.ended(end)) }
            return state.isFinished
        }
        if isFinished { continuation.finish() }
        return stream
    }

    func post(_ event: MediaPublisher.Event) {
        let (handler, streams) = state.withLock { ($0.handler, $0.streams) }
        handler?(event)
        for stream in streams { stream.yield(event) }
    }

    /// Posts the end; the first one counts.
    func end(_ end: MediaPublisher.Event.End) {
        let (handler, streams) = state.withLock { state in
            guard state.end == nil else {
                return (nil as (@Sendable (MediaPublisher.Event) -> Void)?, state.streams[..<0])
            }
            state.end = end
            return (state.handler, state.streams[...])
        }
        handler?(.ended(end))
        for stream in streams { stream.yield(.ended(end)) }
    }

    /// Ends the streams, and those to come.
    func finish() {
        let streams = state.withLock { state in
            defer { state.streams = [] }
            state.isFinished = true
            return state.streams
        }
        for stream in streams { stream.finish() }
    }
}
