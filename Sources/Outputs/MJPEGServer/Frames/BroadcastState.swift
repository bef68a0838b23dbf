import VideoCapturing

/// What a ``Broadcaster`` keeps behind its lock, and the decisions about it. No call of it waits or encodes.
struct BroadcastState {
    struct Counts {
        var captured: UInt64 = 0
        var encoded: UInt64 = 0
        var passedThrough: UInt64 = 0
        var same: UInt64 = 0
        var notices: UInt64 = 0
        var failed: UInt64 = 0
        /// Of viewers that have gone.
        var sentBefore: UInt64 = 0
        var skippedBefore: UInt64 = 0
        var bytesBefore: UInt64 = 0
    }

    /// What the worker is to do.
    enum Task {
        case encode(VideoFrame, number: UInt64)
        case showNotice(Notice, width: Int, height: Int, generation: UInt64)
        case repeatLast(FramePart)
    }

    /// A frame to be encoded now.
    typealias Work = (frame: VideoFrame, number: UInt64, mayDrop: Bool)

    var viewers: [UInt64: ViewerRecord] = [:]
    var snapshots: [UInt64: @Sendable (FramePart) -> Void] = [:]
    var lastTicket: UInt64 = 0
    var counts = Counts()
    var captureRate = RateMeter()
    var partRate = RateMeter()
    /// Of the pictures, as one viewer gets them.
    var byteRate = RateMeter()
    var feedback: CaptureFeedback?
    var reportedWants: CaptureWants?
    /// Whether the capture is to be asked for a fresh frame.
    var needsRefresh = false
    /// When a viewer or a snapshot was there last.
    var lastDemand = MediaTime.zero
    var isFailing = false

    /// Whether pictures of the source are shown, rather than a notice.
    private(set) var isLive = false
    private(set) var newest: VideoFrame?
    /// The size of what the source gave last, upright; VGA before there was anything.
    private(set) var pictureSize = (width: 640, height: 480)
    /// Counts the frames that were kept.
    private(set) var newestNumber: UInt64 = 0
    /// What is shown.
    private(set) var part: FramePart?
    /// The number of the frame that `part` shows; zero for a notice.
    private var partNumber: UInt64 = 0
    private(set) var notice = Notice.waiting
    /// Counts the notices, so that one that was drawn too late isn't shown.
    private var generation: UInt64 = 1
    private var shownGeneration: UInt64 = 0
    /// The frame that could not be encoded is not tried again and again.
    private var triedNumber: UInt64 = 0
    private var triedGeneration: UInt64 = 0
    /// Since when the source is away; frames of before that, which a queue still held, don't bring it back.
    private var awaySince: MediaTime?
    private var lastPublished = MediaTime.zero

    var hasDemand: Bool { !viewers.isEmpty || !snapshots.isEmpty }

    /// What shows the newest state, if there is one already.
    var currentPart: FramePart? {
        isLive ? (partNumber == newestNumber ? part : nil) : (shownGeneration == generation ? part : nil)
    }

    /// Takes a frame in, and returns what is to be encoded now.
    mutating func take(_ frame: VideoFrame, at now: MediaTime) -> Work? {
        counts.captured += 1
        captureRate.add(1, at: now)
        if let awaySince, frame.timestamp < awaySince { return nil }
        let follows = isLive && partNumber == newestNumber
        awaySince = nil
        isLive = true
        newest = frame
        let isTurned = frame.orientation.swapsDimensions
        pictureSize = isTurned ? (frame.height, frame.width) : (frame.width, frame.height)
        newestNumber += 1
        guard hasDemand else { return nil }
        lastDemand = now
        triedNumber = newestNumber
        return (frame, newestNumber, follows && snapshots.isEmpty)
    }

    /// Notes a part that shows a frame. Returns who has waited for it.
    mutating func publish(
        _ part: FramePart, number: UInt64, at now: MediaTime
    ) -> [@Sendable (FramePart) -> Void] {
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

    /// Notes that a frame shows what the last part shows.
    mutating func publishSame(
        number: UInt64
    ) -> (part: FramePart?, hasDual: Bool, answers: [@Sendable (FramePart) -> Void]) {
        counts.same += 1
        guard isLive else { return (nil, false, []) }
        partNumber = number
        return (part, viewers.values.contains { $0.parameters.dualFinalFrames }, part == nil ? [] : takeAnswers())
    }

    /// Notes a notice. Returns who has waited for it; nil when it doesn't apply any more.
    mutating func publishNotice(
        _ part: FramePart, generation: UInt64, at now: MediaTime
    ) -> [@Sendable (FramePart) -> Void]? {
        guard !isLive, generation == self.generation else { return nil }
        counts.notices += 1
        self.part = part
        partNumber = 0
        shownGeneration = generation
        lastPublished = now
        return notice.isLasting ? takeAnswers() : []
    }

    private mutating func takeAnswers() -> [@Sendable (FramePart) -> Void] {
        guard !snapshots.isEmpty else { return [] }
        defer { snapshots.removeAll() }
        return Array(snapshots.values)
    }

    mutating func sourceStateChanged(to state: CaptureState, at now: MediaTime) {
        guard let notice = Notice(state) else {
            // It runs: what comes next is of now.
            if state == .running { awaySince = nil }
            return
        }
        awaySince = now
        guard isLive || notice != self.notice else { return }
        isLive = false
        // What was before is not to be shown again, not in a snapshot either.
        newest = nil
        self.notice = notice
        generation += 1
    }

    /// What the worker is to do now.
    mutating func nextTask(at now: MediaTime, repeatInterval: Duration?) -> Task? {
        guard hasDemand else { return nil }
        if isLive, partNumber != newestNumber, triedNumber != newestNumber, let newest {
            triedNumber = newestNumber
            return .encode(newest, number: newestNumber)
        }
        if !isLive, shownGeneration != generation, triedGeneration != generation {
            triedGeneration = generation
            let size = pictureSize
            return .showNotice(notice, width: size.width, height: size.height, generation: generation)
        }
        if let repeatInterval, !viewers.isEmpty, let part, now - lastPublished >= repeatInterval {
            lastPublished = now
            return .repeatLast(part)
        }
        return nil
    }

    /// When the worker has something to do, if nothing happens before.
    ///
    /// - Parameter now: the time for which all that was due has been done.
    func nextDeadline(after now: MediaTime, repeatInterval: Duration?, idleDelay: Duration) -> MediaTime? {
        if viewers.isEmpty {
            let idle = lastDemand.advanced(by: idleDelay)
            return feedback != nil && snapshots.isEmpty && idle > now ? idle : nil
        }
        guard let repeatInterval, part != nil else { return nil }
        return lastPublished.advanced(by: repeatInterval)
    }
}
