import VideoCapturing

/// The handlers and streams of a publisher's events.
final class EventList: Sendable {
    private struct State {
        var handler: (@Sendable (MediaPublisher.Event) -> Void)?
        /// Of the capture that the publisher is a part of.
        var observer: (@Sendable (MediaPublisher.Event) -> Void)?
        var handlers: [@Sendable (MediaPublisher.Event) -> Void] { [observer, handler].compactMap { $0 } }
        var streams: [AsyncStream<MediaPublisher.Event>.Continuation] = []
        var end: MediaPublisher.Event.End?
        var isFinished = false
    }

    private let state = Locked(State())

    func setHandler(_ handler: @escaping @Sendable (MediaPublisher.Event) -> Void) {
        state.withLock { $0.handler = handler }
    }

    /// False where there is one. It gets an end that has come already.
    func setObserver(_ observer: @escaping @Sendable (MediaPublisher.Event) -> Void) -> Bool {
        let (isSet, end) = state.withLock { state in
            guard state.observer == nil else { return (false, nil as MediaPublisher.Event.End?) }
            state.observer = observer
            return (true, state.end)
        }
        if let end { observer(.ended(end)) }
        return isSet
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
        let (handlers, streams) = state.withLock { ($0.handlers, $0.streams) }
        for handler in handlers { handler(event) }
        for stream in streams { stream.yield(event) }
    }

    /// Posts the end; the first one counts.
    func end(_ end: MediaPublisher.Event.End) {
        let (handlers, streams) = state.withLock { state in
            guard state.end == nil else { return (state.handlers[..<0], state.streams[..<0]) }
            state.end = end
            return (state.handlers[...], state.streams[...])
        }
        for handler in handlers { handler(.ended(end)) }
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
