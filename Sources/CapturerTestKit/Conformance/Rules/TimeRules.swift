import VideoCapturing

/// Timestamps are of the monotonic clock, strictly increase, and go on increasing over restarts.
extension ConformanceTrial<PictureMedium> {
    func checkMonotonicClock() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        try awaitFrames(6, at: probe, of: capture)
        let ahead = frameInterval(of: capture)
        for call in probe.calls {
            let age = call.arrival - call.timestamp
            try require(age < .seconds(10), "At \(call.arrival) came a frame with the timestamp \(call.timestamp).")
            guard !suite.timestampsMayRunAhead else { continue }
            try require(age + ahead > .zero, "A frame's timestamp was \(Duration.zero - age) ahead of the clock.")
        }
    }

    func checkTimestampsIncrease() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        try awaitFrames(12, at: probe, of: capture)
        try stop(capture)
        try requireIncrease(probe.calls)
    }

    func checkTimestampsOverRestarts() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for _ in 1...4 {
            let before = probe.count
            try start(capture)
            try awaitFrames(3, after: before, at: probe, of: capture)
            try stop(capture)
        }
        try requireIncrease(probe.calls)
    }

    func checkSequenceIncreases() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for _ in 1...3 {
            let before = probe.count
            try start(capture)
            try awaitFrames(4, after: before, at: probe, of: capture)
            try stop(capture)
        }
        for (earlier, later) in zip(probe.calls, probe.calls.dropFirst()) {
            try require(
                later.sequenceNumber > earlier.sequenceNumber,
                "After the frame number \(earlier.sequenceNumber) came number \(later.sequenceNumber).")
        }
    }

    /// Losses are provoked: by a slow consumer, by taking the consumer away, and by restarts. The counts are read
    /// with each frame.
    func checkGapsAreCounted() throws {
        let samples = Locked<[(sequenceNumber: UInt64, dropped: UInt64)]>([])
        let held = Locked<(any VideoCapture)?>(nil)
        let capture = try make()
        held.withLock { $0 = capture }
        defer { held.withLock { $0 = nil } }
        let interval = min(frameInterval(of: capture), .milliseconds(40))
        let probe = ProbeConsumer { frame, number in
            guard number < 200, let capture = held.withLock({ $0 }) else { return }
            let dropped = capture.statistics.framesDropped.total
            samples.withLock { $0.append((frame.sequenceNumber, dropped)) }
            if number == 2 { pause(interval * 3) }
        }
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for _ in 1...6 {
            let before = probe.count
            try start(capture)
            try awaitFrames(4, after: before, at: probe, of: capture)
            capture.videoCaptureConsumer = nil
            pause(interval * 2)
            capture.videoCaptureConsumer = probe
            try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true)
            try stop(capture)
        }
        let seen = samples.withLock { $0 }
        for (earlier, later) in zip(seen, seen.dropFirst()) {
            let gap = Int64(bitPattern: later.sequenceNumber &- earlier.sequenceNumber) - 1
            let counted = Int64(bitPattern: later.dropped &- earlier.dropped)
            try require(
                gap == counted,
                "Between the frames \(earlier.sequenceNumber) and \(later.sequenceNumber) \(counted) were counted as lost."
            )
        }
    }

    private func requireIncrease(_ calls: [ProbeConsumer.Call]) throws {
        for (earlier, later) in zip(calls, calls.dropFirst()) {
            try require(
                later.timestamp > earlier.timestamp,
                "After the timestamp \(earlier.timestamp) came \(later.timestamp).")
        }
    }
}
