public import PacketCapturing
import VideoCapturing

/// Checks every sentence of the contract of `PacketCapture` against any capture.
///
/// ```swift
/// let suite = PacketConformanceSuite(name: "film", timestampsMayRunAhead: true) { PacketFileCapturer(path: "film.mp4") }
/// let report = await suite.runDetached()
/// #expect(report.failures.isEmpty, "\(report)")
/// ```
/// Each check makes new captures, and runs on a separate thread under a time limit, so that a capture
/// that hangs fails its check instead of hanging the test. The suite for pictures checks the sentences that both contracts
/// share.
public struct PacketConformanceSuite: Sendable {
    /// The name of the capture, for the report.
    public var name: String
    /// How long a packet, an end or a change of state may take to come. It ends the wait for what never comes, and
    /// measures nothing, so it is far longer than a busy machine may take.
    public var packetDeadline: Duration
    /// How long `stopCapture()` may take while the consumer is quick.
    public var stopDeadline: Duration
    /// How long one check may take before it counts as hung.
    public var ruleDeadline: Duration
    /// Whether timestamps may run ahead of the clock, as those of a file that is copied do.
    public var timestampsMayRunAhead: Bool

    /// How long a capture that may be finite is given to come to its end.
    package var ownEndTimeout = Duration.seconds(2)

    let makeCapture: @Sendable () throws -> any PacketCapture
    let makeFailingCapture: (@Sendable () throws -> any PacketCapture)?

    /// A suite for one kind of capture.
    ///
    /// - Parameters:
    ///   - name: the name of the capture, for the report.
    ///   - packetDeadline: how long a packet, an end or a change of state may take to come.
    ///   - stopDeadline: how long a stop may take while the consumer is quick.
    ///   - ruleDeadline: how long one check may take before it counts as hung.
    ///   - timestampsMayRunAhead: whether timestamps may run ahead of the clock.
    ///   - makeFailingCapture: makes a capture that fails without being told to at its first start, or soon after,
    ///     and works when it is started again; nil when there is no way to have one.
    ///   - makeCapture: makes a new capture in the state idle.
    public init(
        name: String, packetDeadline: Duration = .seconds(30), stopDeadline: Duration = .seconds(1),
        ruleDeadline: Duration = .seconds(300), timestampsMayRunAhead: Bool = false,
        makeFailingCapture: (@Sendable () throws -> any PacketCapture)? = nil,
        makeCapture: @escaping @Sendable () throws -> any PacketCapture
    ) {
        self.name = name
        self.packetDeadline = packetDeadline
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
        if let shared = rule.shared {
            let outcome = lifeSuite.check(shared).outcome
            // The adapter hides a capture that lives on.
            guard rule == .givesBackDevice, outcome == .passed else {
                return Check(rule: rule, outcome: outcome.inWordsOfPackets)
            }
        }
        let trial = PacketTrial(self)
        let outcome = Locked<ConformanceSuite.Check.Outcome?>(nil)
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

    /// The suite for pictures, which checks the sentences that both contracts share.
    private var lifeSuite: ConformanceSuite {
        var makeFailing: (@Sendable () throws -> any VideoCapture)?
        if let makeFailingCapture { makeFailing = { PacketsAsFrames(try makeFailingCapture()) } }
        let make: @Sendable () throws -> any VideoCapture = { [makeCapture] in PacketsAsFrames(try makeCapture()) }
        var suite = ConformanceSuite(
            name: name, frameDeadline: packetDeadline, stopDeadline: stopDeadline, ruleDeadline: ruleDeadline,
            timestampsMayRunAhead: timestampsMayRunAhead, makeFailingCapture: makeFailing, makeCapture: make)
        suite.ownEndTimeout = ownEndTimeout
        return suite
    }
}

extension ConformanceSuite.Check.Outcome {
    /// The finding, in the words of packets.
    fileprivate var inWordsOfPackets: Self {
        switch self {
        case .passed: .passed
        case .failed(let text): .failed(text.inWordsOfPackets)
        case .notApplicable(let text): .notApplicable(text.inWordsOfPackets)
        }
    }
}

extension String {
    /// The sentence about frames of a video capture as one about packets.
    var inWordsOfPackets: String {
        var result = self
        for (old, new) in [("consumeFrame", "consumePacket"), ("frame", "packet"), ("Frame", "Packet")] {
            result = result.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
        }
        return result
    }
}

extension PacketConformanceSuite {
    /// The result of one rule.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// The rule that was checked.
        public var rule: Rule
        /// How it went.
        public var outcome: ConformanceSuite.Check.Outcome

        /// Whether the rule is broken.
        public var isFailure: Bool {
            if case .failed = outcome { return true }
            return false
        }

        /// One line, or for a failure two: the rule and the finding, then the words of the contract.
        public var description: String {
            switch outcome {
            case .passed: "passed          \(rule.rawValue)"
            case .failed(let reason): "FAILED          \(rule.rawValue): \(reason)\n                “\(rule.sentence)”"
            case .notApplicable(let reason): "not applicable  \(rule.rawValue): \(reason)"
            }
        }
    }

    /// The results of all rules.
    public struct Report: Sendable, Hashable, CustomStringConvertible {
        /// The name of the capture.
        public var name: String
        /// One for each rule.
        public var checks: [Check]

        /// The rules that are broken.
        public var failures: [Check] { checks.filter(\.isFailure) }

        /// A line for each rule.
        public var description: String {
            (["\(name): \(failures.count) of \(checks.count) rules broken"] + checks.map(\.description))
                .joined(separator: "\n")
        }
    }
}
