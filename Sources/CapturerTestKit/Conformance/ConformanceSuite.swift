import VideoCapturing

/// Checks every sentence of the contract of a kind of capture against any capture: `VideoCapture` by ``ConformanceSuite``,
/// `AudioCapture` by ``AudioConformanceSuite``, `PacketCapture` by ``PacketConformanceSuite``.
///
/// ```swift
/// let suite = ConformanceSuite(name: "noise") { NoiseCapturer() }
/// let report = await suite.runDetached()
/// #expect(report.failures.isEmpty, "\(report)")
/// ```
/// Each check makes new captures and runs on a separate thread with a time limit. So a capture that hangs fails its
/// check instead of hanging the test.
public struct CaptureConformanceSuite<Medium: ConformanceMedium>: Sendable {
    /// The rules that are checked.
    public typealias Rule = Medium.Rule

    /// The name of the checked capture, for the report.
    public var name: String
    /// How long a frame, a chunk or a packet, an end or a change of state may take to come. It ends the wait for what never
    /// comes, and measures nothing, so it is far longer than a busy machine may take.
    public var deadline: Duration
    /// How long `stopCapture()` may take while the consumer is quick.
    public var stopDeadline: Duration
    /// How long one check may take before it counts as hung.
    public var ruleDeadline: Duration
    /// Whether timestamps may run ahead of the clock, as those of a file that is read as fast as possible do.
    public var timestampsMayRunAhead: Bool

    /// How long a capture that may be finite is given to come to its end.
    package var ownEndTimeout = Duration.seconds(2)

    let makeCapture: @Sendable () throws -> Medium.Capture
    let makeFailingCapture: (@Sendable () throws -> Medium.Capture)?

    /// A suite for one kind of capture.
    ///
    /// - Parameters:
    ///   - name: the name of the checked capture, for the report.
    ///   - deadline: how long a frame, a chunk or a packet, an end or a change of state may take to come.
    ///   - stopDeadline: how long a stop may take while the consumer is quick.
    ///   - ruleDeadline: how long one check may take before it counts as hung.
    ///   - timestampsMayRunAhead: whether timestamps may run ahead of the clock.
    ///   - makeFailingCapture: makes a capture that fails without being told to at its first start, or soon after,
    ///     and works when it is started again; nil when there is no way to have one.
    ///   - makeCapture: makes a new capture in the state idle.
    public init(
        name: String, deadline: Duration = .seconds(30), stopDeadline: Duration = .seconds(1),
        ruleDeadline: Duration = .seconds(300), timestampsMayRunAhead: Bool = false,
        makeFailingCapture: (@Sendable () throws -> Medium.Capture)? = nil,
        makeCapture: @escaping @Sendable () throws -> Medium.Capture
    ) {
        self.name = name
        self.deadline = deadline
        self.stopDeadline = stopDeadline
        self.ruleDeadline = ruleDeadline
        self.timestampsMayRunAhead = timestampsMayRunAhead
        self.makeCapture = makeCapture
        self.makeFailingCapture = makeFailingCapture
    }

    /// Checks all rules, one after the other. Blocks; not to be called on the cooperative pool.
    public func run() -> Report { Report(name: name, checks: Rule.allCases.map { check($0) }) }

    /// As ``run()``, for asynchronous code: blocks a separate thread instead of the caller's.
    public func runDetached() async -> Report {
        await withCheckedContinuation { continuation in
            onOwnThread { continuation.resume(returning: run()) }
        }
    }

    /// Checks one rule. Blocks; not to be called on the cooperative pool.
    public func check(_ rule: Rule) -> Check {
        let trial = ConformanceTrial(self)
        let outcome = Locked<ConformanceOutcome?>(nil)
        onOwnThread {
            let result = trial.perform(rule)
            outcome.withLock { $0 = result }
            outcome.wakeAll()
        }
        let limit = MonotonicClock().now.advanced(by: ruleDeadline)
        let result = outcome.wait(until: limit) { $0 }
        return Check(rule: rule, outcome: result ?? .failed("It hung for \(ruleDeadline), at: \(trial.currentStep)."))
    }

