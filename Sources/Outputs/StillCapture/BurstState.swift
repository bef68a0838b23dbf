import VideoCapturing

/// One burst: its ticks, its counts and the events that were not read yet.
struct BurstState {
    typealias Event = StillCapture.BurstEvent

    let count: Int
    /// Nil where each frame of the capture is a tick.
    let interval: Duration?
    let settings: Still.Settings
    var summary = StillCapture.BurstSummary()
    /// The timestamp of the last frame that was taken.
    var lastTaken: MediaTime?
    /// Its wants have not reached the capture yet.
    var awaitsWants: Bool

    private let start: MediaTime
    private var nextTick: Int64 = 0
    private var nextPlace = 0
    /// The place in the order whose outcome is reported next.
    private var reportedPlace = 0
    /// Outcomes that wait for those before them; nil for a request that was withdrawn.
    private var outcomes: [Int: Result<Still, StillCaptureError>?] = [:]
    private var events: [Event] = []
    private var readers: [StillEffects.EventReader] = []
    private var failuresInRow = 0
    /// It ends with the stills that are being made.
    private var isEnding = false
    /// Nil while it goes on.
    private var end: Result<Void, StillCaptureError>?
    /// The state that was reported last.
    private var reportedState = CaptureState.running
    /// Stills that were made and not read.
    private var unreadCount = 0

    init(count: Int, interval: Duration?, settings: Still.Settings, start: MediaTime) {
        self.count = count
        self.interval = interval
        self.settings = settings
        self.start = start
        awaitsWants = settings.wants != nil
    }

    /// Requests that have no outcome.
    private var runningCount: Int { nextPlace - reportedPlace }

    var outstandingCount: Int { end == nil ? runningCount + unreadCount : unreadCount }

    var wantsMore: Bool { end == nil && !isEnding && summary.captured + runningCount < count }

    var hasEnded: Bool { end != nil }

    /// Whether its end was read.
    private(set) var isRead = false

    // MARK: Ticks

    /// The time of the next tick: exact, however many there were before.
    var tickTime: MediaTime { start.advanced(by: (interval ?? .zero) * nextTick) }

    var nextDeadline: MediaTime? { interval != nil && wantsMore ? tickTime : nil }

    mutating func passTick() { nextTick += 1 }

    /// Passes over the ticks that are due.
    ///
    /// - Returns: how many these were.
    mutating func passTicks(until now: MediaTime) -> Int {
        guard let interval, now >= tickTime else { return 0 }
        var ticks = max(1, (now - tickTime).nanoseconds / interval.nanoseconds)
        // A part of a nanosecond may have made it one too many or too few.
        while start.advanced(by: interval * (nextTick + ticks - 1)) > now { ticks -= 1 }
        while start.advanced(by: interval * (nextTick + ticks)) <= now { ticks += 1 }
        nextTick += ticks
        return Int(ticks)
    }

    // MARK: Stills

    /// - Returns: the request's place in the order.
    mutating func beginRequest() -> Int {
        summary.requested += 1
        defer { nextPlace += 1 }
        return nextPlace
    }

    /// Records the outcome of a request, and reports all up to the first that is still missing.
    mutating func finish(
        _ place: Int, _ result: Result<Still, StillCaptureError>, failureLimit: Int, _ effects: inout StillEffects
    ) {
        guard end == nil else { return }
        outcomes[place] = .some(result)
        reportOutcomes(failureLimit: failureLimit, &effects)
    }

    private mutating func reportOutcomes(failureLimit: Int, _ effects: inout StillEffects) {
        while end == nil, let outcome = outcomes.removeValue(forKey: reportedPlace) {
            reportedPlace += 1
            switch outcome {
            case nil: break
            case .success(var still):
                failuresInRow = 0
                summary.captured += 1
                unreadCount += 1
                still.number = summary.captured
                events.append(.still(still))
                if summary.captured == count { finish(.success(())) }
            case .failure(let error):
                failuresInRow += 1
                summary.failed += 1
                events.append(.failed(error))
                if failuresInRow >= failureLimit { finish(.failure(error)) }
            }
        }
        if isEnding, end == nil, runningCount == 0 { finish(.success(())) }
        effects.wakesScheduler = true
        answerReaders(&effects)
    }

    /// Ends it with the stills that are being made, and its summary.
    ///
    /// - Parameter withdrawn: the places of the requests that have no frame.
    mutating func end(withdrawing withdrawn: [Int], failureLimit: Int, _ effects: inout StillEffects) {
        guard end == nil, !isEnding else { return }
        isEnding = true
        summary.requested -= withdrawn.count
        for place in withdrawn { outcomes[place] = .some(nil) }
        reportOutcomes(failureLimit: failureLimit, &effects)
    }

    private mutating func finish(_ result: Result<Void, StillCaptureError>) {
        end = result
        events.append(.finished(summary))
    }

    /// Ends the burst with an error.
    mutating func fail(_ error: StillCaptureError, _ effects: inout StillEffects) {
        guard end == nil else { return }
        finish(.failure(error))
        answerReaders(&effects)
    }

    // MARK: Events

    /// Reports a change of the capture, if it is one between running and not.
    mutating func report(_ state: CaptureState, _ effects: inout StillEffects) {
        guard end == nil, state != reportedState else { return }
        switch state {
        case .interrupted, .stopped, .running: reportedState = state
        default: return
        }
        events.append(.captureChanged(state))
        answerReaders(&effects)
    }

    mutating func reportReplacement(_ effects: inout StillEffects) {
        guard end == nil else { return }
        events.append(.captureReplaced)
        answerReaders(&effects)
    }

    /// Answers a reader with the next event, now or when there is one.
    mutating func read(_ reader: @escaping StillEffects.EventReader, _ effects: inout StillEffects) {
        readers.append(reader)
        answerReaders(&effects)
    }

    private mutating func answerReaders(_ effects: inout StillEffects) {
        while let reader = readers.first {
            if !events.isEmpty {
                let event = events.removeFirst()
                if case .still = event { unreadCount -= 1 }
                effects.events.append((reader, .success(event)))
                readers.removeFirst()
            } else if let end {
                // The error is reported once.
                effects.events.append((reader, isRead ? .success(nil) : end.map { nil }.mapError { $0 }))
                isRead = true
                readers.removeFirst()
            } else {
                return
            }
        }
    }

    /// Answers those that still wait, when the burst is cancelled.
    func cancelReaders(_ effects: inout StillEffects) {
        for reader in readers { effects.events.append((reader, .success(nil))) }
    }
}
