import MediaPublishing
import VideoCapturing

/// The burst of an open ``StillOutput``: it begins with the first frame, and each still is in its file before the next is
/// asked for beyond the limit of outstanding ones.
///
/// ```
/// capture thread ── frames ──▶ StillCapture ── stills ──▶ task ── one at a time ──▶ writer thread ──▶ files
/// ```
/// The disk is waited for by the writer thread alone. Frames of a source that is read as fast as possible wait in the
/// output's queue instead of being left out, and their own times count, not the clock.
final class StillRun: InlineConsumer, FeedbackConsumer {
    private struct State {
        var hasBegun = false
        var burst: UInt64?
        /// No more frames are taken.
        var isEnding = false
        /// All is written that will be, and the writer thread ends.
        var hasEnded = false
        var jobs: [Job] = []
        var progress = Progress()
        /// The histogram of ``Progress``.
        var latency = LatencyHistogram()
        var hasWarned = false
        // Of a source that is read as fast as possible:
        var nextDue: MediaTime?
        var lastGiven: MediaTime?
        var outstandingCount = 0
    }

    /// What the writer thread does.
    private enum Job {
        case write(Still, CheckedContinuation<Bool, Never>)
        case end((any Error)?)
    }

    /// What was done so far.
    struct Progress {
        var written = 0
        var bytes: Int64 = 0
        var summary = StillCapture.BurstSummary()
        /// From the requested moment to the complete file; nil where the frames' times are not the clock's.
        var p50Latency: Duration?
        var maximumLatency: Duration?
    }

    private let configuration: StillOutput.Configuration
    private let file: StillFile
    private let context: OutputContext
    private let stills: StillCapture
    private let clock = MonotonicClock()
    private let state = Locked(State())

    /// Whether frames come at their times.
    private let isLive: Bool
    /// The maximum number of frames of other sources that are being made stills.
    private let givenLimit: Int

    /// - Throws: `CaptureError` and ``StillCaptureError`` when there are no threads left.
    init(_ file: StillFile, _ configuration: StillOutput.Configuration, _ context: OutputContext) throws {
        self.file = file
        self.configuration = configuration
        self.context = context
        isLive = context.pacing == .realTime || context.pacing == .playback(isPaced: true)
        let limits = StillCapture.Configuration(cameraModel: context.sourceName)
        givenLimit = max(1, limits.outstandingLimit - 2)
        stills = StillCapture(configuration: limits)
        try stills.engine.startThreads()
        try CaptureThread(name: "still files") { self.write() }
    }

    var progress: Progress {
        state.withLock { state in
            var progress = state.progress
            if let burst = state.burst, let summary = stills.engine.summary(ofBurst: burst) {
                progress.summary = summary
            }
            if state.latency.count > 0 {
                progress.p50Latency = state.latency.quantile(0.5)
                progress.maximumLatency = .nanoseconds(state.latency.maximum)
            }
            return progress
        }
    }

    // MARK: Frames

    func consumeInline(_ frame: VideoFrame) -> Bool {
        guard isLive else { return false }
        take(frame)
        return true
    }

    func consumeFrame(_ frame: VideoFrame) {
        guard !isLive else { return take(frame) }
        let isTaken = state.wait { state -> Bool? in
            if state.isEnding { return false }
            guard state.outstandingCount < givenLimit else { return nil }
            return admit(frame, &state)
        }
        if isTaken == true { take(frame) }
    }

    /// Whether a frame of a source that is read as fast as possible is one of the burst.
    private func admit(_ frame: VideoFrame, _ state: inout State) -> Bool {
        let time = frame.timestamp
        // These make no still; see `StillState.take`.
        if let last = state.lastGiven, frame.isRepeat || time <= last { return false }
        if let interval = configuration.interval {
            if let due = state.nextDue, time < due { return false }
            let due = state.nextDue ?? time
            let passed = (time - due).nanoseconds / interval.nanoseconds
            state.nextDue = due.advanced(by: interval * (passed + 1))
        }
        state.lastGiven = time
        state.outstandingCount += 1
        return true
    }

    private func take(_ frame: VideoFrame) {
        let (isFirst, isEnding) = state.withLock { state in
            guard !state.isEnding else { return (false, true) }
            defer { state.hasBegun = true }
            return (!state.hasBegun, false)
        }
        guard !isEnding else { return }
        // The ticks of an interval begin with a frame that can be taken; those of frames with the frame itself.
        let interval = isLive ? configuration.interval : nil
        if isFirst, interval == nil { begin(nil) }
        stills.consumeFrame(frame)
        if isFirst, let interval { begin(interval) }
    }

