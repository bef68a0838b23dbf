import VideoCapturing

/// What a ``StillEngine`` keeps behind its lock, and the decisions about it. No method waits or encodes.
struct StillState {
    /// Whether the capture delivers frames.
    enum Gate {
        case open
        /// It starts, or is interrupted.
        case momentarilyClosed
        case closed

        init(_ state: CaptureState) {
            switch state {
            case .running: self = .open
            case .starting, .interrupted: self = .momentarilyClosed
            case .idle, .initialized, .stopping, .stopped: self = .closed
            }
        }
    }

    let configuration: StillCapture.Configuration
    var ring: FrameRing
    /// Requests that have no frame yet, oldest first.
    private(set) var waiting: [StillRequest] = []
    private(set) var singles: [UInt64: StillAnswer] = [:]
    var bursts: [UInt64: BurstState] = [:]
    private var lastIdentifier: UInt64 = 0
    private(set) var gate = Gate.closed
    /// The reading of the capture's state that the gate follows.
    private var lastReading: UInt64 = 0
    /// The time from a frame's timestamp to its delivery.
    private var deliveryDelay = Duration.zero
    private(set) var readiness = StillCapture.Readiness.notRunning
    let readinessChanges = ObserverStreams<StillCapture.Readiness>()
    var isClosed = false

    init(_ configuration: StillCapture.Configuration) {
        self.configuration = configuration
        ring = FrameRing(capacity: configuration.ringCapacity, byteLimit: configuration.ringByteLimit)
    }

    mutating func makeIdentifier() -> UInt64 {
        lastIdentifier += 1
        return lastIdentifier
    }

    /// Stills that were asked for and not received.
    var outstandingCount: Int { singles.count + bursts.values.reduce(0) { $0 + $1.outstandingCount } }

    private var isFull: Bool { outstandingCount >= configuration.outstandingLimit }

    mutating func updateReadiness() {
        let new: StillCapture.Readiness =
            switch gate {
            case .closed: .notRunning
            case .momentarilyClosed: .notReadyMomentarily
            case .open where !isFull: .ready
            case .open: waiting.isEmpty ? .waitingForProcessing : .waitingForCapture
            }
        guard new != readiness else { return }
        readiness = new
        readinessChanges.send(new)
    }

    // MARK: Frames

    /// Takes a frame.
    ///
    /// - Returns: the frame whose place it took; and what follows, nil when nothing does.
    mutating func take(_ frame: VideoFrame, at now: MediaTime) -> (displaced: VideoFrame?, effects: StillEffects?) {
        // A repeat shows nothing new; it counts only where there is nothing else.
        guard !frame.isRepeat || ring.count == 0 else { return (nil, nil) }
        // A frame that is older than the last one, as by another clock, has no place in the order.
        if let newest = ring.newestTimestamp, frame.timestamp <= newest { return (nil, nil) }
        deliveryDelay = max(.zero, now - frame.timestamp)
        let displaced = ring.append(frame)
        guard gate != .open || !waiting.isEmpty || !bursts.isEmpty else { return (displaced, nil) }
        if gate != .open {
            gate = .open
            lastReading = makeIdentifier()
        }
        var effects = StillEffects()
        // Before the first still that follows, and not whenever the news of it arrives.
        for identifier in bursts.keys { bursts[identifier]!.report(.running, &effects) }
        for (identifier, burst) in bursts where burst.interval == nil && !burst.awaitsWants {
            tick(identifier, at: frame.timestamp)
        }
        for index in waiting.indices { waiting[index].passOver(frame) }
        assignFrames(at: now, &effects)
        effects.wakesScheduler = !waiting.isEmpty
        updateReadiness()
        return (displaced, effects)
    }

