import NIOCore
import VideoCapturing

/// The viewers of one event loop. A frame is handed over once for all of them.
///
/// Safe to use from any thread; the viewers themselves are touched on the loop only.
final class LoopHub: Sendable {
    /// Why a part is offered.
    enum Occasion {
        /// It is new.
        case new
        /// Nothing new has come for a while.
        case repeated
        /// What is new shows the same and is left out.
        case same
    }

    /// What waits for the loop.
    private struct Mailbox {
        var offer: (part: FramePart, occasion: Occasion)?
        /// New parts that were replaced before the loop came to them.
        var missed: UInt64 = 0
        var isScheduled = false
        /// Without one the loop is left to sleep.
        var hasViewers = false
        /// Set before the loop is shut down; nothing may be scheduled from then on.
        var isClosed = false
    }

    let loop: any EventLoop
    private let viewers: NIOLoopBoundBox<ViewerList>
    private let mailbox = Locked(Mailbox())
    private let clock = MonotonicClock()
    private let latency = Locked(RecentLatency())

    init(_ loop: any EventLoop) {
        self.loop = loop
        viewers = .makeBoxSendingValue(ViewerList(), eventLoop: loop)
    }

    /// The viewers; on the loop only.
    var list: ViewerList { viewers.value }

    /// Hands a part to all viewers of the loop, from any thread. It never waits for them: when the loop has not come
    /// to the part before yet, this one takes its place.
    func offer(_ part: FramePart, _ occasion: Occasion) {
        mailbox.withLock { mailbox in
            guard !mailbox.isClosed, mailbox.hasViewers else { return }
            if let waiting = mailbox.offer {
                if occasion != .new { return }
                if waiting.occasion == .new { mailbox.missed += 1 }
            }
            mailbox.offer = (part, occasion)
            guard !mailbox.isScheduled else { return }
            mailbox.isScheduled = true
            loop.execute { [self] in deliver() }
        }
    }

    /// Has parts handed over from now on. On the loop, before a viewer is told what there is already, so that he misses
    /// nothing that comes after it.
    func expectViewer() { mailbox.withLock { $0.hasViewers = true } }

    /// Takes a viewer out; on the loop.
    func remove(_ viewer: StreamViewer) {
        list.remove(viewer)
        if list.isEmpty { mailbox.withLock { $0.hasViewers = false } }
    }

    /// Runs `body` on the loop; not at all once the server is being stopped.
    func execute(_ body: @escaping @Sendable () -> Void) {
        mailbox.withLock { mailbox in
            if !mailbox.isClosed { loop.execute(body) }
        }
    }

    /// From now on nothing is handed to the loop, which may be shut down.
    func close() {
        mailbox.withLock { mailbox in
            mailbox.isClosed = true
            mailbox.offer = nil
        }
    }

    private func deliver() {
        let (offer, missed) = mailbox.withLock { mailbox in
            defer {
                mailbox.offer = nil
                mailbox.missed = 0
                mailbox.isScheduled = false
            }
            return (mailbox.offer, mailbox.missed)
        }
        guard let offer else { return }
        list.deliver(offer.part, offer.occasion, missed: missed, at: clock.now)
    }

    /// Notes that a viewer's connection has taken a frame.
    func noteLatency(of timestamp: MediaTime, at now: MediaTime) {
        latency.withLock { $0.record(nanoseconds: (now - timestamp).nanoseconds, at: now) }
    }

    /// All latencies, and their sum in nanoseconds.
    var latencies: (histogram: LatencyHistogram, sum: Int64) { latency.withLock { ($0.total, $0.sum) } }

    /// The latencies of the last seconds.
    func recentLatencies(at now: MediaTime) -> LatencyHistogram { latency.withLock { $0.recent(at: now) } }
}

/// The viewers of one event loop. On that loop only.
final class ViewerList {
    private var viewers: [StreamViewer] = []
    /// What is shown now, for viewers that were busy when it came; nil while there is no viewer.
    private(set) var latest: FramePart?
    private(set) var latestOccasion = LoopHub.Occasion.new

    var isEmpty: Bool { viewers.isEmpty }

    /// Adds a viewer and shows him what there is already; not counted for latency, since it may be old.
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

    func deliver(_ part: FramePart, _ occasion: LoopHub.Occasion, missed: UInt64, at now: MediaTime) {
        guard !viewers.isEmpty else { return }
        latest = part
        latestOccasion = occasion
        // A copy of the list: a viewer whose connection breaks takes itself out meanwhile.
        for viewer in viewers { viewer.offer(part, occasion, missed: missed, at: now) }
    }
}
