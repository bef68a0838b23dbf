import PacketCapturing
import VideoCapturing

/// The packets that the parts have given, in the order in which they came.
final class JoinedQueue: Sendable {
    /// What there is to do.
    enum Turn {
        case packet(MediaPacket)
        /// A part gives no more frames, and must be completed.
        case ended(Int)
        /// All tracks are known.
        case ready
        /// A part is complete without a packet.
        case missing(Int)
        /// A part has given nothing in the time that it had.
        case silent(Int)
        /// All parts are complete, or the capture is being stopped.
        case over
    }

    private struct State {
        var tracks: [Int: [TrackDescription]] = [:]
        var packets: [MediaPacket] = []
        var ended: [Int] = []
        var completed: Set<Int> = []
        var started: Set<Int> = []
        /// The first part that did not start; its tracks may be known all the same.
        var failedAtStart: Int?
        var error: (any Error)?
        /// Nil before the first start.
        var isStarted: Bool?
        var isClosed = false
    }

    private let partCount: Int
    private let state = Locked(State())

    /// When as many wait, the parts do, as for a slow file.
    private static let capacity = 256
    /// More than one part has.
    private static let tracksOfPart: UInt32 = 1 << 16

    init(partCount: Int) { self.partCount = partCount }

    static func track(_ place: Int, ofPart part: Int) -> TrackID {
        TrackID(rawValue: UInt32(part) * tracksOfPart + UInt32(place))
    }

    // MARK: The parts

    func begin(part: Int, _ tracks: [TrackDescription]) {
        state.withLock { $0.tracks[part] = tracks }
        state.wakeAll()
    }

    /// Waits for room. Packets between a stop and a start, and after the end, are left out.
    func push(_ packet: MediaPacket) {
        _ = state.wait { state -> Bool? in
            if state.isClosed || state.isStarted == false { return false }
            guard state.packets.count < JoinedQueue.capacity else { return nil }
            state.packets.append(packet)
            return true
        }
        state.wakeAll()
    }

    /// - Parameter output: the tap; what becomes of the part's other outputs is its own.
    func note(_ event: MediaPublisher.Event, ofPart part: Int, _ output: MediaPublisher.OutputID) {
        state.withLock { state in
            switch event {
            case .ended(let end):
                state.ended.append(part)
                if case .captureStopped(let reason) = end { state.error = state.error ?? reason.error }
            case .outputsFailed(let outputs, let error) where outputs.contains(output):
                state.error = state.error ?? error
                state.completed.insert(part)
            case .outputsFailed, .outputCompleted, .warning: break
            }
        }
        state.wakeAll()
    }

    /// Notes that a part has started, or has not for a reason.
    func noteStart(ofPart part: Int, failure: (any Error)? = nil) {
        state.withLock { state in
            state.started.insert(part)
            guard let failure else { return }
            state.failedAtStart = state.failedAtStart ?? part
            state.error = state.error ?? failure
            state.completed.insert(part)
        }
        state.wakeAll()
    }

    func complete(part: Int) {
        state.withLock { _ = $0.completed.insert(part) }
        state.wakeAll()
    }

    // MARK: The capture

    var tracks: [TrackDescription] {
        state.withLock { state in state.tracks.sorted { $0.key < $1.key }.flatMap(\.value) }
    }

    /// The first failure of a part.
    var error: (any Error)? { state.withLock { $0.error } }

    /// Waits for something to do.
    ///
    /// - Parameter deadline: until when the tracks are waited for, and not packets; nil for packets.
    func next(_ context: PacketContext, awaitingTracksUntil deadline: MediaTime? = nil) -> Turn {
        let turn = state.wait(until: deadline) { state -> Turn? in
            if context.isStopping { return .over }
            if let part = state.ended.popLast() { return .ended(part) }
            if deadline != nil {
                if let part = state.failedAtStart { return .missing(part) }
                let missing = (0..<partCount).filter { state.tracks[$0] == nil }
                if missing.isEmpty { return state.started.count == partCount ? .ready : nil }
                return missing.first(where: state.completed.contains).map { .missing($0) }
            }
            guard state.packets.isEmpty else { return .packet(state.packets.removeFirst()) }
            return state.completed.count == partCount ? .over : nil
        }
        state.wakeAll()
        return turn
            ?? .silent(
                state.withLock { state in
                    (0..<partCount).first { state.tracks[$0] == nil || !state.started.contains($0) } ?? 0
                })
    }

    /// - Returns: whether it was stopped before, so that packets were left out.
    func start() -> Bool {
        let wasStopped = state.withLock { state in
            defer { state.isStarted = true }
            return state.isStarted == false
        }
        state.wakeAll()
        return wasStopped
    }

    func stop() {
        state.withLock { state in
            state.isStarted = false
            state.packets = []
        }
        state.wakeAll()
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.packets = []
        }
        state.wakeAll()
    }

    /// What waits has either seen the change that this follows, or sleeps once it can have the lock.
    func wake() {
        state.withLock { _ in }
        state.wakeAll()
    }
}

/// The output of a part: puts its packets into the queue.
final class PacketTap: MediaOutput, FeedbackSink {
    let feed: OutputContext.Feed
    let audioFeed: OutputContext.AudioFeed?
    private let number: Int
    private let queue: JoinedQueue
    private let state = Locked((feedback: PacketFeedback?.none, tracks: [TrackID: TrackID](), bytes: Int64(0)))

    init(_ publisher: MediaPublisher, number: Int, _ queue: JoinedQueue) {
        self.number = number
        self.queue = queue
        var codecs: [Codec] = []
        for entry in publisher.settings.encoders where !codecs.contains(entry.codec) { codecs.append(entry.codec) }
        var feed = OutputContext.Feed.PacketFeed(codecs: codecs)
        feed.statesOrientation = true
        self.feed = .packets(feed)
        audioFeed = .packets(publisher.settings.audioEncoders.map(\.codec))
    }

    var name: String { "part \(number + 1)" }
    var kind: String { "joined" }
    var outputStatistics: OutputStatistics { OutputStatistics(bytes: state.withLock { $0.bytes }) }

    /// The outputs of the whole say how long they may take.
    var limitsOwnWaits: Bool { true }

    /// Whatever comes is passed on; the outputs of the whole say what they take.
    func problem(passing tracks: [TrackDescription]) -> String? { nil }

    func open(_ context: OutputContext) -> OutputContext.Destination { .sink(self) }

    func requestKeyFrame() { state.withLock { $0.feedback }?.requestKeyFrame() }

    func connectFeedback(_ feedback: PacketFeedback?) { state.withLock { $0.feedback = feedback } }

    func begin(_ tracks: [TrackDescription]) {
        let tracks = tracks.filter(\.isVideo) + tracks.filter { !$0.isVideo }
        var renamed = tracks
        for place in renamed.indices { renamed[place].id = JoinedQueue.track(place, ofPart: number) }
        let names = Dictionary(uniqueKeysWithValues: zip(tracks.map(\.id), renamed.map(\.id)))
        state.withLock { $0.tracks = names }
        queue.begin(part: number, renamed)
    }

    func write(_ packet: MediaPacket) {
        let track = state.withLock { state in
            state.bytes += Int64(packet.data.count)
            return state.tracks[packet.track]
        }
        guard let track else { return }
        var packet = packet
        packet.track = track
        queue.push(packet)
    }

    func finish() { queue.complete(part: number) }
}