    /// Gives each request that can be decided its frame.
    mutating func assignFrames(at now: MediaTime, _ effects: inout StillEffects) {
        guard !waiting.isEmpty, ring.count > 0 else { return }
        var remaining: [StillRequest] = []
        for request in waiting {
            if let frame = pick(for: request, at: now) {
                if case .burst(let identifier, _) = request.owner {
                    bursts[identifier]?.lastTaken = frame.timestamp
                }
                if case .frame(let answer)? = singles[request.id] {
                    singles[request.id] = nil
                    effects.answers.append { answer(.success(frame)) }
                } else {
                    effects.jobs.append(StillJob(request: request, frame: frame))
                }
            } else {
                remaining.append(request)
            }
        }
        waiting = remaining
    }

    /// The frame nearest to the request's moment; nil while a nearer one may still come.
    private func pick(for request: StillRequest, at now: MediaTime) -> VideoFrame? {
        guard !request.awaitsWants, request.skippedFrames == 0, let newest = ring.newest else { return nil }
        let bound = bound(of: request)
        if let bound, newest.timestamp <= bound { return nil }
        guard newest.timestamp >= request.moment || now >= decisionTime(of: request, newest) else { return nil }
        return ring.nearest(to: request.moment, after: bound)
    }

    /// In a burst no frame is taken twice, and none out of order.
    private func bound(of request: StillRequest) -> MediaTime? {
        guard case .burst(let identifier, _) = request.owner, let last = bursts[identifier]?.lastTaken else {
            return request.bound
        }
        return request.bound.map { max($0, last) } ?? last
    }

    /// From when on no frame that comes can be nearer to the request's moment than the newest one, which lies before it:
    /// as long after the moment, and the time that frames are in flight. A source that gives a frame now and then is
    /// waited for no longer than an interval.
    private func decisionTime(of request: StillRequest, _ newest: VideoFrame) -> MediaTime {
        let distance = min(request.moment - newest.timestamp, max(longestInterval, request.settings.shortestWait))
        return request.moment.advanced(by: distance + deliveryDelay)
    }

    /// The longest time from frame to frame, as far as is known.
    private var longestInterval: Duration {
        min(.seconds(1), ring.newest?.estimatedFrameRate?.frameInterval ?? .milliseconds(100))
    }

    // MARK: Requests

    /// Adds a request for a single still or frame, which is answered at once where there is a refusal.
    mutating func addSingle(
        _ identifier: UInt64, _ settings: Still.Settings, at now: MediaTime, refusal: StillCaptureError?,
        _ answer: StillAnswer
    ) -> StillEffects {
        var effects = StillEffects()
        if let refusal = refusal ?? (isFull ? .tooMany(configuration.outstandingLimit) : nil) {
            effects.answers.append { answer.fail(refusal) }
        } else {
            singles[identifier] = answer
            waiting.append(
                StillRequest(
                    id: identifier, owner: .single, moment: now, settings: settings,
                    awaitsWants: settings.wants != nil))
            assignFrames(at: now, &effects)
            effects.wakesScheduler = !waiting.isEmpty
            updateReadiness()
        }
        return effects
    }

    /// Counts a single request whose frame comes from elsewhere.
    ///
    /// - Returns: false where there is no room; it is answered then.
    mutating func reserveSingle(_ identifier: UInt64, _ answer: StillAnswer) -> (Bool, StillEffects) {
        var effects = StillEffects()
        let refusal: StillCaptureError? =
            isClosed ? .notRunning(nil) : isFull ? .tooMany(configuration.outstandingLimit) : nil
        if let refusal {
            effects.answers.append { answer.fail(refusal) }
        } else {
            singles[identifier] = answer
            updateReadiness()
        }
        return (refusal == nil, effects)
    }

    mutating func endSingle(_ identifier: UInt64, _ result: Result<Still, any Error>, _ effects: inout StillEffects) {
        guard let answer = singles.removeValue(forKey: identifier) else { return }
        waiting.removeAll { $0.id == identifier }
        switch (answer, result) {
        case (.still(let handler), _): effects.answers.append { handler(result) }
        case (.frame, .failure(let error)): effects.answers.append { answer.fail(error) }
        // Only requested stills are encoded.
        case (.frame, .success): break
        }
        effects.wakesScheduler = true
    }

