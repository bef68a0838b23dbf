import VideoCapturing

/// The viewers of one event loop. For one thread at a time; see ``ViewerTurns``.
final class ViewerList {
    private var viewers: [StreamViewer] = []
    /// What is shown now, for viewers that were busy when it came; nil while there is no viewer.
    private(set) var latest: FramePart?
    private(set) var latestOccasion = LoopHub.Occasion.new
    /// Counts the parts that were sent past the loop.
    private var partsAtOnce: UInt64 = 0
    /// Whether the loop has yet to come to the last of them, since not all viewers took it.
    private var isLoopDue = false

    var count: Int { viewers.count }

    /// Adds a viewer and shows him what there is already; not counted for latency, since it may be old. On the loop.
    func add(_ viewer: StreamViewer, first: FramePart?, at now: MediaTime) {
        viewers.append(viewer)
        guard let first else { return }
        if latest == nil {
            latest = first
            latestOccasion = .repeated
        }
        viewer.offer(first, .repeated, missed: 0, at: now)
    }

    func remove(_ viewer: StreamViewer) {
        guard let index = viewers.firstIndex(where: { $0 === viewer }) else { return }
        viewers.swapAt(index, viewers.count - 1)
        viewers.removeLast()
        if viewers.isEmpty { latest = nil }
    }

    /// Sends a new part to all viewers who wait for one; on any thread. False when ``deliver(_:_:missed:at:)`` must follow.
    func deliverAtOnce(_ part: FramePart, at now: MediaTime) -> Bool {
        guard !viewers.isEmpty else { return true }
        latest = part
        latestOccasion = .new
        partsAtOnce += 1
        isLoopDue = false
        for viewer in viewers where !viewer.takeAtOnce(part, number: partsAtOnce, at: now) { isLoopDue = true }
        return !isLoopDue
    }

    /// Disconnects those who have waited the longest, until no longer too much waits. On the loop.
    func disconnectSlowest(until waiting: WaitingBytes) {
        let slow = viewers.filter { $0.holdsMemory(besides: latest) }.sorted { $0.sendingSince < $1.sendingSince }
        for viewer in slow where waiting.isExceeded {
            viewer.giveUp()
        }
    }

    /// Offers a part to all viewers but those who have it already; on the loop.
    ///
    /// - Parameter missed: how many parts came after the one before and were replaced by this one.
    func deliver(_ part: FramePart, _ occasion: LoopHub.Occasion, missed: UInt64, at now: MediaTime) {
        guard !viewers.isEmpty else { return }
        // Something new was sent while an old part was chosen to be repeated.
        if occasion != .new, let latest, latest !== part { return }
        latest = part
        latestOccasion = occasion
        let begun = isLoopDue ? partsAtOnce : nil
        isLoopDue = false
        // A copy of the list: a viewer whose connection breaks takes itself out meanwhile.
        for viewer in viewers {
            guard let begun, viewer.lastAtOnce == begun else {
                viewer.offer(part, occasion, missed: missed, at: now)
                continue
            }
            viewer.sendRest()
            if missed > 0 { viewer.offer(part, occasion, missed: missed - 1, at: now) }
        }
    }
}
