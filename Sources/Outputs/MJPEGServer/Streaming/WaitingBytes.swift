import Synchronization

/// Counts what the server keeps in memory until slow clients take it: frames, each once however many viewers wait for it,
/// and other answers. Safe to use from any thread.
final class WaitingBytes: Sendable {
    private let limit: Int
    private let bytes = Atomic<Int>(0)
    private let disconnections = Atomic<UInt64>(0)
    private let onWarning: @Sendable (String) -> Void

    /// - Parameters:
    ///   - limit: the number of bytes beyond which slow clients are disconnected.
    ///   - onWarning: called with a sentence for the server's user when the first one is.
    init(limit: Int, onWarning: @escaping @Sendable (String) -> Void = { _ in }) {
        self.limit = limit
        self.onWarning = onWarning
    }

    var count: Int { bytes.load(ordering: .relaxed) }
    var isExceeded: Bool { count > limit }
    /// The number of clients that have been disconnected for it.
    var disconnected: UInt64 { disconnections.load(ordering: .relaxed) }

    func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }

    func remove(_ count: Int) { bytes.subtract(count, ordering: .relaxed) }

    /// A viewer waits for a frame; ``release(_:)`` must follow.
    func hold(_ part: FramePart) { if part.addWaiter() { add(part.storageByteCount) } }

    /// A viewer no longer waits for a frame.
    func release(_ part: FramePart) { if part.removeWaiter() { remove(part.storageByteCount) } }

    /// Counts a client that is disconnected, and warns of the first one. Not while a lock is held.
    func recordDisconnection() {
        guard disconnections.add(1, ordering: .relaxed).oldValue == 0 else { return }
        onWarning(
            "Clients that read slowly are disconnected, since more than \(limit) bytes wait for them; the statistics count "
                + "them. The limit is MJPEGServer.Configuration.Limits.waitingBytes.")
    }
}
