import CaptureCore
package import StreamTransport
import Synchronization

/// What sends paced packets: called on the one thread that sends for it.
package protocol SendClient: AnyObject, Sendable {
    /// Sends the due packets. It must not wait.
    ///
    /// - Parameters:
    ///   - now: the present time.
    ///   - batch: memory for packets, empty; the client leaves it empty.
    /// - Returns: the latest time of the next call; nil when none is due before ``SendPlace/wake()``.
    func sendDue(at now: MediaTime, using batch: DatagramBatch) -> MediaTime?
}

/// The place of a client on one of the threads that packetize, protect and send for the peers of the process: one for each
/// processor. A peer stays with its thread, and shares no lock with those of others. Safe to use from any thread.
package final class SendPlace: Sendable {
    private let thread: SendThread
    private let client: any SendClient
    fileprivate let isWoken = Atomic(true)
    /// In nanoseconds of the monotonic clock; of the thread.
    fileprivate let due = Atomic<Int64>(.max)

    /// Adds a client to the thread that has the fewest; it is called at once, and held by the place.
    ///
    /// - Throws: `system` when the machine has no thread left.
    package init(_ client: any SendClient) throws(CaptureError) {
        thread = try SendThread.leastBusy()
        self.client = client
        thread.add(self)
    }

    /// Removes the client. A call that is running is not waited for.
    package func leave() { thread.remove(self) }

    /// Makes the client look for due packets.
    package func wake() {
        guard !isWoken.exchange(true, ordering: .acquiringAndReleasing) else { return }
        thread.wake()
    }

    /// Calls the client if it was woken, or its time has come.
    fileprivate func sendDue(at now: MediaTime, using batch: DatagramBatch) {
        // First a look, which leaves the value in the caches of all processors.
        guard isWoken.load(ordering: .relaxed) || due.load(ordering: .relaxed) <= now.nanoseconds else { return }
        _ = isWoken.exchange(false, ordering: .acquiringAndReleasing)
        due.store(client.sendDue(at: now, using: batch)?.nanoseconds ?? .max, ordering: .relaxed)
    }
}

/// One of the threads that send. It is started with the first peers and stays; without peers it sleeps.
private final class SendThread: Sendable {
    private struct State {
        var places: [SendPlace] = []
        var generation: UInt64 = 0
        var isWoken = false
    }

    private static let threads = Locked<[SendThread]>([])

    static func leastBusy() throws(CaptureError) -> SendThread {
        try threads.withLock { (threads) throws(CaptureError) in
            let idlest = threads.min { $0.count < $1.count }
            if let idlest, idlest.count == 0 || threads.count >= Machine.processorCount { return idlest }
            let made = SendThread()
            try CaptureThread(name: "webrtc send") { made.run() }
            threads.append(made)
            return made
        }
    }

    private let state = Locked(State())

    private var count: Int { state.withLock { $0.places.count } }

    func add(_ place: SendPlace) { change { $0.append(place) } }

    func remove(_ place: SendPlace) { change { places in places.removeAll { $0 === place } } }

    private func change(_ body: (inout [SendPlace]) -> Void) {
        state.withLock { state in
            body(&state.places)
            state.generation &+= 1
            state.isWoken = true
        }
        state.wakeOne()
    }

    func wake() {
        let isFirst = state.withLock { state in
            defer { state.isWoken = true }
            return !state.isWoken
        }
        if isFirst { state.wakeOne() }
    }

    private func run() {
        let batch = DatagramBatch.ofSRTP()
        var places: [SendPlace] = []
        var generation: UInt64 = 0
        var deadline: MediaTime?
        while true {
            // A copy of the list is made only when it has changed.
            let changed: [SendPlace]?? = state.wait(until: deadline) { state -> [SendPlace]?? in
                guard state.isWoken else { return nil }
                state.isWoken = false
                guard state.generation != generation else { return .some(nil) }
                generation = state.generation
                return .some(state.places)
            }
            if case .some(.some(let list)) = changed { places = list }
            let now = MonotonicClock().now
            var next = Int64.max
            for place in places {
                place.sendDue(at: now, using: batch)
                next = min(next, place.due.load(ordering: .relaxed))
            }
            deadline = next == .max ? nil : MediaTime(nanoseconds: next)
        }
    }
}
