import MediaPublishing
import StillCapture
import VideoCapturing

/// From frame to viewers: keeps the newest frame, makes a part of it when one is wanted, and offers it to every event loop.
/// A snapshot is the frame nearest to its request, which ``StillCapture`` finds. Knows nothing of HTTP.
///
/// Safe to use from any thread. Frames come on the capture's or a queue's thread; everything else (the first part for a
/// viewer, repeats, placeholders, wants) is done by the worker.
final class Broadcaster: Sendable {
    let configuration: MJPEGServer.Configuration
    let clock = MonotonicClock()
    let state: Locked<BroadcastState>
    /// What waits in memory for slow clients.
    let waiting: WaitingBytes
    private let encoding: Locked<FrameEncoding>
    private let hubs = Locked<[LoopHub]>([])
    let onWarning: @Sendable (String) -> Void
    let worker = Worker()
    /// Shows the frames in another way; nil for none.
    let viewing: (any LiveViewing)?
    /// What requests may fire; nil while the server is no output of a publisher.
    let recording = Locked<RecordingTrigger?>(nil)

    init(
        _ configuration: MJPEGServer.Configuration, viewing: (any LiveViewing)? = nil,
        onWarning: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.onWarning = onWarning
        self.viewing = viewing
        waiting = WaitingBytes(limit: configuration.limits.waitingBytes, onWarning: onWarning)
        encoding = Locked(FrameEncoding(configuration))
        state = Locked(BroadcastState())
    }

    // MARK: Frames

    /// Takes a frame: makes a part of it if one is wanted, and keeps it.
    func consume(_ frame: VideoFrame) {
        let now = clock.now
        let (work, stills) = state.withLock { ($0.take(frame, at: now), $0.isLive ? $0.stills : nil) }
        stills?.consumeFrame(frame)
        guard let work else { return }
        encode(work.frame, number: work.number, mayDrop: work.mayDrop, at: now)
    }

    /// Takes a frame if that takes no encoding. False when it does.
    func consumeInline(_ frame: VideoFrame) -> Bool {
        let isJPEG = FrameEncoding.passesOn(frame, configuration)
        var now: MediaTime?
        let (work, stills) = state.withLock { state -> (BroadcastState.Work?, StillCapture?) in
            guard isJPEG || !state.hasDemand else { return (nil, nil) }
            let time = clock.now
            now = time
            return (state.take(frame, at: time), state.isLive ? state.stills : nil)
        }
        guard let now else { return false }
        stills?.consumeFrame(frame)
        if let work { encode(work.frame, number: work.number, mayDrop: work.mayDrop, at: now) }
        return true
    }

    // Here and below the clock is read once for all that happens at the same moment: on machines whose time cannot be read
    // in user space each reading is a system call.
    private func encode(_ frame: VideoFrame, number: UInt64, mayDrop: Bool, at now: MediaTime) {
        do {
            // Published while no other thread encodes, so that parts leave in the order of their frames.
            try encoding.withLock { encoding in
                switch try encoding.makePart(frame, number: number, mayDrop: mayDrop, at: now) {
                case .part(let part): publish(part, number: number)
                case .same: publishSame(number: number)
                case nil: break
                }
            }
        } catch {
            let isFirst = state.withLock { state in
                state.counts.failed += 1
                defer { state.isFailing = true }
                return !state.isFailing
            }
            // One sentence for a series of failures, not one for each frame.
            if isFirst { onWarning("A frame could not be made a JPEG picture and was left out: \(error)") }
        }
    }

    private func publish(_ part: FramePart, number: UInt64) {
        let now = part.information.encodeEnd
        let answers = state.withLock { $0.publish(part, number: number, at: now) }
        for hub in hubs.withLock({ $0 }) { hub.offer(part, .new) }
        for answer in answers { answer(part) }
    }

    private func publishSame(number: UInt64) {
        let (part, hasDual, answers) = state.withLock { $0.publishSame(number: number) }
        guard let part else { return }
        if hasDual {
            for hub in hubs.withLock({ $0 }) { hub.offer(part, .same) }
        }
        for answer in answers { answer(part) }
    }

    // MARK: Viewers and snapshots

    /// Adds a viewer.
    ///
    /// - Returns: the part that shows the newest state; nil where it has yet to be made, and is offered to the loops.
    func join(_ record: ViewerRecord) -> FramePart? {
        let (part, isFirst) = state.withLock { state in
            state.viewers[record.id] = record
            state.lastDemand = clock.now
            // A source that is slowed down without viewers may have a newer frame.
            if state.viewers.count == 1 { state.needsRefresh = true }
            return (state.currentPart, state.viewers.count == 1)
        }
        if part == nil || isFirst { worker.wake() }
        return part
    }

    /// Removes a viewer.
    func leave(_ record: ViewerRecord) {
        state.withLock { state in
            guard state.viewers.removeValue(forKey: record.id) != nil else { return }
            let counts = record.current
            state.counts.sentBefore += counts.sent
            state.counts.skippedBefore += counts.skipped
            state.counts.bytesBefore += counts.bytes
            state.lastDemand = clock.now
        }
        worker.wake()
    }

