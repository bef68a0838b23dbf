import NIOCore
import VideoCapturing

/// The viewers of one event loop. A frame is handed over once for all of them; or, where they are few and all wait for it,
/// sent to them on the thread that has it.
///
/// Safe to use from any thread; the viewers themselves are touched in turns.
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

    /// To send to so many is less work than to wake another thread.
    private static let fewViewers = LoopPacking.fewConnections

    let loop: any EventLoop
    /// Whether viewers may be sent frames on the thread that has them. Of one loop only, so that a server with many is not
    /// served by one thread.
    private let servesAtOnce: Bool
    /// What waits in memory for slow clients, of all loops.
    let waiting: WaitingBytes
    private let turns = ViewerTurns()
    private let mailbox = Locked(Mailbox())
    private let clock = MonotonicClock()
    private let latency = Locked(RecentLatency())

    init(_ loop: any EventLoop, servesAtOnce: Bool, waiting: WaitingBytes) {
        self.loop = loop
        self.servesAtOnce = servesAtOnce
        self.waiting = waiting
    }

    /// Runs `body` with the viewers; on the loop only. Meanwhile nothing is sent to them on other threads.
    func withViewers<Result>(_ body: (ViewerList) -> Result) -> Result { turns.onLoop(body) }

    /// Whether the next viewer may be served by the thread that has a frame.
    var hasRoomForViewersAtOnce: Bool { servesAtOnce && withViewers { $0.count < LoopHub.fewViewers } }

    /// Hands a part to all viewers of the loop, from any thread. It never waits for them: when the loop has not come
    /// to the part before yet, this one takes its place.
    ///
    /// - Parameter now: the time.
    func offer(_ part: FramePart, _ occasion: Occasion, at now: MediaTime) {
        mailbox.withLock { mailbox in
            guard !mailbox.isClosed, mailbox.hasViewers else { return }
            if let waiting = mailbox.offer {
                if occasion != .new { return }
                if waiting.occasion == .new { mailbox.missed += 1 }
            } else if occasion == .new, servesAtOnce, deliverAtOnce(part, at: now) {
                return
            }
            mailbox.offer = (part, occasion)
            guard !mailbox.isScheduled else { return }
            mailbox.isScheduled = true
            loop.execute { [self] in deliver() }
        }
    }

    /// With the mailbox locked, so that nothing that is handed to the loop meanwhile comes before it. False when the loop
    /// must see to viewers, who may have got it nevertheless.
    private func deliverAtOnce(_ part: FramePart, at now: MediaTime) -> Bool {
        turns.ifFree { list in
            list.count <= LoopHub.fewViewers && list.deliverAtOnce(part, at: now)
        } ?? false
    }

    /// Has parts handed over from now on. On the loop, with the viewers, before one of them is told what there is already,
    /// so that he misses nothing that comes after it.
    func expectViewer() { mailbox.withLock { $0.hasViewers = true } }

    /// Takes a viewer out; on the loop.
    func remove(_ viewer: StreamViewer) {
        withViewers { list in
            list.remove(viewer)
            if list.count == 0 { mailbox.withLock { $0.hasViewers = false } }
        }
    }

    /// Runs `body` on the loop; not at all once the server is being stopped.
    func execute(_ body: @escaping @Sendable () -> Void) {
        mailbox.withLock { mailbox in
            if !mailbox.isClosed { loop.execute(body) }
        }
    }

    /// Counts a client that is disconnected since too much waits. The warning comes later, when no lock is held.
    func recordDisconnection() {
        if waiting.recordDisconnection() { execute { [waiting] in waiting.warn() } }
    }

    /// From now on nothing is handed to the loop, which may be shut down.
    func close() {
        mailbox.withLock { mailbox in
            mailbox.isClosed = true
            mailbox.offer = nil
        }
    }

    /// With the viewers before the mailbox is emptied: otherwise a thread could send them the next part in between, and they
    /// would get this one after it.
    private func deliver() {
        withViewers { list in
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
            if waiting.isExceeded { list.disconnectSlowest(until: waiting) }
        }
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
