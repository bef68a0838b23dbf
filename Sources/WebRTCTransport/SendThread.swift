import CaptureCore

/// What sends paced packets: called on the one thread that sends for all peers.
package protocol SendClient: AnyObject, Sendable {
    /// Sends the due packets. It must not wait.
    ///
    /// - Parameters:
    ///   - now: the present time.
    ///   - batch: memory for packets, empty; the client leaves it empty.
    /// - Returns: the latest time of the next call; nil when none is due before ``SendThread/wake()``.
    func sendDue(at now: MediaTime, using batch: PacketBatch) -> MediaTime?
}

/// The thread that packetizes, protects and sends for all peers of the process. Safe to use from any thread.
///
/// It is started with the first client and stays, asleep while there are no clients.
package final class SendThread: Sendable {
    private struct State {
        var clients: [any SendClient] = []
        var generation: UInt64 = 0
        var isWoken = false
    }

    private static let instance = Locked<SendThread?>(nil)

    /// The thread of the process.
    ///
    /// - Throws: `system` when the machine has no thread left.
    package static func shared() throws(CaptureError) -> SendThread {
        try instance.withLock { (instance) throws(CaptureError) in
            if let instance { return instance }
            let made = SendThread()
            try CaptureThread(name: "webrtc send") { made.run() }
            instance = made
            return made
        }
    }

    private let state = Locked(State())

    /// Adds a client, which is called at once, and held until it is removed.
    package func add(_ client: any SendClient) {
        state.withLock { state in
            state.clients.append(client)
            state.generation &+= 1
            state.isWoken = true
        }
        state.wakeOne()
    }

    /// Removes a client. A call that is running is not waited for.
    package func remove(_ client: any SendClient) {
        state.withLock { state in
            state.clients.removeAll { $0 === client }
            state.generation &+= 1
            state.isWoken = true
        }
        state.wakeOne()
    }

    /// Makes all clients look for due packets.
    package func wake() {
        let isFirst = state.withLock { state in
            defer { state.isWoken = true }
            return !state.isWoken
        }
        if isFirst { state.wakeOne() }
    }

    private func run() {
        let batch = PacketBatch()
        var clients: [any SendClient] = []
        var generation: UInt64 = 0
        var deadline: MediaTime?
        while true {
            // A copy of the list is made only when it has changed.
            let changed: [any SendClient]?? = state.wait(until: deadline) { state -> [any SendClient]?? in
                guard state.isWoken else { return nil }
                state.isWoken = false
                guard state.generation != generation else { return .some(nil) }
                generation = state.generation
                return .some(state.clients)
            }
            if case .some(.some(let list)) = changed { clients = list }
            let now = MonotonicClock().now
            deadline = nil
            for client in clients {
                guard let next = client.sendDue(at: now, using: batch) else { continue }
                deadline = deadline.map { min($0, next) } ?? next
            }
        }
    }
}
