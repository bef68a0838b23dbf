import VideoCapturing

/// On which threads the capture may be called, and on which it calls.
extension ConformanceTrial<PictureMedium> {
    func checkAnyThread() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        try awaitFrames(1, at: probe, of: capture)
        note("calling every member from four threads at once")
        let limit = now.advanced(by: .milliseconds(300))
        let faults = Locked<[String]>([])
        let running = Locked(4)
        for number in 0..<4 {
            onOwnThread {
                var random = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
                while now < limit {
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    do {
                        try callMember(Int(random >> 60), of: capture, probe: probe)
                    } catch let error as CaptureError where error.code == .invalidState {
                        // Another thread has released it.
                    } catch {
                        faults.withLock { $0.append("\(error)") }
                    }
                }
                running.withLock { $0 -= 1 }
                running.wakeAll()
            }
        }
        _ = running.wait { $0 == 0 ? () : nil }
        if let fault = faults.withLock({ $0.first }) { throw Finding.broken("A call threw: \(fault)") }
        // Whatever came last, it must be in order now.
        try initialize(capture)
        try start(capture)
        try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true)
        try stop(capture)
        let entered = probe.entered
        pause(frameInterval(of: capture) + .milliseconds(5))
        try require(probe.entered == entered, "After calls from several threads a stop does not stop.")
        release(capture)
        try requireIdle(capture, "After calls from several threads and a release it")
    }

    func checkSerialDelivery() throws {
        // Longer than a frame's interval, so that a second thread would not wait its turn.
        let probe = ProbeConsumer(delay: .milliseconds(5))
        let capture = try makeStarted(probe)
        try awaitFrames(12, at: probe, of: capture)
        try stop(capture)
        try require(!probe.haveCallsOverlapped, "Two calls of the consumer ran at once.")
    }

    func checkOwnThread() throws {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        let starter = ThreadInspection.currentIdentifier
        try awaitFrames(5, at: probe, of: capture)
        let otherProbe = ProbeConsumer()
        do {
            let other = try makeStarted(otherProbe)
            try awaitFrames(1, at: otherProbe, of: other)
        } catch let error as CaptureError where error.code == .deviceBusy {
            // A device that serves one capture at a time, so there is nothing to compare with.
        }
        try awaitFrames(1, after: probe.count, at: probe, of: capture, orHasEnded: true)
        let threads = Set(probe.calls.map(\.thread))
        try require(!threads.contains(starter), "Frames are delivered on the thread that called startCapture.")
        try require(threads.count == 1, "The frames of one start came on \(threads.count) threads.")
        try require(
            !otherProbe.calls.contains { threads.contains($0.thread) }
                || threads.allSatisfy { !ThreadInspection.isAlive($0) },
            "Two captures deliver on the same thread.")
    }

    func checkNotMainThread() throws {
        let calls = try callsOfOneStart()
        try require(!calls.contains { $0.isMain }, "Frames come on the main thread.")
    }

    func checkNotCooperativePool() throws {
        let calls = try callsOfOneStart()
        try require(!calls.contains(where: \.isInTask), "Frames are delivered from inside a Swift task.")
        let pool = ThreadInspection.cooperativePool()
        try require(
            !calls.contains { pool.contains($0.thread) && !$0.isMain },
            "Frames come on a thread of the cooperative pool.")
    }

    private func callsOfOneStart() throws -> [ProbeConsumer.Call] {
        let probe = ProbeConsumer()
        let capture = try makeStarted(probe)
        try awaitFrames(5, at: probe, of: capture)
        return probe.calls
    }
}

/// One of the members by number.
private func callMember(_ number: Int, of capture: any VideoCapture, probe: ProbeConsumer) throws {
    switch number {
    case 0: try capture.initCapture()
    case 1, 2, 3: try capture.startCapture()
    case 4, 5: try capture.stopCapture()
    case 6: capture.releaseCapture()
    case 7: _ = capture.state
    case 8: _ = capture.statistics
    case 9: _ = capture.captureSettings()
    case 10: capture.adapt(to: CaptureWants())
    case 11: _ = capture.isCaptureStarted
    case 12: _ = capture.stateChanges()
    case 13: capture.videoCaptureConsumer = probe
    case 14: _ = capture.videoCaptureConsumer
    default: capture.videoContentHint = capture.videoContentHint
    }
}
