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