    func connectFeedback(_ feedback: CaptureFeedback?) {
        guard let feedback else { return end() }
        stills.connectFeedback(feedback)
        // Unlike other stills these are what the capture is for.
        feedback.updateWants(CaptureWants(acceptsCompressed: true, acceptsNativeFormat: true))
    }

    /// The capture is interrupted: what it delivered before is no picture of now.
    func interrupt(_ new: CaptureState) { stills.engine.interrupt(new) }

    // MARK: The burst

    private func begin(_ interval: Duration?) {
        let result = Result { () throws(StillCaptureError) in
            try stills.engine.startBurst(
                count: configuration.count, interval: interval, configuration.settings)
        }
        guard case .success(let burst) = result else {
            if case .failure(let error) = result { post(.end(error)) }
            return
        }
        let isEnding = state.withLock { state in
            state.burst = burst
            return state.isEnding
        }
        if isEnding { stills.engine.endBurst(burst) }
        Task { await self.read(burst) }
    }

    private func read(_ burst: UInt64) async {
        var failure: (any Error)?
        do {
            while let event = try await stills.engine.nextEvent(ofBurst: burst) {
                switch event {
                case .still(let still):
                    let isWritten = await withCheckedContinuation { post(.write(still, $0)) }
                    // The writer has ended with its error.
                    guard isWritten else { return }
                case .failed(let error): didFail(error)
                case .finished(let summary): state.withLock { $0.progress.summary = summary }
                case .captureChanged, .captureReplaced: break
                }
            }
        } catch {
            failure = error
        }
        post(.end(failure))
    }

    /// A frame that is no picture, in whose place another one is taken; the first is worth a word.
    private func didFail(_ error: StillCaptureError) {
        let isFirst = state.withLock { state in
            state.outstandingCount -= 1
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        state.wakeAll()
        if isFirst { context.warn("A still failed and is taken again: \(error)") }
    }

    /// Takes no more frames; what was taken is written.
    func end() {
        let (burst, hasBegun) = state.withLock { state in
            state.isEnding = true
            return (state.burst, state.hasBegun)
        }
        state.wakeAll()
        if let burst { stills.engine.endBurst(burst) } else if !hasBegun { post(.end(nil)) }
    }

    /// Waits until all is written after ``end()``.
    ///
    /// - Returns: false when the disk does not answer.
    func waitForEnd(until deadline: MediaTime) -> Bool {
        state.wait(until: deadline) { $0.hasEnded ? () : nil } != nil
    }

    // MARK: Files

    private func post(_ job: Job) {
        let isTaken = state.withLock { state in
            guard !state.hasEnded else { return false }
            state.jobs.append(job)
            return true
        }
        if isTaken {
            state.wakeAll()
        } else if case .write(_, let continuation) = job {
            continuation.resume(returning: false)
        }
    }

    /// The writer thread.
    private func write() {
        while let job = state.wait(for: { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
            switch job {
            case .end(let error): return conclude(error)
            case .write(let still, let continuation):
                do throws(StillCaptureError) {
                    try write(still)
                    continuation.resume(returning: true)
                } catch {
                    continuation.resume(returning: false)
                    return conclude(error)
                }
            }
        }
    }

    private func write(_ still: Still) throws(StillCaptureError) {
        try file.write(still)
        let latency = clock.now - still.timestamp.advanced(by: .zero - still.offset)
        state.withLock { state in
            state.progress.written += 1
            state.progress.bytes += Int64(still.data.count)
            state.outstandingCount -= 1
            if isLive { state.latency.record(nanoseconds: latency.nanoseconds) }
        }
        state.wakeAll()
    }

    /// Reports how it has ended, when nothing of it waits any more: the publisher ends the supply of frames, and for that
    /// waits for a frame that is being consumed.
    private func conclude(_ error: (any Error)?) {
        let (burst, isEnding, isComplete) = state.withLock { state in
            defer { state.isEnding = true }
            return (state.burst, state.isEnding, state.progress.written == configuration.count)
        }
        if let burst {
            if let summary = stills.engine.summary(ofBurst: burst) { state.withLock { $0.progress.summary = summary } }
            stills.engine.cancelBurst(burst)
        }
        state.wakeAll()
        if let error {
            context.fail(error)
        } else if isComplete, !isEnding {
            context.complete()
        }
        let rest = state.withLock { state in
            state.hasEnded = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for case .write(_, let continuation) in rest { continuation.resume(returning: false) }
        state.wakeAll()
    }
}

extension StillEngine {
    /// The counts of a burst; nil when it is over.
    fileprivate func summary(ofBurst identifier: UInt64) -> StillCapture.BurstSummary? {
        state.withLock { $0.bursts[identifier]?.summary }
    }
}
