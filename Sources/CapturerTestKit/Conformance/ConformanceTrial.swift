import VideoCapturing

/// One check under way: the captures it has made, and how far it has come.
public final class ConformanceTrial<Medium: ConformanceMedium>: Sendable {
    let suite: CaptureConformanceSuite<Medium>
    private let made = Locked<[Medium.Capture]>([])
    private let step: Locked<String>

    init(_ suite: CaptureConformanceSuite<Medium>, step: Locked<String> = Locked("making the capture")) {
        self.suite = suite
        self.step = step
    }

    /// The current step, for the report of a check that hangs.
    var currentStep: String { step.withLock { $0 } }

    func note(_ name: String) { step.withLock { $0 = name } }

    /// Runs the check, and releases what it has made whatever the outcome.
    func perform(_ rule: Medium.Rule) -> ConformanceOutcome {
        let outcome: ConformanceOutcome
        do {
            try Medium.check(rule, in: self)
            outcome = .passed
        } catch Finding.broken(let reason) {
            outcome = .failed(reason)
        } catch Finding.notApplicable(let reason) {
            outcome = .notApplicable(reason)
        } catch {
            outcome = .failed("While \(currentStep): \(error)")
        }
        note("giving back after the check")
        for capture in made.withLock({ $0 }) { Medium.life(of: capture).releaseCapture() }
        return outcome
    }

    /// Checks a rule of pictures, in the shape of which the captures are put.
    ///
    /// - Parameters:
    ///   - asFrames: does that.
    ///   - words: those of a sentence about frames, and those of one about this medium.
    func checkShared(
        _ rule: ConformanceSuite.Rule, _ asFrames: @escaping @Sendable (Medium.Capture) -> any VideoCapture,
        _ words: [(String, String)]
    ) throws {
        switch ConformanceTrial<PictureMedium>(suite.lifeSuite(asFrames), step: step).perform(rule) {
        case .passed: break
        case .failed(let reason): throw Finding.broken(reason.replacing(words))
        case .notApplicable(let reason): throw Finding.notApplicable(reason.replacing(words))
        }
    }

    // MARK: Captures

    /// A new capture, which is released after the check.
    func make() throws -> Medium.Capture {
        let capture = try makeUnheld()
        made.withLock { $0.append(capture) }
        return capture
    }

    /// A new capture, which the trial does not keep.
    func makeUnheld() throws -> Medium.Capture {
        note("making the capture")
        return try suite.makeCapture()
    }

    func initialize(_ capture: Medium.Capture) throws {
        note("initCapture")
        try Medium.life(of: capture).initCapture()
    }

    func start(_ capture: Medium.Capture) throws {
        note("startCapture")
        try Medium.life(of: capture).startCapture()
    }

    func stop(_ capture: Medium.Capture) throws {
        note("stopCapture")
        try Medium.life(of: capture).stopCapture()
    }

    func release(_ capture: Medium.Capture) {
        note("releaseCapture")
        Medium.life(of: capture).releaseCapture()
    }

    // MARK: Waiting

    /// Blocks until `count` more have come than `before`; false when the source came to its end first, having given at
    /// least one. Each may take the suite's deadline.
    ///
    /// - Parameters:
    ///   - noun: what the capture delivers: frame, chunk, packet.
    ///   - seen: how many have come.
    ///   - sleep: waits for the next one, not for long.
    @discardableResult
    func waitFor(
        _ count: Int, _ noun: String, after before: Int, of capture: Medium.Capture, seen: () -> Int,
        sleep: () -> Void = { pause(.milliseconds(1)) }
    ) throws -> Bool {
        note("waiting for \(count) \(noun)s")
        let life = Medium.life(of: capture)
        var last = seen()
        var limit = now.advanced(by: suite.deadline)
        while true {
            // The state is read first: data that come before the end are seen after it.
            let state = life.state
            let number = seen()
            if number >= before + count { return true }
            if case .stopped(let reason) = state {
                try require(reason == .endOfStream, "It stopped on its own account: \(reason).")
                try require(number > before, "The stream ended without a \(noun).")
                return false
            }
            if number > last {
                last = number
                limit = now.advanced(by: suite.deadline)
            }
            try require(now < limit, "No \(noun) came for \(suite.deadline), after \(last - before) of \(count).")
            sleep()
        }
    }

    /// Blocks until `condition` is true; false when the suite's deadline has passed.
    func eventually(_ what: String, within limit: Duration? = nil, _ condition: () -> Bool) -> Bool {
        note("waiting until \(what)")
        let limit = now.advanced(by: limit ?? suite.deadline)
        while !condition() {
            if now >= limit { return false }
            pause(.milliseconds(1))
        }
        return true
    }

    /// - Parameter use: uses a capture once, which nothing else holds.
    func checkIsDestroyed(_ use: (Medium.Capture) throws -> Void) throws {
        weak var observed: (any CaptureLifeCycle)?
        do {
            let capture = try makeUnheld()
            observed = Medium.life(of: capture)
            try use(capture)
            release(capture)
        }
        try require(
            eventually("the capture is destroyed") { observed == nil },
            "The capture lives on after release, although there is no other reference to it.")
    }

    /// - Parameter use: uses a consumer that only the capture can hold, for the length of a call.
    func checkIsReleased(_ use: () throws -> AnyObject) throws {
        weak let observed = try use()
        try require(
            eventually("the consumer is released") { observed == nil },
            "The consumer lives although only the capture can hold it.")
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
}

extension ConformanceTrial<PictureMedium> {
    /// A new capture with a consumer, started.
    func makeStarted(_ consumer: any VideoCaptureConsumer) throws -> any VideoCapture {
        let capture = try make()
        capture.videoCaptureConsumer = consumer
        try initialize(capture)
        try start(capture)
        return capture
    }

    /// Waits for frames; see ``waitFor(_:_:after:of:seen:sleep:)``.
    @discardableResult
    func awaitFrames(
        _ count: Int, after before: Int = 0, at probe: ProbeConsumer, of capture: any VideoCapture
    ) throws -> Bool {
        try waitFor(
            count, "frame", after: before, of: capture, seen: { probe.count },
            sleep: { _ = probe.waitForFrames(before + count, until: now.advanced(by: .milliseconds(20))) })
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

/// Keeps what it is given, and does something with each.
final class MediaProbe<Item: Sendable>: Sendable {
    private let contents = Locked<(items: [Item], count: Int)>(([], 0))
    private let action: (@Sendable (Item, Int) -> Void)?

    /// - Parameter action: done within each call, with the number of the call from 0.
    init(action: (@Sendable (Item, Int) -> Void)? = nil) { self.action = action }

    var items: [Item] { contents.withLock { $0.items } }
    /// Calls that have done their work.
    var count: Int { contents.withLock { $0.count } }

    func consume(_ item: Item) {
        // More are only counted.
        let limit = 4000
        action?(item, count)
        let count = contents.withLock { contents in
            contents.count += 1
            if contents.items.count < limit { contents.items.append(item) }
            return contents.count
        }
        if count > limit { pause(.milliseconds(1)) }
    }
}

extension String {
    /// The text with each first word of a pair replaced by the second.
    func replacing(_ words: [(String, String)]) -> String {
        words.reduce(self) { text, word in
            text.split(separator: word.0, omittingEmptySubsequences: false).joined(separator: word.1)
        }
    }
}
