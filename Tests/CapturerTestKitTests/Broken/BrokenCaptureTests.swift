import CapturerTestKit
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// The suite catches each flaw by the rule that is meant for it, and finds no fault where there is none.
@Suite(.serialized) struct BrokenCaptureTests {
    /// - Parameter isToFail: whether the rule is expected to fail: only then is a deadline waited for, and a short one right.
    private func suite(_ flaw: Flaw?, isToFail: Bool = false) -> ConformanceSuite {
        var suite = ConformanceSuite(
            name: flaw?.rawValue ?? "no flaw", deadline: isToFail ? .milliseconds(500) : .seconds(30),
            stopDeadline: .milliseconds(400), ruleDeadline: isToFail ? .seconds(30) : .seconds(300),
            makeFailingCapture: {
                BrokenCapture(
                    flaw,
                    inner: FaultInjectingCapturer(script: [
                        3: [.failure(CaptureError(.stalled, operation: "test", message: "x"))]
                    ]))
            },
            makeCapture: {
                switch flaw {
                case .restartAfterEndThrows: BrokenCapture(flaw, inner: SourceCapturer(FiniteSource()))
                case .limitedRGB: BrokenCapture(flaw, inner: FaultInjectingCapturer(format: rgb))
                default: BrokenCapture(flaw, inner: FaultInjectingCapturer())
                }
            })
        if flaw == .stopIsSlow { suite.deadline = .seconds(30) }
        suite.ownEndTimeout = flaw == .restartAfterEndThrows ? .seconds(30) : .milliseconds(500)
        return suite
    }

    @Test(arguments: Flaw.allCases)
    func isCaught(flaw: Flaw) async {
        let check = await suite(flaw, isToFail: true).checkDetached(flaw.rule)
        #expect(check.isFailure, "\(flaw): \(check)")
    }

    @Test func everyRuleHasAFlaw() {
        let caught = Set(Flaw.allCases.map(\.rule))
        #expect(ConformanceSuite.Rule.allCases.filter { !caught.contains($0) }.isEmpty)
    }

    @Test func theHarnessIsFaultless() async {
        let report = await suite(nil).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// The part of the flaws that this process is to put through all rules: all of them, or of `CONFORMANCE_MATRIX=1/4`
    /// each fourth one from the second on.
    private static var shareOfMatrix: [Flaw] {
        let all = Flaw.allCases.filter { $0.alsoBreaks.count < ConformanceSuite.Rule.allCases.count }
        let text = getenv("CONFORMANCE_MATRIX").map { String(cString: $0) } ?? ""
        let share = text.split(separator: "/").compactMap { Int($0) }
        guard share.count == 2 else { return all }
        return all.enumerated().filter { $0.offset % share[1] == share[0] }.map(\.element)
    }

    /// No other rule fails, but those that are named, which are not checked: they would wait for what never comes. Takes
    /// minutes, so only when asked for: `make matrix`.
    @Test(.enabled(if: getenv("CONFORMANCE_MATRIX") != nil, "set CONFORMANCE_MATRIX=1"), arguments: shareOfMatrix)
    func breaksNothingElse(flaw: Flaw) async {
        let suite = suite(flaw)
        var broken: [ConformanceSuite.Check] = []
        for rule in ConformanceSuite.Rule.allCases where rule != flaw.rule && !flaw.alsoBreaks.contains(rule) {
            let check = await suite.checkDetached(rule)
            if check.isFailure { broken.append(check) }
        }
        let list = broken.map { ".\($0.rule)" }.joined(separator: ", ")
        #expect(broken.isEmpty, "case .\(flaw): [\(list)]")
    }
}

private let rgb = VideoFormat(.bgra, width: 16, height: 8, estimatedFramesPerSecond: 200)
