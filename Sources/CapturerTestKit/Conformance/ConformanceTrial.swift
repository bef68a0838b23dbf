import VideoCapturing

/// One check under way: the captures it has made, and how far it has come.
final class ConformanceTrial: Sendable {
    let suite: ConformanceSuite
    private let made = Locked<[any VideoCapture]>([])
    private let step = Locked("making the capture")

    init(_ suite: ConformanceSuite) {
        self.suite = suite
    }

    /// The current step, for the report of a check that hangs.
    var currentStep: String { step.withLock { $0 } }

    func note(_ name: String) { step.withLock { $0 = name } }

    /// Runs the check, and releases what it has made whatever the outcome.
    func perform(_ rule: ConformanceSuite.Rule) -> ConformanceSuite.Check.Outcome {
        let outcome: ConformanceSuite.Check.Outcome
        do {
            try apply(rule)
            outcome = .passed
        } catch Finding.broken(let reason) {
            outcome = .failed(reason)
        } catch Finding.notApplicable(let reason) {
            outcome = .notApplicable(reason)
        } catch {
            outcome = .failed("While \(currentStep): \(error)")
        }
        note("giving back after the check")
        for capture in made.withLock({ $0 }) { capture.releaseCapture() }
        return outcome
    }

    // MARK: Captures

    /// A new capture, which is released after the check.
    func make() throws -> any VideoCapture {
        let capture = try makeUnheld()
        made.withLock { $0.append(capture) }
        return capture
    }

    /// A new capture, which the trial does not keep.
    func makeUnheld() throws -> any VideoCapture {
        note("making the capture")
        return try suite.makeCapture()
    }

    /// A new capture with a consumer, started.
    func makeStarted(_ consumer: any VideoCaptureConsumer) throws -> any VideoCapture {
        let capture = try make()
        capture.videoCaptureConsumer = consumer
        try initialize(capture)
        try start(capture)
        return capture
    }

    func initialize(_ capture: any VideoCapture) throws {
        note("initCapture")
        try capture.initCapture()
    }

    func start(_ capture: any VideoCapture) throws {
        note("startCapture")
        try capture.startCapture()
    }

    func stop(_ capture: any VideoCapture) throws {
        note("stopCapture")
        try capture.stopCapture()
    }

    func release(_ capture: any VideoCapture) {
        note("releaseCapture")
        capture.releaseCapture()
    }

    // MARK: Waiting

    /// Blocks until `count` more frames have come than `before`; false when the source came to its end first,
    /// having given at least one. Each frame may take the suite's deadline.
    @discardableResult
    func awaitFrames(
        _ count: Int, after before: Int = 0, at probe: ProbeConsumer, of capture: any VideoCapture
    ) throws -> Bool {
        note("waiting for \(count) frames")
        var seen = probe.count
        var limit = now.advanced(by: suite.frameDeadline)
        while true {
            // The state is read first: frames that come before the end are seen after it.
            let state = capture.state
            if probe.count >= before + count { return true }
            if case .stopped(let reason) = state {
                try require(reason == .endOfStream, "It stopped on its own account: \(reason).")
                try require(probe.count > before, "The stream ended without a frame.")
                return false
            }
            if probe.count > seen {
                seen = probe.count
                limit = now.advanced(by: suite.frameDeadline)
            }
            try require(
                now < limit, "No frame came for \(suite.frameDeadline), after \(seen - before) of \(count).")
            _ = probe.waitForFrames(before + count, until: now.advanced(by: .milliseconds(20)))
        }
    }

    /// Blocks until `condition` is true; false when the suite's deadline has passed.
    func eventually(_ what: String, within limit: Duration? = nil, _ condition: () -> Bool) -> Bool {
        note("waiting until \(what)")
        let limit = now.advanced(by: limit ?? suite.frameDeadline)
        while !condition() {
            if now >= limit { return false }
            pause(.milliseconds(1))
        }
        return true
    }

    /// For measurements in real time: a busy machine delays some of `attempts`, but not all, and a capture that is
    /// wrong is so each time.
    ///
    /// - Parameter attempt: measures once; returns the fault as a sentence, or nil.
    /// - Throws: the last sentence as a broken rule when each attempt had one; what `attempt` throws.
    func requireOnce(of attempts: Int, _ attempt: () throws -> String?) throws {
        var fault: String?
        for _ in 1...attempts {
            fault = try attempt()
            if fault == nil { return }
        }
        if let fault { throw Finding.broken("\(attempts) times in a row, the last time: \(fault)") }
    }

    /// The time between two frames as the settings state it; 33 ms where they don't.
    func frameInterval(of capture: any VideoCapture) -> Duration {
        capture.captureSettings().format.estimatedFramesPerSecond?.frameInterval ?? .milliseconds(33)
    }
}

/// The time on the machine's clock.
var now: MediaTime { MonotonicClock().now }

/// Lets real time pass.
func pause(_ duration: Duration) {
    ManualResetEvent().wait(until: now.advanced(by: duration))
}

/// What ends a check before its end.
enum Finding: Error {
    /// The rule is broken; the observation, as a sentence.
    case broken(String)
    /// The rule says nothing about this capture; why, as a sentence.
    case notApplicable(String)
}

/// Throws a broken rule unless `condition` holds.
func require(_ condition: Bool, _ seen: @autoclosure () -> String) throws {
    if !condition { throw Finding.broken(seen()) }
}
