import VideoCapturing

/// init → (start → stop)* → release.
extension ConformanceTrial<PictureMedium> {
    func checkLifeInOrder() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        try requireIdle(capture, "A new capture")
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        try require(capture.state == .initialized, "After initCapture the state is \(capture.state).")
        try start(capture)
        try awaitFrames(3, at: probe, of: capture)
        try stop(capture)
        try requireStopped(capture)
        release(capture)
    }

    func checkStartBlocksUntilStreaming() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        switch capture.state {
        case .running, .interrupted, .stopped: break
        default: throw Finding.broken("When startCapture had returned, the state was \(capture.state).")
        }
        try awaitFrames(1, at: probe, of: capture)
    }

    func checkReleaseLeadsToIdle() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        for round in 1...3 {
            let before = probe.count
            try initialize(capture)
            try start(capture)
            try awaitFrames(1, after: before, at: probe, of: capture)
            try stop(capture)
            release(capture)
            try requireIdle(capture, "After release number \(round) the capture")
        }
        // Without a start in between, too.
        try initialize(capture)
        release(capture)
        try requireIdle(capture, "After init and release the capture")
    }

    func checkStartBeforeInit() throws {
        let capture = try make()
        try requireRefusal("startCapture before init") { () throws(CaptureError) in try capture.startCapture() }
        try requireIdle(capture, "After the refused start the capture")
    }

    func checkStartAfterRelease() throws {
        let capture = try make()
        try initialize(capture)
        release(capture)
        try requireRefusal("startCapture after release") { () throws(CaptureError) in try capture.startCapture() }
    }

    func checkStopBeforeInit() throws {
        let capture = try make()
        try requireRefusal("stopCapture before init") { () throws(CaptureError) in try capture.stopCapture() }
    }

    func checkRepeatedInit() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        note("initCapture for the second time")
        try capture.initCapture()
        try require(capture.state == .initialized, "After the second init the state is \(capture.state).")
        try start(capture)
        try awaitFrames(1, at: probe, of: capture)
        note("initCapture while running")
        try capture.initCapture()
        try awaitFrames(2, after: probe.count, at: probe, of: capture, orHasEnded: true)
    }

    func checkRepeatedStart() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        try awaitFrames(1, at: probe, of: capture)
        let starts = capture.statistics.starts
        let hadEnded = capture.state != .running
        note("startCapture for the second time")
        try capture.startCapture()
        try awaitFrames(2, after: probe.count, at: probe, of: capture, orHasEnded: true)
        if !hadEnded, capture.state == .running {
            try require(capture.statistics.starts == starts, "The second start was counted as another.")
        }
    }

    func checkRepeatedStop() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        note("stopCapture before the first start")
        try capture.stopCapture()
        try start(capture)
        try awaitFrames(1, at: probe, of: capture)
        try stop(capture)
        let state = capture.state
        note("stopCapture for the second time")
        try capture.stopCapture()
        try require(capture.state == state, "The second stop changed the state from \(state) to \(capture.state).")
    }

    func checkRepeatedRelease() throws {
        let capture = try make()
        release(capture)
        try requireIdle(capture, "After a release before init the capture")
        try initialize(capture)
        release(capture)
        release(capture)
        try requireIdle(capture, "After the second release the capture")
        try initialize(capture)
    }

    func checkReleaseStopsFirst() throws {
        let probe = ProbeConsumer(delay: .milliseconds(2))
        let capture = try makeStarted(probe)
        try awaitFrames(2, at: probe, of: capture)
        release(capture)
        try require(!probe.isRunning, "releaseCapture returned while the consumer was being called.")
        let entered = probe.entered
        try requireIdle(capture, "After release while running the capture")
        pause(frameInterval(of: capture) * 2 + .milliseconds(10))
        try require(probe.entered == entered, "A frame came after releaseCapture had returned.")
    }

    // MARK: What several rules ask

    func requireIdle(_ capture: any VideoCapture, _ what: String) throws {
        try require(capture.state == .idle, "\(what) is not idle but \(capture.state).")
    }

    func requireStopped(_ capture: any VideoCapture) throws {
        switch capture.state {
        case .stopped(.user), .stopped(.endOfStream): break
        default: throw Finding.broken("After stopCapture the state is \(capture.state).")
        }
    }

    private func requireRefusal(_ what: String, _ call: () throws(CaptureError) -> Void) throws {
        note(what)
        do {
            try call()
        } catch {
            try require(error.code == .invalidState, "\(what) threw \(error.code.rawValue): \(error)")
            return
        }
        throw Finding.broken("\(what) did not throw.")
    }

    /// As `awaitFrames`, but content with none from a source that has ended meanwhile.
    func awaitFrames(
        _ count: Int, after before: Int, at probe: ProbeConsumer, of capture: any VideoCapture, orHasEnded: Bool
    ) throws {
        if orHasEnded, case .stopped(.endOfStream) = capture.state { return }
        do {
            try awaitFrames(count, after: before, at: probe, of: capture)
        } catch Finding.broken(let reason) {
            if orHasEnded, case .stopped(.endOfStream) = capture.state { return }
            throw Finding.broken(reason)
        }
    }
}
