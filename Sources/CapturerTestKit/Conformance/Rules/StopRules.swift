import VideoCapturing

/// A capture can be restarted after it was stopped, or after it stopped on its own account, any number of times.
extension ConformanceTrial<PictureMedium> {
    func checkRestart() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for _ in 1...4 {
            let before = probe.count
            try start(capture)
            try awaitFrames(2, after: before, at: probe, of: capture)
            try stop(capture)
        }
    }

    func checkRestartAfterOwnEnd() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        // Whether it is finite cannot be asked, so it is given some time to end.
        let hasEnded = eventually("the stream ends", within: suite.ownEndTimeout) {
            if case .stopped = capture.state { return true }
            return false
        }
        guard hasEnded else { throw Finding.notApplicable("It did not end on its own account.") }
        for _ in 1...2 {
            try require(!capture.isCaptureStarted, "It is started although it has stopped on its own account.")
            let before = probe.count
            try start(capture)
            try awaitFrames(1, after: before, at: probe, of: capture)
            _ = eventually("the stream ends again") {
                if case .stopped = capture.state { return true }
                return false
            }
        }
        note("stopCapture after the end of the stream")
        try capture.stopCapture()
    }

    func checkQuickRestarts() throws {
        let baseline = ProbeConsumer()
        let capture = try makeStarted(baseline)
        try awaitFrames(8, at: baseline, of: capture)
        try stop(capture)
        note("starting and stopping 50 times")
        for _ in 1...50 {
            try capture.startCapture()
            try capture.stopCapture()
        }
        try requireOnce(of: 5) {
            let probe = ProbeConsumer()
            capture.videoCaptureConsumer = probe
            try start(capture)
            try awaitFrames(12, at: probe, of: capture)
            try stop(capture)
            try require(!probe.haveCallsOverlapped, "After 50 restarts two calls of the consumer ran at once.")
            let threads = Set(probe.calls.map(\.thread))
            try require(threads.count == 1, "After 50 restarts frames come from \(threads.count) threads at once.")
            // Frames that come as fast as they are taken have no rate that could double.
            guard let stated = capture.captureSettings().format.estimatedFramesPerSecond?.framesPerSecond,
                let before = rate(of: baseline.calls.prefix(8)), let after = rate(of: probe.calls)
            else { return nil }
            // Frames that were late in the first run make its rate low, so the stated one counts as well.
            return after < max(before, stated) * 1.6
                ? nil : "After 50 restarts the rate is \(after) frames per second; it was \(before)."
        }
    }

    /// Frames per second by the timestamps; nil for fewer than five frames.
    func rate(of calls: some BidirectionalCollection<ProbeConsumer.Call>) -> Double? {
        guard calls.count >= 5, let first = calls.first, let last = calls.last else { return nil }
        let seconds = (last.timestamp - first.timestamp).seconds
        return seconds > 0 ? Double(calls.count - 1) / seconds : nil
    }
}

/// When ``stopCapture()`` has returned, no call of the consumer is running and none will come.
extension ConformanceTrial<PictureMedium> {
    func checkStopEndsDelivery() throws {
        let probe = ProbeConsumer(delay: .milliseconds(4))
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        let interval = frameInterval(of: capture)
        for round in 0..<16 {
            try start(capture)
            if round % 4 == 0 { try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true) }
            // Moments spread over a frame's interval and a call of the consumer.
            pause(.nanoseconds(Int64(round * 7 % 16) * (interval + .milliseconds(4)).nanoseconds / 16))
            try stop(capture)
            try requireSilence(probe, for: round % 4 == 0 ? interval + .milliseconds(5) : .milliseconds(2))
        }
        try require(probe.entered > 0, "No frame came in 16 starts.")
    }

    func checkStopByManyThreads() throws {
        let probe = ProbeConsumer(delay: .milliseconds(3))
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for _ in 0..<4 {
            try start(capture)
            try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true)
            note("stopCapture from four threads at once")
            let result = Locked<(finished: Int, faults: [String])>((0, []))
            for _ in 0..<4 {
                onOwnThread {
                    var fault: String?
                    do { try capture.stopCapture() } catch { fault = "One of several stops at once threw: \(error)" }
                    if fault == nil, probe.isRunning {
                        fault = "One of several stops at once returned while the consumer was being called."
                    }
                    result.withLock { result in
                        result.finished += 1
                        if let fault { result.faults.append(fault) }
                    }
                    result.wakeAll()
                }
            }
            let faults = result.wait { $0.finished == 4 ? $0.faults : nil }
            if let fault = faults?.first { throw Finding.broken(fault) }
            try requireSilence(probe, for: .milliseconds(5))
            try requireStopped(capture)
        }
    }

    func checkStopIsPrompt() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        try requireOnce(of: 10) {
            try start(capture)
            try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true)
            let begin = now
            try stop(capture)
            let time = now - begin
            return time <= suite.stopDeadline ? nil : "stopCapture took \(time)."
        }
    }

    func checkStopInsideConsumer() throws {
        let held = Locked<(any VideoCapture)?>(nil)
        let thrown = Locked<[String]>([])
        let probe = ProbeConsumer { _, number in
            guard number == 1, let capture = held.withLock({ $0 }) else { return }
            do { try capture.stopCapture() } catch { thrown.withLock { $0.append("\(error)") } }
        }
        let capture = try make()
        held.withLock { $0 = capture }
        defer { held.withLock { $0 = nil } }
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        try start(capture)
        // With one frame there is no second that could stop.
        guard try awaitFrames(2, at: probe, of: capture) else { return }
        let hasStopped = eventually("the stop from inside consumeFrame takes effect") {
            if case .stopped = capture.state { return true }
            return false
        }
        if let error = thrown.withLock({ $0.first }) {
            throw Finding.broken("stopCapture inside consumeFrame threw: \(error)")
        }
        try require(hasStopped, "After a stop inside consumeFrame the state is \(capture.state).")
        try require(probe.entered == 2, "\(probe.entered - 2) frames came after the call in which it was stopped.")
        // The next start is an ordinary one.
        try start(capture)
        try awaitFrames(1, after: 2, at: probe, of: capture)
    }

    /// Throws unless no call is running and none comes for a while.
    private func requireSilence(_ probe: ProbeConsumer, for duration: Duration) throws {
        try require(!probe.isRunning, "stopCapture returned while the consumer was being called.")
        let entered = probe.entered
        pause(duration)
        try require(probe.entered == entered, "A frame came after stopCapture had returned.")
    }
}