    /// Asks for one still of a burst, unless it needs none or there is no room.
    mutating func tick(_ identifier: UInt64, at moment: MediaTime) {
        guard let burst = bursts[identifier], burst.wantsMore else { return }
        guard gate == .open, !isFull else {
            bursts[identifier]!.summary.skipped += 1
            return
        }
        let place = bursts[identifier]!.beginRequest()
        waiting.append(
            StillRequest(
                id: makeIdentifier(), owner: .burst(identifier, place: place), moment: moment,
                settings: burst.settings, awaitsWants: burst.awaitsWants))
    }

    /// Begins a burst at `now`; one without an interval with the frame that is shown at this moment.
    mutating func addBurst(_ identifier: UInt64, _ burst: BurstState, at now: MediaTime) -> StillEffects {
        var effects = StillEffects(wakesScheduler: true)
        bursts[identifier] = burst
        if burst.interval == nil, !burst.awaitsWants, burst.settings.allowsEarlierFrames, gate == .open,
            let newest = ring.newestTimestamp, now - newest <= longestInterval * 2 + deliveryDelay
        {
            tick(identifier, at: newest)
            assignFrames(at: now, &effects)
        }
        updateReadiness()
        return effects
    }

    /// Records the outcome of a job.
    mutating func finish(_ job: StillJob, _ result: Result<Still, StillCaptureError>) -> StillEffects {
        var effects = StillEffects()
        switch job.request.owner {
        case .single: endSingle(job.request.id, result.mapError { $0 }, &effects)
        case .burst(let identifier, let place):
            bursts[identifier]?.finish(place, result, failureLimit: configuration.failureLimit, &effects)
            if bursts[identifier]?.hasEnded == true { dropRequests(ofBurst: identifier) }
            removeIfRead(identifier)
        }
        updateReadiness()
        return effects
    }

    /// A burst whose last event was read is over.
    mutating func removeIfRead(_ identifier: UInt64) {
        if bursts[identifier]?.isRead == true { removeBurst(identifier) }
    }

    /// Ends a burst with the stills that have their frames.
    mutating func endBurst(_ identifier: UInt64) -> StillEffects {
        var effects = StillEffects(wakesScheduler: true)
        var withdrawn: [Int] = []
        for request in waiting {
            if case .burst(identifier, let place) = request.owner { withdrawn.append(place) }
        }
        dropRequests(ofBurst: identifier)
        bursts[identifier]?.end(withdrawing: withdrawn, failureLimit: configuration.failureLimit, &effects)
        removeIfRead(identifier)
        updateReadiness()
        return effects
    }

    mutating func removeBurst(_ identifier: UInt64) {
        bursts[identifier] = nil
        dropRequests(ofBurst: identifier)
    }

    private mutating func dropRequests(ofBurst identifier: UInt64) {
        waiting.removeAll { if case .burst(identifier, _) = $0.owner { true } else { false } }
    }

    // MARK: The capture

    mutating func setGate(_ gate: Gate) { self.gate = gate }

    /// Follows a state of the capture, and reports it to the bursts; not one that is older than the last reading.
    ///
    /// - Parameter reading: an identifier that was made before the state was read.
    mutating func adopt(_ captureState: CaptureState, _ reading: UInt64, _ effects: inout StillEffects) {
        guard reading > lastReading else { return }
        lastReading = reading
        gate = Gate(captureState)
        for identifier in bursts.keys { bursts[identifier]!.report(captureState, &effects) }
    }

    /// Ends all requests.
    mutating func failAll(_ error: StillCaptureError) -> StillEffects {
        var effects = StillEffects()
        failSingles(error, &effects)
        for identifier in bursts.keys {
            bursts[identifier]!.fail(error, &effects)
            removeIfRead(identifier)
        }
        waiting.removeAll()
        gate = .closed
        lastReading = makeIdentifier()
        updateReadiness()
        return effects
    }

