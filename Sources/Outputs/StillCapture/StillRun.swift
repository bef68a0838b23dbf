import MediaPublishing
import VideoCapturing

/// The burst of an open ``StillOutput``: it begins with the first frame, and each still is in its file before the next is
/// asked for beyond the limit of outstanding ones.
///
/// ```
/// capture thread ── frames ──▶ StillCapture ── stills ──▶ writer thread ──▶ files
/// ```
/// The writer thread alone waits for the disk. Frames of a source that is read as fast as possible wait in the
/// output's queue instead of being left out, and their own times count, not the clock.
final class StillRun: InlineConsumer, FeedbackConsumer {
    private struct State {
        var hasBegun = false
        var start: Start?
        /// No more frames are taken.
        var isEnding = false
        /// All is written that will be, and the writer thread ends.
        var hasEnded = false
        var progress = Progress()
        /// The histogram of ``Progress``.
        var latency = LatencyHistogram()
        var hasWarned = false
        // Of a source that is read as fast as possible:
        var nextDue: MediaTime?
        var lastGiven: MediaTime?
        /// Frames that were taken and are neither in a file nor have failed.
        var outstandingCount = 0
    }

    /// What became of the burst's beginning.
    private enum Start {
        /// Stills for which the device is set, which the writer thread asks for.
        case adjusting
        /// It ended before the first frame.
        case never
        case failed(StillCaptureError)
        case burst(UInt64)

        var burst: UInt64? { if case .burst(let burst) = self { burst } else { nil } }
    }

    /// The statistics so far.
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
        try CaptureThread(name: "still files") { self.work() }
    }

    var progress: Progress {
        state.withLock { state in
            var progress = state.progress
            if let burst = state.start?.burst, let summary = stills.engine.summary(ofBurst: burst) {
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
            // What the burst would not ask for now waits here, and is not left out.
            let missingCount = configuration.count - state.progress.written
            guard state.outstandingCount < min(givenLimit, missingCount) else { return nil }
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
        // The ticks of an interval begin with a frame that can be taken, and the size of the stream is that of a frame; the
        // ticks of frames begin with the frame itself.
        let interval = isLive ? configuration.interval : nil
        let beginsAfter = interval != nil || configuration.isAdjusting
        if isFirst, !beginsAfter { begin(nil) }
        stills.consumeFrame(frame)
        if isFirst, beginsAfter { begin(interval) }
    }

    func connectFeedback(_ feedback: CaptureFeedback?) {
        guard let feedback else { return end() }
        stills.connectFeedback(feedback)
        // Unlike other stills these are what the capture is for.
        let settings = configuration.settings
        feedback.updateWants(
            CaptureWants(
                acceptsCompressed: true, usesCompressed: settings.format == .jpeg && settings.passesThrough,
                acceptsNativeFormat: true))
    }

    /// The capture is interrupted: what it delivered before is no picture of now.
    func interrupt(_ new: CaptureState) { stills.engine.interrupt(new) }

    // MARK: The burst

    private func begin(_ interval: Duration?) {
        let start: Start
        do throws(StillCaptureError) {
            start =
                configuration.isAdjusting
                ? .adjusting
                : .burst(
                    try stills.engine.startBurst(
                        count: configuration.count, interval: interval, configuration.settings))
        } catch {
            start = .failed(error)
        }
        let isEnding = state.withLock { state in
            state.start = start
            return state.isEnding
        }
        state.wakeAll()
        if isEnding, let burst = start.burst { stills.engine.endBurst(burst) }
    }

    /// The writer thread.
    private func work() {
        let start = state.wait { state -> Start? in
            state.start ?? (state.isEnding && !state.hasBegun ? .never : nil)
        }
        var failure: (any Error)?
        do {
            switch start {
            case .burst(let burst): try write(burst)
            case .adjusting: try writeAdjusted()
            case .failed(let error): failure = error
            case .never, nil: break
            }
        } catch {
            failure = error
        }
        conclude(failure)
    }

    private func write(_ burst: UInt64) throws {
        while let event = try stills.engine.waitForEvent(ofBurst: burst) {
            switch event {
            case .still(let still): try write(still)
            case .failed(let error): didFail(error)
            case .finished(let summary): state.withLock { $0.progress.summary = summary }
            case .captureChanged, .captureReplaced: break
            }
        }
    }

    /// Takes and writes stills for which the capture's device is set: a bracket, or one of another size.
    private func writeAdjusted() throws {
        let settings = configuration.settings
        if let size = settings.size {
            let still = try stills.engine.waitForSized(settings, of: size, context.adjustable)
            state.withLock { $0.progress.summary.count(still) }
            return try write(still)
        }
        try stills.engine.takeBracket(
            configuration.bracket, settings, context.adjustable,
            isCancelled: { state.withLock { $0.isEnding } },
            onStill: { still in
                state.withLock { $0.progress.summary.count(still) }
                try write(still)
            })
    }

    /// A damaged frame, which another one replaces; only the first is reported.
    private func didFail(_ error: StillCaptureError) {
        let isFirst = state.withLock { state in
            state.outstandingCount -= 1
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        state.wakeAll()
        if isFirst { context.warn("A still failed and is taken again: \(error)") }
    }

    /// Takes no more frames; the stills taken so far are written.
    func end() {
        let burst = state.withLock { state in
            state.isEnding = true
            return state.start?.burst
        }
        state.wakeAll()
        if let burst { stills.engine.endBurst(burst) } else { stills.engine.endSingles() }
    }

    /// Waits until all is written after ``end()``.
    ///
    /// - Returns: false when the disk does not answer.
    func waitForEnd(until deadline: MediaTime) -> Bool {
        state.wait(until: deadline) { $0.hasEnded ? () : nil } != nil
    }

    // MARK: Files

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

    /// Reports how it has ended. No frame waits then: the publisher, when it ends the supply of frames, waits for
    /// the one that is being consumed.
    private func conclude(_ error: (any Error)?) {
        let (burst, wasEnding, isComplete) = state.withLock { state in
            defer { state.isEnding = true }
            return (state.start?.burst, state.isEnding, state.progress.written == configuration.count)
        }
        if let burst {
            if let summary = stills.engine.summary(ofBurst: burst) {
                state.withLock { $0.progress.summary = summary }
            }
            stills.engine.cancelBurst(burst)
        }
        state.wakeAll()
        if let error {
            context.fail(error)
        } else if isComplete, !wasEnding {
            context.complete()
        }
        state.withLock { $0.hasEnded = true }
        state.wakeAll()
    }
}

extension StillCapture.BurstSummary {
    fileprivate mutating func count(_ still: Still) {
        requested += 1
        captured += 1
    }
}

extension StillEngine {
    /// Ends the requests for single stills that have no frame yet.
    fileprivate func endSingles() {
        perform(
            state.withLock { state in
                var effects = StillEffects()
                state.failSingles(.notRunning(nil), &effects)
                return effects
            })
    }

    /// The counts of a burst; nil when it is over.
    fileprivate func summary(ofBurst identifier: UInt64) -> StillCapture.BurstSummary? {
        state.withLock { $0.bursts[identifier]?.summary }
    }
}
