import Synchronization
import VideoCapturing

/// From frames and requests to stills: the threads behind a ``StillCapture``.
///
/// ```
/// capture thread ── consume ──▶ StillState ── jobs ──▶ workers ── finish ──▶ StillState ──▶ readers
///                                   ▲
///                    scheduler: ticks, timeouts, wants
/// ```
/// Safe to use from any thread.
final class StillEngine: Sendable {
    let configuration: StillCapture.Configuration
    let clock: any CaptureClock
    let state: Locked<StillState>
    private let jobs = Locked(JobQueue())
    let wake = ManualResetEvent()
    private let haveThreads = Locked(false)
    let connection = Locked(Connection())
    /// Whether a bracket is being taken.
    let bracketing = Atomic(false)

    private struct JobQueue {
        var jobs: [StillJob] = []
        var isClosed = false
    }

    struct Connection {
        weak var publisher: VideoPublisher?
        var isAttached = false
        var wasDetached = false
        var feedback: CaptureFeedback?
        /// The capture whose states are watched.
        weak var observed: (any VideoCapture)?
        /// Reads them; one for each capture in turn.
        var observation: Task<Void, Never>?
        /// Counts the captures that were watched, so that nothing that an old one reports is taken for the new one's.
        var observationNumber: UInt64 = 0
    }

    init(_ configuration: StillCapture.Configuration, clock: any CaptureClock) {
        self.configuration = configuration
        self.clock = clock
        state = Locked(StillState(configuration))
    }

    /// Ends all requests and threads.
    func close() {
        connection.withLock { $0.observation }?.cancel()
        let effects = state.withLock { state in
            state.isClosed = true
            let effects = state.failAll(.notRunning(nil))
            state.readinessChanges.finish()
            return effects
        }
        perform(effects)
        jobs.withLock { $0.isClosed = true }
        jobs.wakeAll()
        wake.raise()
    }

    // MARK: Frames

    /// On the capture's thread.
    func consume(_ frame: VideoFrame) {
        let now = clock.now
        // Frames are released here, without a lock: their release may run a driver's code.
        var (displaced, effects) = state.withLock { $0.take(frame, at: now) }
        if let effects { perform(effects) }
        while displaced != nil { displaced = state.withLock { $0.ring.removeExcess() } }
    }

    func perform(_ effects: StillEffects) {
        if !effects.jobs.isEmpty {
            jobs.withLock { $0.jobs += effects.jobs }
            jobs.wakeAll()
        }
        for answer in effects.answers { answer() }
        for event in effects.events { event.reader(event.result) }
        if effects.wakesScheduler { wake.raise() }
    }

    // MARK: Requests