    /// As ``check(_:)``, for asynchronous code.
    public func checkDetached(_ rule: Rule) async -> Check {
        await withCheckedContinuation { continuation in
            onOwnThread { continuation.resume(returning: check(rule)) }
        }
    }

    /// The suite for pictures that checks the sentences that both contracts share.
    ///
    /// - Parameter asFrames: puts a capture into the shape of one of pictures.
    func lifeSuite(_ asFrames: @escaping @Sendable (Medium.Capture) -> any VideoCapture) -> ConformanceSuite {
        var makeFailing: (@Sendable () throws -> any VideoCapture)?
        if let makeFailingCapture { makeFailing = { asFrames(try makeFailingCapture()) } }
        var suite = ConformanceSuite(
            name: name, deadline: deadline, stopDeadline: stopDeadline, ruleDeadline: ruleDeadline,
            timestampsMayRunAhead: timestampsMayRunAhead, makeFailingCapture: makeFailing
        ) { [makeCapture] in asFrames(try makeCapture()) }
        suite.ownEndTimeout = ownEndTimeout
        return suite
    }
}

/// Runs `body` on a new thread.
func onOwnThread(_ body: @escaping @Sendable () -> Void) {
    do {
        try CaptureThread(name: "conformance", body)
    } catch {
        fatalError("no thread for the conformance suite: \(error)")
    }
}

/// A kind of capture, with the rules of its contract: pictures, sound or packets. The kit has all that there are.
public protocol ConformanceMedium: Sendable {
    /// The rules, in the order of the contract.
    associatedtype Rule: ConformanceRule
    /// The captures, such as `any VideoCapture`.
    associatedtype Capture: Sendable

    /// Checks a rule. Blocks.
    ///
    /// - Throws: the observation, where the rule is broken or does not apply.
    static func check(_ rule: Rule, in trial: ConformanceTrial<Self>) throws
    /// The capture as a life cycle.
    static func life(of capture: Capture) -> any CaptureLifeCycle
}

/// A rule of a contract.
public protocol ConformanceRule: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// The words of the contract that the rule checks.
    var sentence: String { get }
}

/// How a check went.
public enum ConformanceOutcome: Sendable, Hashable {
    /// The capture keeps the rule.
    case passed
    /// It does not; the sentence states the observation.
    case failed(String)
    /// The rule says nothing about this capture; the sentence says why.
    case notApplicable(String)
}

extension CaptureConformanceSuite {
    /// The result of one check.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// How it went.
        public typealias Outcome = ConformanceOutcome

        /// The rule that was checked.
        public var rule: Rule
        /// How it went.
        public var outcome: Outcome

        /// A result.
        public init(rule: Rule, outcome: Outcome) {
            self.rule = rule
            self.outcome = outcome
        }

        /// The name of the rule.
        public var id: String { rule.rawValue }
        /// The words of the contract that it checks.
        public var sentence: String { rule.sentence }
        /// Whether the rule is broken.
        public var isFailure: Bool {
            if case .failed = outcome { true } else { false }
        }

        /// One line, or for a failure two: the rule and the observation, then the words of the contract.
        public var description: String {
            switch outcome {
            case .passed: "passed          \(id)"
            case .failed(let reason): "FAILED          \(id): \(reason)\n                “\(sentence)”"
            case .notApplicable(let reason): "not applicable  \(id): \(reason)"
            }
        }
    }

    /// The results of all checks.
    public struct Report: Sendable, Hashable, CustomStringConvertible {
        /// The name of the checked capture.
        public var name: String
        /// One for each rule.
        public var checks: [Check]

        /// A report.
        public init(name: String, checks: [Check]) {
            self.name = name
            self.checks = checks
        }

        /// The rules that are broken.
        public var failures: [Check] { checks.filter(\.isFailure) }

        /// A line for each rule.
        public var description: String {
            (["\(name): \(failures.count) of \(checks.count) rules broken"] + checks.map(\.description))
                .joined(separator: "\n")
        }
    }
}
