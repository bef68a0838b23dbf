import VideoCapturing

/// What the capture does with its consumer.
extension ConformanceTrial {
    func checkConsumerIsWeak() throws {
        let capture = try make()
        weak var observed: ProbeConsumer?
        do {
            let probe = ProbeConsumer()
            observed = probe
            capture.videoCaptureConsumer = probe
            try initialize(capture)
            try start(capture)
            try awaitFrames(2, at: probe, of: capture)
        }
        // The capture may hold it for the length of a call.
        try require(
            eventually("the consumer is let go of") { observed == nil },
            "The consumer lives although only the capture can hold it.")
        try require(capture.videoCaptureConsumer == nil, "The consumer is gone, but the capture names one.")
    }

    func checkConsumerSwap() throws {
        let (first, second) = (ProbeConsumer(), ProbeConsumer())
        let capture = try makeStarted(first)
        guard try awaitFrames(2, at: first, of: capture) else {
            throw Finding.notApplicable("The stream has ended before the consumer could be changed.")
        }
        capture.videoCaptureConsumer = second
        let after = first.entered
        do {
            try awaitFrames(2, at: second, of: capture)
        } catch Finding.broken(let reason) {
            if case .stopped(.endOfStream) = capture.state {
                throw Finding.notApplicable("The stream has ended before the consumer could be changed.")
            }
            throw Finding.broken("The new consumer got nothing. \(reason)")
        }
        try stop(capture)
        // The frame that was on its way.
        try require(first.entered <= after + 1, "The old consumer got \(first.entered - after) more frames.")
    }

    func checkWithoutConsumer() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        guard try awaitFrames(1, at: probe, of: capture) else {
            throw Finding.notApplicable("The stream has ended before the consumer could be taken away.")
        }
        capture.videoCaptureConsumer = nil
        let before = capture.statistics.framesDropped.noConsumer
        let isCounted = eventually("frames are counted as dropped") {
            if case .stopped = capture.state { return true }
            return capture.statistics.framesDropped.noConsumer > before + 1
        }
        if case .stopped(.endOfStream) = capture.state, capture.statistics.framesDropped.noConsumer == before {
            throw Finding.notApplicable("The stream has ended before the consumer could be taken away.")
        }
        try require(isCounted, "Without a consumer no frame was counted as dropped.")
        try require(capture.videoCaptureConsumer == nil, "The consumer was taken away, but the capture names one.")
        // With one again, frames come again.
        capture.videoCaptureConsumer = probe
        try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true)
    }
}
