/// Holds the state of a capture, and reports every change to every stream, in order.
///
/// `SourceCapturer` and captures of this package that conform to `VideoCapture` directly have one. Safe to use from any
/// thread.
package final class CaptureStateMachine: Sendable {
    private let current = Locked(CaptureState.idle)
    private let observers = ObserverStreams<CaptureState.Change>()

    package init() {}

    /// The state now.
    package var state: CaptureState { current.withLock { $0 } }

    /// Enters `state` and reports it; does nothing when that is the state already.
    package func transition(to state: CaptureState, reason: CaptureState.Change.Reason) {
        current.withLock { current in
            guard current != state else { return }
            observers.send(CaptureState.Change(old: current, new: state, reason: reason))
            current = state
        }
    }

    /// A new stream of all changes from now on; none is left out, however late they are read.
    package func changes() -> AsyncStream<CaptureState.Change> { observers.stream() }
}
