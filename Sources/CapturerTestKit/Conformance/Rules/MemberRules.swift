import VideoCapturing

/// What the other members of `VideoCapture` promise.
extension ConformanceTrial<PictureMedium> {
    func checkContentHintIsKept() throws {
        let capture = try make()
        for hint in VideoContentHint.allCases {
            capture.videoContentHint = hint
            let got = capture.videoContentHint
            try require(got == hint, "The content hint was set to \(hint), but is \(got).")
        }
        try initialize(capture)
        let got = capture.videoContentHint
        try require(got == VideoContentHint.allCases.last, "init changed the content hint to \(got).")
    }

    func checkIsStartedAgreesWithState() throws {
        let held = Locked<(any VideoCapture)?>(nil)
        let insideAfterStop = Locked<(isStarted: Bool, state: CaptureState)?>(nil)
        let probe = ProbeConsumer { _, number in
            guard number == 1, let capture = held.withLock({ $0 }) else { return }
            try? capture.stopCapture()
            let seen = (capture.isCaptureStarted, capture.state)
            insideAfterStop.withLock { $0 = seen }
        }
        let capture = try make()
        held.withLock { $0 = capture }
        defer { held.withLock { $0 = nil } }
        capture.videoCaptureConsumer = probe
        try require(!capture.isCaptureStarted, "A new capture says it is started.")
        try initialize(capture)
        try require(!capture.isCaptureStarted, "After init it says it is started.")
        try start(capture)
        // Read before and after, since it may end at any moment.
        let (before, isStarted, after) = (capture.state, capture.isCaptureStarted, capture.state)
        if before == .running, after == .running { try require(isStarted, "Running, it says it is not started.") }
        try awaitFrames(2, at: probe, of: capture)
        try stop(capture)
        try require(!capture.isCaptureStarted, "After stop it says it is started.")
        if let seen = insideAfterStop.withLock({ $0 }) {
            let mayBeStarted = [.starting, .running].contains(seen.state)
            try require(!seen.isStarted || mayBeStarted, "In the state \(seen.state) it says it is started.")
        }
        release(capture)
        try require(!capture.isCaptureStarted, "After release it says it is started.")
    }

    func checkSettingsAreStable() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        try require(
            capture.captureSettings() == capture.captureSettings(), "Before init it gives other settings each time.")
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        let settled = capture.captureSettings()
        note("validating the settings")
        try settled.format.validate()
        try start(capture)
        try awaitFrames(4, at: probe, of: capture)
        try requireSame(settled, capture, "while running")
        try stop(capture)
        try requireSame(settled, capture, "after stop")
    }

    private func requireSame(_ settled: CaptureSettings, _ capture: any VideoCapture, _ moment: String) throws {
        var (first, second) = (settled, capture.captureSettings())
        // Measured values may change.
        first.format.estimatedCaptureDelay = nil
        second.format.estimatedCaptureDelay = nil
        first.format.bytesPerRow = []
        second.format.bytesPerRow = []
        try require(first == second, "The settings after init were \(first), and \(moment) \(second).")
    }

    func checkWantsInAnyState() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        let wants = [
            CaptureWants(maximumPixelCount: 64), CaptureWants(maximumFrameRate: 5), CaptureWants(sizeAlignment: 16),
            CaptureWants(acceptsBlack: true),
            CaptureWants(acceptsNativeFormat: true), CaptureWants(),
        ]
        func adapt() {
            for want in wants { capture.adapt(to: want) }
            capture.requestRefreshFrame()
        }
        note("adapting before init")
        adapt()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        adapt()
        try start(capture)
        adapt()
        try awaitFrames(2, at: probe, of: capture)
        try stop(capture)
        adapt()
        let before = probe.count
        try start(capture)
        try awaitFrames(1, after: before, at: probe, of: capture)
        release(capture)
        note("adapting after release")
        adapt()
    }

    func checkStatisticsCount() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for number in 1...2 {
            let before = probe.count
            try start(capture)
            try awaitFrames(3, after: before, at: probe, of: capture)
            try stop(capture)
            let seen = capture.statistics
            try require(
                seen.framesDelivered == UInt64(probe.entered),
                "\(probe.entered) frames were delivered, but \(seen.framesDelivered) counted.")
            try require(seen.starts == UInt64(number), "\(number) starts were counted as \(seen.starts).")
        }
        release(capture)
        try initialize(capture)
        try require(capture.statistics.framesDelivered == 0, "A new init does not reset the statistics.")
    }

    func checkGivesBackDevice() throws {
        let rounds = 6
        let probe = ProbeConsumer()
        func liveAndDie() throws {
            weak var observed: (any VideoCapture)?
            do {
                let capture = try makeUnheld()
                observed = capture
                let before = probe.count
                capture.videoCaptureConsumer = probe
                try initialize(capture)
                try start(capture)
                try awaitFrames(1, after: before, at: probe, of: capture)
                release(capture)
            }
            try require(
                eventually("the capture is destroyed") { observed == nil },
                "The capture lives on after release, although there is no other reference to it.")
        }
        try liveAndDie()
        // Other parts of the program open files meanwhile, so one quiet attempt is enough.
        var growth = 0
        for _ in 1...3 {
            let before = ThreadInspection.openDescriptors
            for _ in 1...rounds { try liveAndDie() }
            growth = ThreadInspection.openDescriptors - before
            if growth < rounds { break }
        }
        try require(growth < rounds, "\(rounds) captures left \(growth) open descriptors behind.")
        let threads = Set(probe.calls.map(\.thread))
        let areGone = eventually("its threads have ended") { !threads.contains { ThreadInspection.isAlive($0) } }
        try require(areGone, "The thread of a capture lives on after release.")
    }
}

/// What the capture does with its consumer.
extension ConformanceTrial<PictureMedium> {
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
            eventually("the consumer is released") { observed == nil },
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
        // The frame that was in flight.
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
