/// Holds the state of a capture, and reports every change to every stream, in order.
///
/// `SourceCapturer` and captures of this package that conform to `VideoCapture` directly have one. Safe to use from any
/// thread.
package final class CaptureStateMachine: Sendable {
    private struct Contents {
        var state = CaptureState.idle
        var observers: [UInt64: AsyncStream<CaptureState.Change>.Continuation] = [:]
        var nextObserver: UInt64 = 0
    }

    private let contents = Locked(Contents())

    package init() {}

    deinit {
        contents.withLock { contents in
            for observer in contents.observers.values { observer.finish() }
        }
    }

    /// The state now.
    package var state: CaptureState { contents.withLock { $0.state } }

    /// Enters `state` and reports it; does nothing when that is the state already.
    package func transition(to state: CaptureState, reason: CaptureState.Change.Reason) {
        contents.withLock { contents in
            guard contents.state != state else { return }
            let change = CaptureState.Change(old: contents.state, new: state, reason: reason)
            contents.state = state
            for observer in contents.observers.values { observer.yield(change) }
        }
    }

    /// A new stream of all changes from now on; none is left out, however late they are read.
    package func changes() -> AsyncStream<CaptureState.Change> {
        let (stream, continuation) = AsyncStream<CaptureState.Change>.makeStream(bufferingPolicy: .unbounded)
        let identifier = contents.withLock { contents in
            contents.nextObserver += 1
            contents.observers[contents.nextObserver] = continuation
            return contents.nextObserver
        }
        continuation.onTermination = { [weak self] _ in
            // Released after the lock, since its end may run code of others.
            _ = self?.contents.withLock { $0.observers.removeValue(forKey: identifier) }
        }
        return stream
    }
}