    mutating func failSingles(_ error: StillCaptureError, _ effects: inout StillEffects) {
        for request in waiting where singles[request.id] != nil { endSingle(request.id, .failure(error), &effects) }
    }

    // MARK: The scheduler

    /// The due work, and the time of the next.
    struct Plan {
        var effects = StillEffects()
        var deadline: MediaTime?
        /// The wants of all requests together; nil for none.
        var wants: CaptureWants?
        var needsRefresh = false
    }

    /// Does the work that is due at `now`.
    mutating func advance(to now: MediaTime) -> Plan {
        var plan = Plan()
        for identifier in bursts.keys { advance(identifier, to: now) }
        assignFrames(at: now, &plan.effects)
        endSinglesInTime(now, &plan.effects)
        for index in waiting.indices { planRequest(index, at: now, &plan) }
        for burst in bursts.values { plan.wait(until: burst.nextDeadline) }
        updateReadiness()
        plan.wants = mergedWants
        return plan
    }

    /// Makes the ticks of a burst that are due.
    private mutating func advance(_ identifier: UInt64, to now: MediaTime) {
        while let burst = bursts[identifier], burst.interval != nil, burst.tickTime <= now {
            if !burst.wantsMore {
                // It needs none now, and goes on with the next one that is due if it needs one again.
                _ = bursts[identifier]!.passTicks(until: now)
            } else if gate != .open || isFull {
                let skipped = bursts[identifier]!.passTicks(until: now)
                bursts[identifier]!.summary.skipped += skipped
            } else {
                tick(identifier, at: burst.tickTime)
                bursts[identifier]!.passTick()
            }
        }
    }

    private mutating func endSinglesInTime(_ now: MediaTime, _ effects: inout StillEffects) {
        for request in waiting where singles[request.id] != nil {
            guard let timeout = request.settings.timeout, now >= request.moment.advanced(by: timeout) else { continue }
            endSingle(request.id, .failure(StillCaptureError.timedOut(timeout)), &effects)
        }
    }

    private mutating func planRequest(_ index: Int, at now: MediaTime, _ plan: inout Plan) {
        let request = waiting[index]
        if singles[request.id] != nil, let timeout = request.settings.timeout {
            plan.wait(until: request.moment.advanced(by: timeout))
        }
        guard !request.awaitsWants, let newest = ring.newest else { return }
        let decision = decisionTime(of: request, newest)
        if decision > now { plan.wait(until: decision) }
        // Nothing new by the time of a decision: a source that delivers changes only, such as a screen, is at rest.
        // One that gives a frame now and then may give one now.
        let isOverdue =
            decision <= now || request.moment - newest.timestamp > longestInterval * 2
            || newest.estimatedFrameRate.map { $0.frameInterval > longestInterval } ?? false
        if !request.hasRequestedRefresh, isOverdue {
            waiting[index].hasRequestedRefresh = true
            plan.needsRefresh = true
        }
    }

    private var mergedWants: CaptureWants? {
        let all =
            waiting.compactMap(\.settings.wants)
            + bursts.values.compactMap { $0.wantsMore ? $0.settings.wants : nil }
        guard let first = all.first else { return nil }
        return all.dropFirst().reduce(first) { $0.merged(with: $1) }
    }

    /// The wants have reached the capture, so frames from `now` on fulfil them.
    mutating func didReportWants(at now: MediaTime) {
        for index in waiting.indices where waiting[index].awaitsWants {
            waiting[index].awaitsWants = false
            waiting[index].bound = max(waiting[index].bound ?? now, now.advanced(by: .nanoseconds(-1)))
        }
        for identifier in bursts.keys { bursts[identifier]!.awaitsWants = false }
    }
}

extension StillState.Plan {
    mutating func wait(until time: MediaTime?) {
        guard let time else { return }
        deadline = deadline.map { min($0, time) } ?? time
    }
}
