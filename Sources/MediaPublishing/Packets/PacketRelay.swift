import PacketCapturing
import VideoCapturing

/// Hands the packets of a capture to one sink, on a separate thread, so that no output delays another.
///
/// A file gets every packet: the capture waits while its queue is full. A live output gets what its queue can hold; whole
/// groups of pictures are dropped (`PacketQueue`). An output that comes later begins with a key frame.
final class PacketRelay: Sendable {
    /// What a full queue does.
    enum Policy: Sendable {
        /// The capture waits; when the sink takes nothing for this long, it counts as stalled. Nil for indefinitely.
        case block(timeout: Duration?)
        /// Groups of pictures are dropped.
        case drop
    }

    private struct State {
        /// With ``Policy/block(timeout:)``: the packets that wait.
        var waiting: [MediaPacket] = []
        var isClosed = false
        /// A stop was requested: the capture no longer waits.
        var isHurried = false
        var isStalled = false
        var hasEnded = false
        var error: (any Error)?
        var thread: UInt?
        /// Whether the leading track has begun.
        var hasBegun: Bool
        var packets: UInt64 = 0
        var bytes: UInt64 = 0
        var dropped: UInt64 = 0
    }

    private let sink: any PacketSink
    private let tracks: [TrackDescription]
    private let leading: TrackID?
    private let policy: Policy
    private let queue: PacketQueue?
    private let onFailure: @Sendable (any Error) -> Void
    private let state: Locked<State>

    /// How many packets may wait for a file.
    private static let capacity = 64

    /// Begins the sink and its thread.
    ///
    /// - Parameters:
    ///   - sink: takes the packets.
    ///   - tracks: those of the capture that it takes.
    ///   - policy: what a full queue does.
    ///   - isLate: whether packets flow already, so that it begins with a key frame.
    ///   - feedback: what the sink asks through; nil where nothing answers.
    ///   - onFailure: called on the thread of the sink with what ends it.
    /// - Throws: what the sink throws of the tracks.
    init(
        to sink: any PacketSink, _ tracks: [TrackDescription], _ policy: Policy, isLate: Bool,
        feedback: PacketFeedback?,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) throws {
        self.sink = sink
        self.tracks = tracks
        self.policy = policy
        self.onFailure = onFailure
        leading = PacketSettings(tracks: tracks).leadingTrack?.id
        queue = if case .drop = policy { PacketQueue() } else { nil }
        state = Locked(State(hasBegun: !isLate))
        (sink as? any FeedbackSink)?.connectFeedback(feedback)
        do {
            try sink.begin(tracks)
            try CaptureThread(name: "pass on") { [self] in run() }
        } catch {
            try? sink.finish()
            (sink as? any FeedbackSink)?.connectFeedback(nil)
            throw error
        }
    }

    // MARK: On the capture's thread

    /// Takes a packet. Waits for room with ``Policy/block(timeout:)``.
    ///
    /// - Returns: whether a key frame is needed, since packets were dropped.
    func push(_ packet: MediaPacket) -> Bool {
        guard tracks.contains(where: { $0.id == packet.track }) else { return false }
        let hasBegun = state.withLock { state in
            if packet.track == leading, packet.isKeyFrame { state.hasBegun = true }
            return state.hasBegun
        }
        guard hasBegun else { return false }
        if let queue { return queue.push(packet) == .needsKeyFrame }
        var limit: MediaTime?
        if case .block(let timeout?) = policy { limit = MonotonicClock().now.advanced(by: timeout) }
        let isTaken: Bool? = state.wait(until: limit) { state -> Bool? in
            guard !state.isClosed, !state.isStalled else { return false }
            guard state.waiting.count < PacketRelay.capacity || state.isHurried else { return nil }
            state.waiting.append(packet)
            return true
        }
        if isTaken == true {
            state.wakeAll()
        } else {
            state.withLock { state in
                state.dropped += 1
                // The limit has passed; its publisher ends it.
                if isTaken == nil { state.isStalled = true }
            }
        }
        return false
    }

    /// From here on the capture does not wait: a stop was requested.
    func hurry() {
        state.withLock { $0.isHurried = true }
        state.wakeAll()
    }

    // MARK: On the sink's thread

    private func run() {
        state.withLock { $0.thread = CaptureThread.currentIdentifier }
        do {
            if let queue {
                while let packet = queue.pop() { try write(packet) }
            } else {
                var batch: [MediaPacket] = []
                batch.reserveCapacity(PacketRelay.capacity)
                while takeWaiting(&batch) {
                    for packet in batch { try write(packet) }
                    batch.removeAll(keepingCapacity: true)
                }
            }
        } catch {
            close(discarding: true)
            state.withLock { $0.error = error }
        }
        let result = Result { try sink.finish() }
        (sink as? any FeedbackSink)?.connectFeedback(nil)
        let error = state.withLock { state -> (any Error)? in
            // Its first error is the one to report.
            if case .failure(let error) = result { state.error = state.error ?? error }
            return state.error
        }
        if let error { onFailure(error) }
        state.withLock { $0.hasEnded = true }
        state.wakeAll()
    }

    /// Takes out all that waits; false at the end.
    private func takeWaiting(_ batch: inout [MediaPacket]) -> Bool {
        let isMore: Bool? = state.wait { state -> Bool? in
            guard state.waiting.isEmpty else {
                swap(&state.waiting, &batch)
                return true
            }
            return state.isClosed ? false : nil
        }
        state.wakeAll()
        return isMore ?? false
    }

    private func write(_ packet: MediaPacket) throws {
        try sink.write(packet)
        state.withLock { state in
            state.packets += 1
            state.bytes &+= UInt64(packet.data.count)
        }
    }

    // MARK: The end

    private func close(discarding: Bool) {
        queue?.close(discardingWaitingPackets: discarding)
        state.withLock { state in
            state.isClosed = true
            if discarding { state.waiting = [] }
        }
        state.wakeAll()
    }

    /// Writes what waits, finishes the sink, and waits for that, unless the sink is stalled or the caller.
    func finish() {
        close(discarding: false)
        guard !isOnOwnThread else { return }
        _ = state.wait { $0.hasEnded || $0.isStalled ? () : nil }
    }

    /// Whether the caller is the sink's thread.
    var isOnOwnThread: Bool { state.withLock { $0.thread == CaptureThread.currentIdentifier } }

    /// Whether the sink took nothing for longer than its limit.
    var isStalled: Bool { state.withLock { $0.isStalled } }

    /// The counts so far.
    var passed: MediaPublisher.Statistics.PassedOn {
        let state = state.withLock { $0 }
        return MediaPublisher.Statistics.PassedOn(
            tracks: tracks.map(\.codec), packets: state.packets, bytes: state.bytes,
            packetsDropped: state.dropped &+ (queue?.counts.dropped ?? 0))
    }
}
