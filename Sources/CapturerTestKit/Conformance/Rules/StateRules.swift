import VideoCapturing

/// Every change is seen by every ``stateChanges()`` stream, in order, none left out.
extension ConformanceTrial<PictureMedium> {
    func checkLegalStates() throws {
        let capture = try make()
        let collector = StateCollector(capture.stateChanges())
        try liveOneLife(capture)
        let limit = suite.deadline
        let isWhole = collector.wait(limit) { $0.last?.new == .idle && $0.last?.old != .idle }
        let changes = collector.changes
        if let fault = changes.fault(from: .idle) { throw Finding.broken("\(fault) All: \(describe(changes))") }
        try require(isWhole, "The stream did not tell all of two starts and a release, but: \(describe(changes))")
        for state in [CaptureState.initialized, .starting, .running] {
            let count = changes.count { $0.new == state }
            let expected = state == .initialized ? 1 : 2
            try require(count >= expected, "\(state) was reported \(count) times of \(expected): \(describe(changes))")
        }
    }

    func checkEveryStreamSeesAll() throws {
        let capture = try make()
        let early = StateCollector(capture.stateChanges())
        let second = StateCollector(capture.stateChanges())
        // This one is not read until all is over.
        let unread = capture.stateChanges()
        try liveOneLife(capture)
        let late = StateCollector(unread)
        let collectors = [early, second, late]
        for (number, collector) in collectors.enumerated() {
            let isWhole = collector.wait(suite.deadline) { $0.last?.new == .idle }
            try require(
                isWhole, "Stream \(number + 1) of 3 did not tell the whole life, but: \(describe(collector.changes))")
        }
        try require(
            early.changes == second.changes && early.changes == late.changes,
            "Three streams told different stories: \(collectors.map { describe($0.changes) })")
    }

    func checkStreamEnds() throws {
        let collector: StateCollector
        do {
            let capture = try makeUnheld()
            collector = StateCollector(capture.stateChanges())
            try initialize(capture)
            release(capture)
        }
        note("waiting for the stream to end")
        try require(
            collector.waitForEnd(suite.deadline), "The stream goes on although the capture is released.")
    }

    func checkFirstErrorWins() throws {
        guard let makeFailing = suite.makeFailingCapture else {
            throw Finding.notApplicable("The suite was given no capture that fails.")
        }
        let capture = try makeFailing()
        defer { capture.releaseCapture() }
        let probe = ProbeConsumer()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        note("starting what is to fail")
        var thrown: CaptureError?
        do { try capture.startCapture() } catch { thrown = error }
        func failure() -> CaptureError? {
            if case .stopped(let reason) = capture.state { return reason.error }
            return nil
        }
        try require(eventually("it fails") { failure() != nil }, "It did not fail; the state is \(capture.state).")
        guard let first = failure() else { throw Finding.broken("The error did not stay.") }
        if let thrown { try require(thrown == first, "It threw “\(thrown)”, but the state says “\(first)”.") }
        try require(!capture.isCaptureStarted, "It is started although it has failed.")
        note("stopCapture after the failure")
        try capture.stopCapture()
        try require(failure() == first, "A stop after the failure made the state \(capture.state).")
        let collector = StateCollector(capture.stateChanges())
        let before = probe.count
        try start(capture)
        try require(failure() != first, "After a restart the state is still \(capture.state).")
        try awaitFrames(1, after: before, at: probe, of: capture)
        try require(
            collector.wait(suite.deadline) { !$0.isEmpty }, "The restart was not told as a change of state.")
        if let fault = collector.changes.fault(from: collector.changes[0].old) { throw Finding.broken(fault) }
    }

    /// Two starts and a release.
    private func liveOneLife(_ capture: any VideoCapture) throws {
        let probe = ProbeConsumer()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for _ in 1...2 {
            let before = probe.count
            try start(capture)
            try awaitFrames(1, after: before, at: probe, of: capture)
            try stop(capture)
        }
        release(capture)
    }

    private func describe(_ changes: [CaptureState.Change]) -> String {
        changes.map { "\($0.old) → \($0.new)" }.joined(separator: ", ")
    }
}
