/// What came of checking one rule.
public struct ConformanceCheck: Sendable, Hashable {
    /// How it went.
    public enum Outcome: Sendable, Hashable {
        /// The capture keeps the rule.
        case passed
        /// It does not; the sentence says what was seen.
        case failed(String)
        /// The rule says nothing about this capture; the sentence says why.
        case notApplicable(String)
    }

    /// The rule that was checked.
    public var rule: ConformanceSuite.Rule
    /// How it went.
    public var outcome: Outcome

    public init(rule: ConformanceSuite.Rule, outcome: Outcome) {
        self.rule = rule
        self.outcome = outcome
    }

    /// The name of the rule.
    public var id: String { rule.rawValue }
    /// The words of the contract that it checks.
    public var sentence: String { rule.sentence }
    /// Whether the rule is broken.
    public var isFailure: Bool {
        if case .failed = outcome { return true }
        return false
    }
}

extension ConformanceCheck: CustomStringConvertible {
    /// One line, or for a failure two: the rule and what was seen, then the words of the contract.
    public var description: String {
        switch outcome {
        case .passed: "passed          \(id)"
        case .failed(let reason): "FAILED          \(id): \(reason)\n                “\(sentence)”"
        case .notApplicable(let reason): "not applicable  \(id): \(reason)"
        }
    }
}

/// What came of checking all rules.
public struct ConformanceReport: Sendable, Hashable {
    /// The name of what was checked.
    public var name: String
    /// One for each rule.
    public var checks: [ConformanceCheck]

    public init(name: String, checks: [ConformanceCheck]) {
        self.name = name
        self.checks = checks
    }

    /// The rules that are broken.
    public var failures: [ConformanceCheck] { checks.filter(\.isFailure) }
}

extension ConformanceReport: CustomStringConvertible {
    /// A line for each rule.
    public var description: String {
        (["\(name): \(failures.count) of \(checks.count) rules broken"] + checks.map(\.description))
            .joined(separator: "\n")
    }
}
