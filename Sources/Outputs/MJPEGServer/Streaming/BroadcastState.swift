import StillCapture
import VideoCapturing

/// The state that a ``Broadcaster`` keeps behind its lock, and the decisions about it. No method waits or encodes.
struct BroadcastState {
    struct Counts {
        var captured: UInt64 = 0
        var encoded: UInt64 = 0
        var passedThrough: UInt64 = 0
        var same: UInt64 = 0
        var placeholders: UInt64 = 0
        var failed: UInt64 = 0
        /// Of viewers that have disconnected.
        var sentBefore: UInt64 = 0
        var skippedBefore: UInt64 = 0
        var bytesBefore: UInt64 = 0
    }

    /// A task of the worker.
    enum Task {
        case encode(VideoFrame, number: UInt64)
        case takeSnapshot(VideoFrame, answers: [SnapshotHandler])
        case showPlaceholder(Placeholder, width: Int, height: Int, generation: UInt64)
        case repeatLast(FramePart)
    }

    /// A frame to be encoded now.
    typealias Work = (frame: VideoFrame, number: UInt64, mayDrop: Bool)

    var viewers: [UInt64: ViewerRecord] = [:]
    typealias SnapshotHandler = @Sendable (FramePart) -> Void

    /// Finds the frames of requests; nil while the server does not serve.
    var stills: StillCapture?
    /// Requests that wait for a first frame, or for a placeholder that lasts.
    var snapshots: [UInt64: SnapshotHandler] = [:]
    /// Requests that wait for the frame nearest to their moment.
    private var shots: [UInt64: SnapshotHandler] = [:]
    /// Frames that were taken for requests, to be encoded.
    private var takenShots: [(frame: VideoFrame, answer: SnapshotHandler)] = []
    /// The last part that was made for a request alone.
    private var shotPart: FramePart?
    var lastTicket: UInt64 = 0
    var counts = Counts()
    var captureRate = RateMeter()
    var partRate = RateMeter()
    /// Of the parts, as one viewer gets them.
    var byteRate = RateMeter()
    var feedback: CaptureFeedback?
    var reportedWants: CaptureWants?
    /// Whether the capture is to be asked for a fresh frame.
    var needsRefresh = false
    /// When there was last a viewer or a request for a snapshot.
    var lastDemand = MediaTime.zero
    var isFailing = false
    /// Whether each frame costs the decoding of a packet.
    var areFramesDecoded = false

    /// Whether frames of the source are shown, and not a placeholder.
    private(set) var isLive = false
    private(set) var newest: VideoFrame?
    /// The size of the last frame of the source, upright; VGA before the first.
    private(set) var frameSize = (width: 640, height: 480)
    /// Counts the frames that were kept.
    private(set) var newestNumber: UInt64 = 0
    /// The part that is shown.
    private(set) var part: FramePart?
    /// The number of the frame that `part` shows; zero for a placeholder.
    private var partNumber: UInt64 = 0
    private(set) var placeholder = Placeholder.waiting
    /// Counts the placeholders, so that one that was drawn too late isn't shown.
    private var generation: UInt64 = 1
    private var shownGeneration: UInt64 = 0
    /// A frame that could not be encoded is not tried again.
    private var triedNumber: UInt64 = 0
    private var triedGeneration: UInt64 = 0
    /// Since when the source is away; older frames, which a queue still held, don't end that.
    private var awaySince: MediaTime?
    private var lastPublished = MediaTime.zero

    var hasDemand: Bool { !viewers.isEmpty || !snapshots.isEmpty }
    var hasSnapshotRequests: Bool { !snapshots.isEmpty || !shots.isEmpty || !takenShots.isEmpty }

    /// The part that shows the newest state, if there is one already.
    var currentPart: FramePart? {
        isLive ? (partNumber == newestNumber ? part : nil) : (shownGeneration == generation ? part : nil)
    }

    /// Takes a frame.
    ///
    /// - Returns: the work to do now; nil for none.
    mutating func take(_ frame: VideoFrame, at now: MediaTime) -> Work? {
        counts.captured += 1
        captureRate.add(1, at: now)
        if let awaySince, frame.timestamp < awaySince { return nil }
        let follows = isLive && partNumber == newestNumber
        awaySince = nil
        isLive = true
        newest = frame
        let size = frame.displaySize
        frameSize = (size.width, size.height)
        newestNumber += 1
        guard hasDemand else { return nil }
        lastDemand = now
        triedNumber = newestNumber
        return (frame, newestNumber, follows && snapshots.isEmpty)
    }

    /// Records a part that shows a frame.
    ///
    /// - Returns: the handlers that have waited for it.
    mutating func publish(
        _ part: FramePart, number: UInt64, at now: MediaTime
    ) -> [SnapshotHandler] {
        if part.information.isPassedThrough { counts.passedThrough += 1 } else { counts.encoded += 1 }
        isFailing = false
        partRate.add(1, at: now)
        byteRate.add(Int64(part.byteCount), at: now)
        guard isLive else { return [] }
        self.part = part
        partNumber = number
        lastPublished = now
        return takeAnswers()
    }

