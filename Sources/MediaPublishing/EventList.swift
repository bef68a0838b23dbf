import VideoCapturing

/// The handlers and streams of a publisher's events.
final class EventList: Sendable {
    private struct State {
        var handler: (@Sendable (MediaPublisher.Event) -> Void)?
        /// Of the capture that the publisher is a part of.
        var observer: (@Sendable (MediaPublisher.Event) -> Void)?
        var handlers: [@Sendable (MediaPublisher.Event) -> Void] { [observer, handler].compactMap { $0 } }
        var end: MediaPublisher.Event.End?
        var isFinished = false
    }

    private let state = Locked(State())
    private let streams = ObserverStreams<MediaPublisher.Event>()

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
        // With the lock held, so that an end comes once.
        state.withLock { state in
            streams.stream(beginningWith: (state.end ?? (state.isFinished ? .stopRequested : nil)).map { .ended($0) })
        }
    }

    func post(_ event: MediaPublisher.Event) {
        for handler in state.withLock({ $0.handlers }) { handler(event) }
        streams.send(event)
    }

    /// Posts the end; the first one counts.
    func end(_ end: MediaPublisher.Event.End) {
        let handlers = state.withLock { state in
            guard state.end == nil else { return state.handlers[..<0] }
            state.end = end
            streams.send(.ended(end))
            return state.handlers[...]
        }
        for handler in handlers { handler(.ended(end)) }
    }

    /// Ends the streams, and those to come.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            streams.finish()
        }
    }
}
