/// Decides which capture's data a publisher takes, while one takes over from another. Each capture has an inlet, which is
/// its consumer; the gate knows inlets by their identity.
package final class InletGate: Sendable {
    private struct Contents {
        /// Where data are taken from; nil while the publisher is stopped.
        var inlet: ObjectIdentifier?
        /// Takes over with its first delivery.
        var next: ObjectIdentifier?
    }

    private let contents = Locked(Contents())

    package init() {}

    /// Whether to take what this inlet delivers. An expected inlet takes over.
    package func admits(_ inlet: ObjectIdentifier) -> Bool {
        let (isAdmitted, hasTakenOver) = contents.withLock { contents in
            let takesOver = contents.next == inlet
            if takesOver { contents = Contents(inlet: inlet) }
            return (contents.inlet == inlet, takesOver)
        }
        if hasTakenOver { contents.wakeAll() }
        return isAdmitted
    }

    /// Takes data from this inlet only, and ends a hand-over.
    package func set(_ inlet: ObjectIdentifier) { contents.withLock { $0 = Contents(inlet: inlet) } }

    /// Lets the first delivery of `inlet` take over. Called before its capture starts, which may deliver but once.
    package func expect(_ inlet: ObjectIdentifier) { contents.withLock { $0.next = inlet } }

    /// Takes data from this inlet, unless another one has taken over.
    package func open(_ inlet: ObjectIdentifier) { contents.withLock { $0.inlet = $0.inlet ?? inlet } }

    /// Takes no more data, and ends a hand-over.
    package func close() {
        contents.withLock { $0 = Contents() }
        contents.wakeAll()
    }

    /// Blocks until the first delivery of `inlet` has taken over.
    ///
    /// - Parameter noun: what a capture delivers, for the error.
    /// - Throws: `stalled` when there was none in time, `invalidState` when the publisher was stopped meanwhile.
    package func awaitHandOver(to inlet: ObjectIdentifier, timeout: Duration, noun: String) throws(CaptureError) {
        let deadline = MonotonicClock().now.advanced(by: timeout)
        let hasTakenOver = contents.wait(until: deadline) { contents -> Bool? in
            if contents.inlet == inlet { return true }
            return contents.next == inlet ? nil : false
        }
        switch hasTakenOver {
        case true?: return
        case false?:
            throw CaptureError(
                .invalidState, operation: "replace the capture",
                message: "The publisher was stopped before the new capture had taken over.")
        case nil:
            throw CaptureError(
                .stalled, operation: "replace the capture",
                message: "The new capture has delivered no \(noun) within \(timeout); the old one goes on.")
        }
    }
}
