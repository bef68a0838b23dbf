public import PacketCapturing
import VideoCapturing

/// The packets of several publishers as one capture, with all their tracks: two cameras and a microphone in one file.
///
/// ```swift
/// let joined = JoinedCapture {
///     [
///         MediaPublisher(video: front, audio: microphone, settings: settings),
///         MediaPublisher(video: back, settings: settings),
///     ]
/// }
/// let publisher = MediaPublisher(packets: joined)
/// try publisher.add(FFmpegOutput("both.mkv"))  // three tracks
/// ```
/// Each part encodes, or passes packets on, as its settings say, and may have outputs and consumers itself. The tracks are in the
/// order of the parts, pictures before sound; the first one of pictures leads. Times are those of the parts: join devices and
/// networks, or recordings that are read in one way.
///
/// **Life.** The parts run from `initCapture`, which waits for the first packets of each and so knows the tracks, to
/// `releaseCapture`, as by ``MediaPublisher/close()``. What they give before the first start is kept, as far as it has room, and
/// then they wait; what they give between a stop and a start is left out.
///
/// **Ends.** A part that ends leaves its tracks without packets, and the others go on; its own events say why. When all parts have
/// ended the capture stops: at the end of the stream, or with the first failure where there was one. Interruptions are states of
/// the parts' captures, and not of this one.
public final class JoinedCapture: ForwardingPacketCapture {
    public let forwardedCapture: PacketSourceCapturer

    /// A capture that has no parts yet.
    ///
    /// - Parameters:
    ///   - openTimeout: how long `initCapture` waits for the first packets of all parts, which are opened at the same time.
    ///   - makeParts: makes the parts, which the capture opens, starts and closes. Called at each `initCapture`, since a publisher is
    ///     for one run, on the capture's thread.
    public init(
        openTimeout: Duration = .seconds(30), makeParts: @escaping @Sendable () throws -> [MediaPublisher]
    ) {
        // Its own limit comes first, so that the parts are closed then.
        forwardedCapture = PacketSourceCapturer(
            JoinedSource(makeParts, openTimeout), name: "joined", openTimeout: openTimeout + .seconds(15))
    }
}

/// Gives the packets that the parts put into one queue.
private struct JoinedSource: PacketSource {
    private struct Part {
        let publisher: MediaPublisher
        let tap: PacketTap
        var starting: CaptureThread?
        /// Completes it after its end: its last packets may have to wait for room.
        var ending: CaptureThread?
    }

    private(set) var settings = PacketSettings(sourceName: "joined")
    private(set) var makesKeyFrames = false
    private let makeParts: @Sendable () throws -> [MediaPublisher]
    private var parts: [Part] = []
    private var queue = JoinedQueue(partCount: 0)

    private let openTimeout: Duration

    init(_ makeParts: @escaping @Sendable () throws -> [MediaPublisher], _ openTimeout: Duration) {
        self.makeParts = makeParts
        self.openTimeout = openTimeout
    }

    mutating func open(_ context: PacketContext) throws {
        let deadline = MonotonicClock().now.advanced(by: openTimeout)
        let publishers = try makeParts()
        guard !publishers.isEmpty else {
            throw CaptureError(
                .invalidConfiguration, operation: "join captures",
                message: "There is no part; join at least one publisher.")
        }
        let queue = JoinedQueue(partCount: publishers.count)
        self.queue = queue
        context.setStopHandler {
            queue.wake()
            // A late call is of the life before.
            guard context.isStopping else { return }
            for publisher in publishers { publisher.requestStop() }
        }
        defer { context.setStopHandler(nil) }
        do {
            for (index, publisher) in publishers.enumerated() {
                guard !context.isStopping else { throw JoinedSource.released }
                let tap = PacketTap(publisher, number: index, queue)
                let output = try publisher.add(tap)
                guard publisher.eventList.setObserver({ queue.note($0, ofPart: index, output) }) else {
                    throw CaptureError(
                        .invalidState, operation: "join captures", subject: "part \(index + 1)",
                        message: "It is a part of another capture already; make a publisher for each.")
                }
                parts.append(Part(publisher: publisher, tap: tap))
            }
            try startParts()
            try waitForTracks(context, until: deadline)
        } catch {
            close()
            throw error
        }
        settings.tracks = queue.tracks
        makesKeyFrames = publishers.allSatisfy { $0.passing == nil }
    }

    /// At the same time, since each may wait for its device or its server.
    private mutating func startParts() throws {
        for index in parts.indices {
            let (publisher, queue) = (parts[index].publisher, queue)
            parts[index].starting = try CaptureThread(name: "join start") {
                do {
                    guard !publisher.isStopRequested else { throw JoinedSource.released }
                    try publisher.start()
                    queue.noteStart(ofPart: index)
                } catch {
                    queue.noteStart(ofPart: index, failure: error)
                }
            }
        }
    }

    private static let released = CaptureError(
        .invalidState, operation: "join captures", message: "The capture was released while it was being opened.")

    private mutating func waitForTracks(_ context: PacketContext, until deadline: MediaTime) throws {
        while true {
            switch queue.next(context, awaitingTracksUntil: deadline) {
            case .ready, .packet: return
            case .ended(let part): try complete(part)
            case .missing(let part):
                if let error = queue.error { throw error }
                throw CaptureError(
                    .formatUnsupported, operation: "join captures", subject: "part \(part + 1)",
                    message: "It has ended before its first packet; look at its events.")
            case .silent(let part):
                throw CaptureError(
                    .stalled, operation: "join captures", subject: "part \(part + 1)",
                    message: "It has given no packet for \(openTimeout); check its source, or allow for more time.")
            case .over: throw JoinedSource.released
            }
        }
    }

    mutating func start(_ context: PacketContext) {
        let queue = queue
        context.setStopHandler { queue.wake() }
        if queue.start() { requestKeyFrame() }
    }

    mutating func nextPacket(_ context: PacketContext) throws -> MediaPacket? {
        while true {
            switch queue.next(context) {
            case .packet(let packet): return packet
            case .ended(let part): try complete(part)
            case .ready, .missing, .silent, .over:
                if !context.isStopping, let error = queue.error { throw error }
                return nil
            }
        }
    }

    /// Completes a part that has ended, so that its last packets come.
    private mutating func complete(_ part: Int) throws {
        let (publisher, starting, queue) = (parts[part].publisher, parts[part].starting, queue)
        parts[part].ending = try CaptureThread(name: "join end") {
            starting?.join()
            try? publisher.stop()
            // An output that was stalled is not finished.
            queue.complete(part: part)
        }
    }

    mutating func requestKeyFrame() { for part in parts { part.tap.requestKeyFrame() } }

    mutating func stop() { queue.stop() }

    mutating func close() {
        queue.close()
        // All at once, since each may wait for the readers of its outputs.
        for part in parts { part.publisher.requestStop() }
        let threads = parts.map { part in
            try? CaptureThread(name: "join close") {
                part.starting?.join()
                part.ending?.join()
                part.publisher.close()
            }
        }
        for (part, thread) in zip(parts, threads) {
            if let thread {
                thread.join()
            } else {
                part.starting?.join()
                part.publisher.close()
            }
        }
        parts = []
    }
}

/// What the parts have given, in the order in which it came.
private final class JoinedQueue: Sendable {
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
private final class PacketTap: MediaOutput, FeedbackSink {
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