    /// Records that a frame shows the same as the last part.
    mutating func publishSame(
        number: UInt64
    ) -> (part: FramePart?, hasDual: Bool, answers: [SnapshotHandler]) {
        counts.same += 1
        guard isLive else { return (nil, false, []) }
        partNumber = number
        return (part, viewers.values.contains { $0.parameters.dualFinalFrames }, part == nil ? [] : takeAnswers())
    }

    /// Records the part of a placeholder.
    ///
    /// - Returns: the handlers that have waited for it; nil when it no longer applies.
    mutating func publishPlaceholder(
        _ part: FramePart, generation: UInt64, at now: MediaTime
    ) -> [SnapshotHandler]? {
        guard !isLive, generation == self.generation else { return nil }
        counts.placeholders += 1
        self.part = part
        partNumber = 0
        shownGeneration = generation
        lastPublished = now
        guard placeholder.isLasting else { return [] }
        defer { shots.removeAll() }
        return takeAnswers() + shots.values
    }

    private mutating func takeAnswers() -> [SnapshotHandler] {
        guard !snapshots.isEmpty else { return [] }
        defer { snapshots.removeAll() }
        return Array(snapshots.values)
    }

    // MARK: Snapshots

    /// Adds a request for the frame nearest to this moment; whether frames come must have been checked.
    mutating func addShot(_ number: UInt64, at now: MediaTime, _ answer: @escaping SnapshotHandler) {
        shots[number] = answer
        // A source that is slowed down without viewers may have a newer frame.
        if viewers.isEmpty { needsRefresh = true }
        lastDemand = now
    }

    /// Gives a request its frame; nothing where it was withdrawn.
    mutating func take(_ frame: VideoFrame, forShot number: UInt64) {
        if let answer = shots.removeValue(forKey: number) { takenShots.append((frame, answer)) }
    }

    /// Withdraws a request; false when it has been answered.
    mutating func withdrawSnapshot(_ number: UInt64) -> Bool {
        let wasShot = shots.removeValue(forKey: number) != nil
        return snapshots.removeValue(forKey: number) != nil || wasShot
    }

    mutating func withdrawSnapshots() {
        snapshots = [:]
        shots = [:]
        takenShots = []
    }

    /// A part that shows this frame, if there is one already.
    func part(of frame: VideoFrame) -> FramePart? {
        [part, shotPart].lazy.compactMap { $0 }.first {
            $0.information.isOnline && $0.information.timestamp == frame.timestamp
        }
    }

    /// Records a part that was made for a request alone.
    mutating func recordShot(_ part: FramePart) {
        if part.information.isPassedThrough { counts.passedThrough += 1 } else { counts.encoded += 1 }
        isFailing = false
        shotPart = part
    }

    mutating func sourceStateChanged(to state: CaptureState, at now: MediaTime) {
        guard let placeholder = Placeholder(state) else {
            // It runs: the next frame is a new one.
            if state == .running { awaySince = nil }
            return
        }
        awaySince = now
        guard isLive || placeholder != self.placeholder else { return }
        isLive = false
        // The last frame must not be shown again, not in a snapshot either.
        newest = nil
        shotPart = nil
        self.placeholder = placeholder
        generation += 1
    }

    /// The worker's task now; nil for none.
    mutating func nextTask(at now: MediaTime, repeatInterval: Duration?) -> Task? {
        if let frame = takenShots.first?.frame {
            // Of the newest frame viewers can have it too.
            if isLive, frame.timestamp == newest?.timestamp, let work = newestUntried() { return work }
            // All that are of the same frame are answered with one part.
            let answers = takenShots.filter { $0.frame.timestamp == frame.timestamp }.map(\.answer)
            takenShots.removeAll { $0.frame.timestamp == frame.timestamp }
            return .takeSnapshot(frame, answers: answers)
        }
        guard hasDemand else { return nil }
        if isLive, let work = newestUntried() { return work }
        if !isLive, shownGeneration != generation, triedGeneration != generation {
            triedGeneration = generation
            let size = frameSize
            return .showPlaceholder(placeholder, width: size.width, height: size.height, generation: generation)
        }
        if let repeatInterval, !viewers.isEmpty, let part, now - lastPublished >= repeatInterval {
            lastPublished = now
            return .repeatLast(part)
        }
        return nil
    }

    /// The newest frame, unless it was encoded or has failed.
    private mutating func newestUntried() -> Task? {
        guard partNumber != newestNumber, triedNumber != newestNumber, let newest else { return nil }
        triedNumber = newestNumber
        return .encode(newest, number: newestNumber)
    }

    /// When the worker has its next task, unless it is woken before.
    ///
    /// - Parameter now: the time for which all that was due has been done.
    func nextDeadline(after now: MediaTime, repeatInterval: Duration?, idleDelay: Duration) -> MediaTime? {
        if !takenShots.isEmpty { return now }
        if viewers.isEmpty {
            let idle = lastDemand.advanced(by: idleDelay)
            return feedback != nil && !hasSnapshotRequests && idle > now ? idle : nil
        }
        guard let repeatInterval, part != nil else { return nil }
        return lastPublished.advanced(by: repeatInterval)
    }
}