    /// Takes one still or frame; `makeAnswer` has it resume the task.
    func takeSingle<Taken: Sendable>(
        _ settings: Still.Settings,
        _ makeAnswer: @escaping @Sendable (@escaping @Sendable (Result<Taken, any Error>) -> Void) -> StillAnswer
    ) async throws -> Taken {
        try Task.checkCancellation()
        try startThreads()
        let identifier = state.withLock { $0.makeIdentifier() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                addSingle(identifier, settings, makeAnswer { continuation.resume(with: $0) })
                // A cancellation before this found nothing to cancel.
                if Task.isCancelled { cancelSingle(identifier) }
            }
        } onCancel: {
            cancelSingle(identifier)
        }
    }

    func addSingle(_ identifier: UInt64, _ settings: Still.Settings, _ answer: StillAnswer) {
        let refusal = refusal(syncGate())
        let now = clock.now
        perform(state.withLock { $0.addSingle(identifier, settings, at: now, refusal: refusal, answer) })
    }

    func cancelSingle(_ identifier: UInt64) {
        let effects = state.withLock { state in
            var effects = StillEffects()
            state.endSingle(identifier, .failure(CancellationError()), &effects)
            state.updateReadiness()
            return effects
        }
        perform(effects)
    }

    func startBurst(
        count: Int, interval: Duration?, _ settings: Still.Settings
    ) throws(StillCaptureError) -> UInt64 {
        guard count >= 1 else { throw .invalidBurst("\(count) stills were asked for; ask for 1 or more.") }
        if let interval, interval < .nanoseconds(1) {
            throw .invalidBurst("The interval is \(interval); choose one above zero.")
        }
        guard settings.size == nil else {
            throw .invalidBurst("Only single stills have another size than the stream; leave it out.")
        }
        if let refusal = refusal(nil) { throw refusal }
        try startThreads()
        let captureState = syncGate()
        let now = clock.now
        let (identifier, effects) = state.withLock { state in
            let identifier = state.makeIdentifier()
            var burst = BurstState(count: count, interval: interval, settings: settings, start: now)
            var effects = StillEffects()
            if let captureState { burst.report(captureState, &effects) }
            return (identifier, state.addBurst(identifier, burst, at: now))
        }
        perform(effects)
        return identifier
    }

    func nextEvent(ofBurst identifier: UInt64) async throws -> StillCapture.BurstEvent? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A cancellation before this had no reader to answer.
                if Task.isCancelled { cancelBurst(identifier) }
                readEvent(ofBurst: identifier) { continuation.resume(with: $0) }
                if Task.isCancelled { cancelBurst(identifier) }
            }
        } onCancel: {
            cancelBurst(identifier)
        }
    }

    /// As ``nextEvent(ofBurst:)``, for a thread that may block.
    func waitForEvent(ofBurst identifier: UInt64) throws -> StillCapture.BurstEvent? {
        let answer = Locked<Result<StillCapture.BurstEvent?, any Error>?>(nil)
        readEvent(ofBurst: identifier) { result in
            answer.withLock { $0 = result }
            answer.wakeAll()
        }
        return try answer.wait { $0 }?.get()
    }

    /// Answers a reader with the next event, now or when there is one; with nil where there is no such burst.
    private func readEvent(ofBurst identifier: UInt64, _ reader: @escaping StillEffects.EventReader) {
        let effects = state.withLock { state in
            var effects = StillEffects()
            guard state.bursts[identifier] != nil else {
                effects.events.append((reader, .success(nil)))
                return effects
            }
            state.bursts[identifier]!.read(reader, &effects)
            state.removeIfRead(identifier)
            state.updateReadiness()
            return effects
        }
        perform(effects)
    }

    /// Ends a burst without a summary; what of it waits for a worker is left out.
    func cancelBurst(_ identifier: UInt64) {
        let effects = state.withLock { state in
            var effects = StillEffects(wakesScheduler: true)
            state.bursts[identifier]?.cancelReaders(&effects)
            state.removeBurst(identifier)
            state.updateReadiness()
            return effects
        }
        // Frames are released without the lock.
        _ = jobs.withLock { queue in
            let all = queue.jobs
            queue.jobs.removeAll { if case .burst(identifier, _) = $0.request.owner { true } else { false } }
            return all
        }
        perform(effects)
    }

    /// Ends a burst with the stills that have their frames, and its summary.
    func endBurst(_ identifier: UInt64) { perform(state.withLock { $0.endBurst(identifier) }) }

    func readinessChanges() -> AsyncStream<StillCapture.Readiness> {
        state.withLock { state in
            state.readinessChanges.stream(bufferingPolicy: .bufferingNewest(1), beginningWith: state.readiness)
        }
    }

    // MARK: Threads

    /// The threads are started by the first request, so that an idle object has none.
    func startThreads() throws(StillCaptureError) {
        do throws(CaptureError) {
            try haveThreads.withLock { (haveThreads) throws(CaptureError) in
                guard !haveThreads else { return }
                try CaptureThread(name: "stills") { self.schedule() }
                for _ in 0..<configuration.workerCount {
                    try CaptureThread(name: "still encoder") { self.work() }
                }
                haveThreads = true
            }
        } catch {
            throw StillCaptureError(
                .system, operation: error.operation, errno: error.systemError, message: error.message)
        }
    }

    private func schedule() {
        var reported: CaptureWants?
        while true {
            wake.reset()
            if state.withLock({ $0.isClosed }) { return }
            _ = syncGate()
            let now = clock.now
            let plan = state.withLock { $0.advance(to: now) }
            perform(plan.effects)
            reportWants(plan.wants, &reported)
            if plan.needsRefresh { connection.withLock { $0.feedback }?.requestRefreshFrame() }
            if let deadline = plan.deadline { clock.wait(until: deadline, or: wake) } else { wake.wait() }
        }
    }

    private func reportWants(_ wants: CaptureWants?, _ reported: inout CaptureWants?) {
        if wants != reported {
            connection.withLock { $0.feedback }?.updateWants(wants ?? .passive)
            reported = wants
        }
        guard wants != nil else { return }
        let now = clock.now
        state.withLock { $0.didReportWants(at: now) }
    }

    private func work() {
        let encoder = StillEncoder(configuration, clock: clock)
        while let (job, backlog) = nextJob() {
            let name = configuration.cameraModel ?? currentCapture()?.captureSettings().sourceName
            let result = Result { () throws(StillCaptureError) in
                try encoder.encode(job, backlog: backlog, cameraModel: name)
            }
            perform(state.withLock { $0.finish(job, result) })
        }
    }

    /// Blocks until there is a job.
    ///
    /// - Returns: the job, and how many others wait; nil once closed.
    private func nextJob() -> (StillJob, backlog: Int)? {
        let next: (StillJob, backlog: Int)?? = jobs.wait { queue in
            if queue.isClosed { return .some(nil) }
            return queue.jobs.isEmpty ? nil : (queue.jobs.removeFirst(), queue.jobs.count)
        }
        return next ?? nil
    }
}

extension CaptureWants {
    /// Takes what the capture delivers for others.
    static let passive = CaptureWants(acceptsCompressed: true, acceptsNativeFormat: true, isPassive: true)
}

extension StillCaptureError {
    fileprivate static func invalidBurst(_ message: String) -> StillCaptureError {
        StillCaptureError(.invalidConfiguration, operation: "take a burst of stills", message: message)
    }
}
