import NIOCore
import VideoCapturing

/// The viewers of one event loop. A frame is handed to the loop once for all of them, and the loop sends it to each.
///
/// Safe to use from any thread, but for ``viewers``.
final class LoopHub: Sendable {
    /// Why a part is offered.
    enum Occasion {
        /// It is new.
        case new
        /// No new one has come for a while.
        case repeated
        /// The newest frame shows the same and is left out.
        case same
    }

    /// What waits for the loop.
    private struct Mailbox {
        var offer: (part: FramePart, occasion: Occasion)?
        /// The number of new parts that were replaced before the loop took them.
        var missed: UInt64 = 0
        var isScheduled = false
        /// The loop is not woken for frames while this is false.
        var hasViewers = false
        /// Set before the loop is shut down; nothing may be scheduled from then on.
        var isClosed = false
    }

    let loop: any EventLoop
    /// What waits in memory for slow clients, of all loops.
    let waiting: WaitingBytes
    private let list: NIOLoopBoundBox<ViewerList>
    private let mailbox = Locked(Mailbox())
    private let clock = MonotonicClock()
    private let latency = Locked(RecentLatency())

    init(_ loop: any EventLoop, waiting: WaitingBytes) {
        self.loop = loop
        self.waiting = waiting
        list = .makeBoxSendingValue(ViewerList(), eventLoop: loop)
    }

    /// The viewers; on the loop only.
    var viewers: ViewerList { list.value }

    // MARK: Any thread

    /// Hands a part to all viewers of the loop. It never waits for them: if the loop has not yet taken the previous part,
    /// this one replaces it.
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

    /// Records that a viewer's connection has taken a frame.
    func recordLatency(of timestamp: MediaTime, at now: MediaTime) {
        latency.withLock { $0.record(nanoseconds: (now - timestamp).nanoseconds, at: now) }
    }

    /// All latencies, and their sum in nanoseconds.
    var latencies: (histogram: LatencyHistogram, sum: Int64) { latency.withLock { ($0.total, $0.sum) } }

    /// The latencies of the last seconds.
    func recentLatencies(at now: MediaTime) -> LatencyHistogram { latency.withLock { $0.recent(at: now) } }

    // MARK: The loop

    /// Accepts parts from now on. Call it before a viewer gets what there is already, so that it misses nothing newer.
    func expectViewer() { mailbox.withLock { $0.hasViewers = true } }

    /// Removes a viewer.
    func remove(_ viewer: StreamViewer) {
        viewers.remove(viewer)
        if viewers.isEmpty { mailbox.withLock { $0.hasViewers = false } }
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
        viewers.deliver(offer.part, offer.occasion, missed: missed, at: clock.now)
        if waiting.isExceeded { viewers.disconnectSlowest(until: waiting) }
    }
}

/// The viewers of one event loop; on that loop only.
final class ViewerList {
    private var viewers: [StreamViewer] = []
    /// What is shown now, for viewers that were busy when it came; nil while there is no viewer.
    private(set) var latest: FramePart?
    private(set) var latestOccasion = LoopHub.Occasion.new

    var isEmpty: Bool { viewers.isEmpty }

    /// Adds a viewer and shows it what there is already; not counted for latency, since it may be old.
    func add(_ viewer: StreamViewer, first: FramePart?, at now: MediaTime) {
        viewers.append(viewer)
        guard let first else { return }
        if latest == nil {
            latest = first
            latestOccasion = .repeated
        }
        viewer.offer(first, .repeated, missed: 0, at: now)
    }

    fileprivate func remove(_ viewer: StreamViewer) {
        guard let index = viewers.firstIndex(where: { $0 === viewer }) else { return }
        viewers.swapAt(index, viewers.count - 1)
        viewers.removeLast()
        if viewers.isEmpty { latest = nil }
    }

    /// Disconnects the viewers that have waited the longest, until the limit is no longer exceeded.
    func disconnectSlowest(until waiting: WaitingBytes) {
        let slow = viewers.filter { $0.holdsMemory(besides: latest) }.sorted { $0.sendingSince < $1.sendingSince }
        for viewer in slow where waiting.isExceeded {
            viewer.giveUp()
        }
    }

    /// Offers a part to all viewers.
    ///
    /// - Parameter missed: the number of parts that were replaced by this one before the loop took them.
    fileprivate func deliver(_ part: FramePart, _ occasion: LoopHub.Occasion, missed: UInt64, at now: MediaTime) {
        guard !viewers.isEmpty else { return }
        // A new part was sent after an old one had been chosen to be repeated.
        if occasion != .new, let latest, latest !== part { return }
        latest = part
        latestOccasion = occasion
        // A copy of the list: a viewer whose connection breaks removes itself meanwhile.
        for viewer in viewers { viewer.offer(part, occasion, missed: missed, at: now) }
    }
}

/// Latencies: all of them, and those of the last seconds. For one thread at a time.
struct RecentLatency {
    /// All of them.
    private(set) var total = LatencyHistogram()
    /// Their sum, in nanoseconds.
    private(set) var sum: Int64 = 0
    private var current = LatencyHistogram()
    private var previous = LatencyHistogram()
    private var currentSince = MediaTime.zero

    private static let length: Duration = .seconds(2)

    mutating func record(nanoseconds: Int64, at now: MediaTime) {
        if now - currentSince > RecentLatency.length {
            previous = now - currentSince > RecentLatency.length * 2 ? LatencyHistogram() : current
            current = LatencyHistogram()
            currentSince = now
        }
        total.record(nanoseconds: nanoseconds)
        current.record(nanoseconds: nanoseconds)
        sum = sum.addingReportingOverflow(max(0, nanoseconds)).partialValue
    }

    /// The samples of the last two to four seconds.
    func recent(at now: MediaTime) -> LatencyHistogram {
        guard now - currentSince <= RecentLatency.length * 2 else { return LatencyHistogram() }
        var result = current
        result.merge(previous)
        return result
    }
}