    /// Requests the frame nearest to this moment as a part, or the placeholder where no frame is to be expected. Calls
    /// `answer` at once, or later on any thread; not at all if the request is withdrawn before.
    ///
    /// - Returns: a number by which to withdraw the request; nil when it was answered at once.
    func requestSnapshot(_ answer: @escaping @Sendable (FramePart) -> Void) -> UInt64? {
        let now = clock.now
        var settings = Still.Settings(timeout: configuration.snapshotTimeout)
        let (part, number, stills) = state.withLock { state -> (FramePart?, UInt64, StillCapture?) in
            if !state.isLive, state.placeholder.isLasting, let part = state.currentPart { return (part, 0, nil) }
            state.lastTicket += 1
            guard state.isLive, let stills = state.stills else {
                state.snapshots[state.lastTicket] = answer
                return (nil, state.lastTicket, nil)
            }
            if isAtLowRate(state, at: now) { settings.shortestWait = .seconds(1) }
            state.addShot(state.lastTicket, at: now, answer)
            return (nil, state.lastTicket, stills)
        }
        if let part {
            answer(part)
            return nil
        }
        worker.wake()
        if let stills { takeFrame(forShot: number, settings, stills) }
        return number
    }

    /// Whether the source gives frames, and few of them, since there were no viewers.
    private func isAtLowRate(_ state: BroadcastState, at now: MediaTime) -> Bool {
        guard isIdle(state, at: now), let rate = idleFrameRate(state), let newest = state.newest else { return false }
        return now - newest.timestamp < rate.frameInterval * 2
    }

    private func takeFrame(forShot number: UInt64, _ settings: Still.Settings, _ stills: StillCapture) {
        Task { [weak self] in
            // Without a frame the client's own timeout answers.
            guard let frame = try? await stills.frame(settings), let self else { return }
            state.withLock { $0.take(frame, forShot: number) }
            worker.wake()
        }
    }

    /// Withdraws a request; false when it has been answered.
    @discardableResult
    func withdrawSnapshot(_ number: UInt64) -> Bool { state.withLock { $0.withdrawSnapshot(number) } }

    /// Makes a part of a frame that was taken for requests, unless there is one; on the worker's thread.
    private func answer(_ answers: [BroadcastState.SnapshotHandler], with frame: VideoFrame) {
        var part = state.withLock { $0.part(of: frame) }
        if part == nil {
            do {
                part = try encoding.withLock { try $0.makeSnapshot(frame, at: clock.now) }
            } catch {
                state.withLock { $0.counts.failed += 1 }
                onWarning("A snapshot could not be made a JPEG picture: \(error)")
            }
            if let part { state.withLock { $0.recordShot(part) } }
        }
        guard let part else { return }
        for answer in answers { answer(part) }
    }

    // MARK: Life

    /// Starts the worker, and offers parts to these event loops.
    ///
    /// - Throws: `CaptureError` without a thread.
    func start(_ hubs: [LoopHub]) throws(CaptureError) {
        self.hubs.withLock { $0 = hubs }
        // The newest frame and the one before it suffice: requests are of the present. Connections limit them.
        let stills = StillCapture(
            configuration: .init(
                outstandingLimit: configuration.limits.connections, ringCapacity: 2, workerCount: 1))
        let newest = state.withLock { state in
            state.lastDemand = clock.now
            state.stills = stills
            return state.newest
        }
        if let newest { stills.consumeFrame(newest) }
        try worker.start { [weak self] in self?.tick() }
    }

    /// Ends that. When it returns, the worker has ended (unless called by the worker itself).
    func stop() {
        self.hubs.withLock { $0 = [] }
        worker.stop()
        let stills = state.withLock { state in
            state.withdrawSnapshots()
            return state.stills.take()
        }
        // Its end, which ends its threads, is not waited for under the lock.
        withExtendedLifetime(stills) {}
    }

    /// The state of the source has changed.
    func sourceStateChanged(to new: CaptureState) {
        let now = clock.now
        let stills = state.withLock { state in
            state.sourceStateChanged(to: new, at: now)
            return state.isLive ? nil : state.stills
        }
        stills?.interrupt(new)
        worker.wake()
    }

    /// Sets where wants are reported to, and reports them.
    func connectFeedback(_ feedback: CaptureFeedback?) {
        state.withLock { state in
            state.feedback = feedback
            state.reportedWants = nil
        }
        if !worker.isRunning { reportWants(at: clock.now) }
        worker.wake()
    }

    // MARK: The worker

