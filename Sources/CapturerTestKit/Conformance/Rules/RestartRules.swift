import VideoCapturing

/// A capture can be restarted after it was stopped, or after it stopped by itself, as often as one likes.
extension ConformanceTrial {
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
        let hasEnded = eventually("the stream ends", within: min(suite.frameDeadline, .seconds(2))) {
            if case .stopped = capture.state { return true }
            return false
        }
        guard hasEnded else { throw Finding.notApplicable("It did not end by itself.") }
        for _ in 1...2 {
            try require(!capture.isCaptureStarted, "It is started although it has stopped by itself.")
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
        let probe = ProbeConsumer()
        capture.videoCaptureConsumer = probe
        try start(capture)
        try awaitFrames(12, at: probe, of: capture)
        try stop(capture)
        try require(!probe.haveCallsOverlapped, "After 50 restarts two calls of the consumer ran at once.")
        let threads = Set(probe.calls.map(\.thread))
        try require(threads.count == 1, "After 50 restarts frames come from \(threads.count) threads at once.")
        // What comes as fast as it is taken has no rate that could double.
        guard let stated = capture.captureSettings().format.estimatedFramesPerSecond?.framesPerSecond,
            let before = rate(of: baseline.calls.prefix(8)), let after = rate(of: probe.calls)
        else { return }
        // Frames that were late in the first run make its rate low, so the stated one counts as well.
        try require(
            after < max(before, stated) * 1.6,
            "After 50 restarts the rate is \(after) frames a second; it was \(before).")
    }

    /// Frames a second by the timestamps; nil for fewer than five frames.
    func rate(of calls: some BidirectionalCollection<ProbeConsumer.Call>) -> Double? {
        guard calls.count >= 5, let first = calls.first, let last = calls.last else { return nil }
        let seconds = (last.timestamp - first.timestamp).seconds
        return seconds > 0 ? Double(calls.count - 1) / seconds : nil
    }
}
