import AudioCapturing
import CapturerTestKit
import Testing
import VideoCapturing

/// The suite for sound catches each flaw by the rule that is meant for it, and finds no fault where there is none.
@Suite(.serialized) struct AudioConformanceTests {
    /// The flaws of video captures whose rules are those of sound captures too.
    private static let sharedFlaws = Flaw.allCases.filter { rule(of: $0) != nil }

    private static func rule(of flaw: Flaw) -> AudioConformanceSuite.Rule? {
        // Sound has checks of its own for these, since an adapter hides them.
        guard flaw.rule != .consumerIsWeak, flaw != .livesOn else { return nil }
        return AudioConformanceSuite.Rule(rawValue: flaw.rule.rawValue)
    }

    private func suite(_ flaw: Flaw?) -> AudioConformanceSuite {
        // Only where a rule is to fail is a deadline waited for.
        var suite = AudioConformanceSuite(
            name: flaw?.rawValue ?? "no flaw", deadline: flaw == nil ? .seconds(30) : .milliseconds(500),
            stopDeadline: .milliseconds(400), ruleDeadline: flaw == nil ? .seconds(300) : .seconds(30),
            makeFailingCapture: {
                try FramesAsSound(
                    BrokenCapture(
                        flaw,
                        inner: FaultInjectingCapturer(script: [
                            3: [.failure(CaptureError(.stalled, operation: "test", message: "x"))]
                        ])))
            },
            makeCapture: {
                let inner: any VideoCapture =
                    flaw == .restartAfterEndThrows ? SourceCapturer(FiniteSource()) : FaultInjectingCapturer()
                return try FramesAsSound(BrokenCapture(flaw, inner: inner))
            })
        if flaw == .stopIsSlow { suite.deadline = .seconds(30) }
        suite.ownEndTimeout = flaw == .restartAfterEndThrows ? .seconds(30) : .milliseconds(500)
        return suite
    }

    @Test(arguments: sharedFlaws)
    func isCaught(flaw: Flaw) async throws {
        let rule = try #require(AudioConformanceTests.rule(of: flaw))
        let check = await suite(flaw).checkDetached(rule)
        #expect(check.isFailure, "\(flaw): \(check)")
    }

    @Test(arguments: SoundFlaw.allCases)
    func isCaught(flaw: SoundFlaw) async {
        let suite = AudioConformanceSuite(
            name: flaw.rawValue, deadline: .milliseconds(500), ruleDeadline: .seconds(30)
        ) { SpoiledSound(flaw) }
        let check = await suite.checkDetached(flaw.rule)
        #expect(check.isFailure, "\(flaw): \(check)")
    }

    @Test func everyRuleHasAFlaw() {
        let caught = Set(
            AudioConformanceTests.sharedFlaws.compactMap { AudioConformanceTests.rule(of: $0) }
                + SoundFlaw.allCases.map(\.rule))
        #expect(AudioConformanceSuite.Rule.allCases.filter { !caught.contains($0) }.isEmpty)
    }

    @Test func theHarnessIsFaultless() async {
        let report = await suite(nil).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func theSourceOfSpoiledSoundIsFaultless() async {
        let suite = AudioConformanceSuite(name: "ramp") { AudioSourceCapturer(Ramp()) }
        let report = await suite.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// Messages speak of chunks, as their readers do.
    @Test func messagesAreInTheWordsOfSound() async throws {
        let check = await suite(.stopReturnsEarly).checkDetached(.stopEndsDelivery)
        guard case .failed(let text) = check.outcome else {
            Issue.record("\(check)")
            return
        }
        #expect(!text.contains("frame") && !text.contains("Frame"), "\(text)")
    }
}