    /// Does the tasks that are due; on the worker's thread.
    ///
    /// - Returns: when the next one will be due; nil to wait until it is woken.
    private func tick() -> MediaTime? {
        let now = clock.now
        reportWants(at: now)
        switch state.withLock({ $0.nextTask(at: now, repeatInterval: configuration.repeatInterval) }) {
        case .takeSnapshot(let frame, let answers): answer(answers, with: frame)
        case .encode(let frame, let number):
            encode(frame, number: number, mayDrop: false, at: now)
        case .showPlaceholder(let placeholder, let width, let height, let generation):
            show(placeholder, width: width, height: height, generation: generation)
        case .repeatLast(let part):
            for hub in hubs.withLock({ $0 }) { hub.offer(part, .repeated) }
        case nil: break
        }
        return state.withLock {
            $0.nextDeadline(
                after: now, repeatInterval: configuration.repeatInterval, idleDelay: configuration.idleDelay)
        }
    }

    private func show(_ placeholder: Placeholder, width: Int, height: Int, generation: UInt64) {
        do {
            let frame = try placeholder.frame(width: width, height: height, timestamp: clock.now)
            try encoding.withLock { encoding in
                guard let part = try encoding.makePlaceholder(frame) else { return }
                let now = clock.now
                let answers = state.withLock { $0.publishPlaceholder(part, generation: generation, at: now) }
                guard let answers else { return }
                for hub in hubs.withLock({ $0 }) { hub.offer(part, .new) }
                for answer in answers { answer(part) }
            }
        } catch {
            state.withLock { $0.counts.failed += 1 }
            onWarning("The picture that says why there is none could not be made: \(error)")
        }
    }

    private func reportWants(at now: MediaTime) {
        let (feedback, wants, needsRefresh) = state.withLock { state -> (CaptureFeedback?, CaptureWants?, Bool) in
            guard let feedback = state.feedback else { return (nil, nil, false) }
            let wants = self.wants(state, at: now)
            defer {
                state.reportedWants = wants
                state.needsRefresh = false
            }
            return (feedback, state.reportedWants == wants ? nil : wants, state.needsRefresh)
        }
        if let wants { feedback?.updateWants(wants) }
        if needsRefresh { feedback?.requestRefreshFrame() }
    }

    private func isIdle(_ state: BroadcastState, at now: MediaTime) -> Bool {
        state.viewers.isEmpty && !state.hasSnapshotRequests && now - state.lastDemand >= configuration.idleDelay
    }

    /// The rate without viewers. Most cameras send a key frame in four seconds, with which a decoder has nothing else to do.
    private func idleFrameRate(_ state: BroadcastState) -> FrameRate? {
        guard let rate = configuration.idleFrameRate, state.areFramesDecoded else { return configuration.idleFrameRate }
        return FrameRate(1, per: 4).map { min($0, rate) }
    }

    private func wants(_ state: BroadcastState, at now: MediaTime) -> CaptureWants {
        let isIdle = isIdle(state, at: now)
        let rate = isIdle ? idleFrameRate(state) ?? configuration.maximumFrameRate : configuration.maximumFrameRate
        return CaptureWants(
            maximumFrameRate: rate, acceptsCompressed: configuration.passesThrough,
            usesCompressed: configuration.passesThrough && !isIdle, acceptsNativeFormat: true)
    }
}

/// A thread that does a task when it is due, sleeps until the next one is, and can be woken. Safe to use from any thread.
final class Worker: Sendable {
    private struct State {
        var isWoken = false
        var isStopping = false
        /// A thread runs; until it has ended.
        var hasThread = false
        var thread: UInt?
    }

    private let state = Locked(State())

    var isRunning: Bool { state.withLock { $0.hasThread && !$0.isStopping } }

    /// Starts the thread.
    ///
    /// - Parameter work: called repeatedly; returns when it is to be called next, nil for when the worker is woken.
    /// - Throws: `CaptureError` without a thread.
    func start(_ work: @escaping @Sendable () -> MediaTime?) throws(CaptureError) {
        // A worker that was stopped by its own thread may not have ended yet.
        _ = state.wait { $0.hasThread ? nil : () }
        state.withLock { $0 = State(isWoken: true, hasThread: true) }
        do {
            try CaptureThread(name: "mjpeg-server") { [state] in
                state.withLock { $0.thread = CaptureThread.currentIdentifier }
                var deadline: MediaTime?
                while true {
                    let isOver = state.wait(until: deadline) { state -> Bool? in
                        guard state.isWoken || state.isStopping else { return nil }
                        state.isWoken = false
                        return state.isStopping
                    }
                    if isOver == true { break }
                    deadline = work()
                }
                state.withLock { state in
                    state.hasThread = false
                    state.thread = nil
                }
                state.wakeAll()
            }
        } catch {
            state.withLock { $0.hasThread = false }
            throw error
        }
    }

    /// Calls `work` now.
    func wake() {
        state.withLock { $0.isWoken = true }
        state.wakeAll()
    }

    /// Ends the thread and waits for it; called on that thread, it ends once `work` has returned.
    func stop() {
        state.withLock { $0.isStopping = true }
        state.wakeAll()
        let isOwn = state.withLock { $0.thread == CaptureThread.currentIdentifier }
        if !isOwn { _ = state.wait { $0.hasThread ? nil : () } }
    }
}
