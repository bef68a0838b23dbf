/// What a publisher of pictures and one of sound have in common: the captures that it owns, one after the other, and the
/// order in which captures and consumers start and end. The fan-out has all that differs.
package final class PublisherCore<FanOut: CaptureFanOut>: Sendable {
    package let fanOut: FanOut
    private let current: Locked<Current>

    private struct Current {
        var capture: FanOut.Capture
        /// Held here, since a capture holds its consumer weakly.
        var inlet: any AnyObject & Sendable
        var isReplacing = false
        /// The one that is to take over.
        var incoming: FanOut.Capture?
        /// Between start and stop, even when the capture has ended on its own account.
        var isStarted = false
        var isClosed = false
    }

    package init(_ capture: FanOut.Capture, _ fanOut: FanOut) {
        self.fanOut = fanOut
        let inlet = fanOut.connect(capture)
        fanOut.gate.set(ObjectIdentifier(inlet))
        current = Locked(Current(capture: capture, inlet: inlet))
    }

    /// The capture that is published now.
    package var capture: FanOut.Capture { current.withLock { $0.capture } }

    private var life: any CaptureLifeCycle { fanOut.life(of: capture) }

    package func start() throws(CaptureError) {
        try checkIsOpen("start the publisher")
        let life = self.life
        for place in fanOut.places { place.setStopping(false) }
        try life.initCapture()
        fanOut.gate.open(current.withLock { ObjectIdentifier($0.inlet) })
        try life.startCapture()
        current.withLock { $0.isStarted = true }
        fanOut.didStart()
    }

    package func stop() throws(CaptureError) {
        current.withLock { $0.isStarted = false }
        beginStop()
        let stopped = Result { () throws(CaptureError) in try stopCaptures() }
        let places = fanOut.places
        let start = MonotonicClock().now
        // First of all, so that no live queue is worked through while a file is waited for.
        for place in places { place.discardLive() }
        let stalled = places.filter { !$0.awaitRest(since: start) }
        try stopped.get()
        guard !stalled.isEmpty else { return }
        throw CaptureError(
            .stalled, operation: "stop", subject: stalled.map(\.name).joined(separator: ", "),
            message: "The consumer has not returned within its timeout, and the waiting \(FanOut.noun) was dropped; "
                + "check its destination.")
    }

    package func close() {
        current.withLock { current in
            current.isStarted = false
            current.isClosed = true
        }
        beginStop()
        try? stopCaptures()
        life.releaseCapture()
        let start = MonotonicClock().now
        for place in fanOut.removeAll() { place.end(since: start) }
    }

    /// - Throws: `invalidState` once it is closed: no consumer would get anything.
    package func checkIsOpen(_ operation: String) throws(CaptureError) {
        guard current.withLock({ $0.isClosed }) else { return }
        throw CaptureError(
            .invalidState, operation: operation, message: "The publisher is closed; make another one.")
    }

    private func beginStop() {
        // The capture may wait for room in a queue whose consumer is the one that calls this.
        for place in fanOut.places { place.setStopping(true) }
        fanOut.willStop()
    }

    /// Stops the capture, and one that is about to take over: then it does not.
    private func stopCaptures() throws(CaptureError) {
        let (capture, incoming) = current.withLock { ($0.capture, $0.incoming) }
        defer {
            fanOut.gate.close()
            if let incoming { try? fanOut.life(of: incoming).stopCapture() }
        }
        try fanOut.life(of: capture).stopCapture()
    }

    package func replaceCapture(with new: FanOut.Capture, timeout: Duration) throws(CaptureError) {
        let old = current.withLock { current -> FanOut.Capture? in
            guard !current.isReplacing else { return nil }
            current.isReplacing = true
            return current.capture
        }
        guard let old else {
            throw CaptureError(
                .invalidState, operation: "replace the capture",
                message: "Another replacement is under way; wait for its end.")
        }
        defer {
            current.withLock { current in
                current.isReplacing = false
                current.incoming = nil
            }
        }
        let life = fanOut.life(of: new)
        guard life !== fanOut.life(of: old) else { return }
        let inlet = fanOut.connect(new)
        let identity = ObjectIdentifier(inlet)
        let isStarted = current.withLock { current in
            current.incoming = new
            // With the lock held, so that a stop comes before and is seen, or afterwards and ends it.
            if current.isStarted { fanOut.gate.expect(identity) }
            return current.isStarted
        }
        do {
            if isStarted {
                try life.initCapture()
                try life.startCapture()
                try fanOut.gate.awaitHandOver(to: identity, timeout: timeout, noun: FanOut.noun)
            } else {
                fanOut.gate.set(identity)
            }
            try current.withLock { current throws(CaptureError) in
                guard current.isStarted == isStarted else {
                    throw CaptureError(
                        .invalidState, operation: "replace the capture",
                        message: "The publisher was \(isStarted ? "stopped" : "started") meanwhile; the old one stays.")
                }
                current.capture = new
                current.inlet = inlet
            }
        } catch {
            fanOut.gate.set(current.withLock { ObjectIdentifier($0.inlet) })
            if life.isCaptureStarted { try? life.stopCapture() }
            life.releaseCapture()
            throw error
        }
        fanOut.life(of: old).releaseCapture()
    }
}

/// Spreads what a publisher's capture delivers to the places of its consumers.
package protocol CaptureFanOut: AnyObject, Sendable {
    /// The existential type of the captures, such as `any VideoCapture`.
    associatedtype Capture: Sendable
    associatedtype Place: ConsumerPlace

    /// What a capture delivers, for errors: "video".
    static var noun: String { get }
    /// Whose data are taken.
    var gate: InletGate { get }
    /// The places of all consumers.
    var places: [Place] { get }
    /// Takes all places away.
    func removeAll() -> [Place]
    /// Makes an inlet the consumer of a capture.
    func connect(_ capture: Capture) -> any AnyObject & Sendable
    /// The same object: Swift does not convert to a protocol that it inherits from in generic code.
    func life(of capture: Capture) -> any CaptureLifeCycle
    /// The capture has started.
    func didStart()
    /// The capture is about to be stopped.
    func willStop()
}

/// The place of one consumer at a publisher: its queue and its thread.
package protocol ConsumerPlace: AnyObject, Sendable {
    var name: String { get }
    /// Lets the producer no longer wait for room, until it is set to false.
    func setStopping(_ isStopping: Bool)
    /// Drops what waits, where the queue drops the oldest.
    func discardLive()
    /// Blocks until the consumer has worked through what waits; false when it is stalled, and what waited is dropped.
    func awaitRest(since start: MediaTime) -> Bool
    /// Ends the supply, and waits for the consumer's last call.
    func end(since start: MediaTime)
}
