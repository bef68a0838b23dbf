import CapturerTestKit
import Testing
import VideoCapturing

@Suite struct ConformanceTests {
    static let suites: [ConformanceSuite] = [
        ConformanceSuite(
            name: "sample",
            makeFailingCapture: {
                FaultInjectingCapturer(script: [3: [.failure(CaptureError(.stalled, operation: "test", message: "x"))]])
            }, makeCapture: { SourceCapturer(Gradient()) }),
        ConformanceSuite(
            name: "faultless script, failing start",
            makeFailingCapture: {
                FaultInjectingCapturer(startFailures: [CaptureError(.deviceBusy, operation: "test", message: "x")])
            }, makeCapture: { FaultInjectingCapturer() }),
        ConformanceSuite(name: "finite") { SourceCapturer(FiniteSource()) },
        ConformanceSuite(name: "one frame") {
            SourceCapturer(FiniteSource(frameCount: 1))
        },
        ConformanceSuite(name: "source timestamps") {
            SourceCapturer(FiniteSource(frameCount: 100, pacing: .sourceTimestamps))
        },
        ConformanceSuite(name: "without waiting", timestampsMayRunAhead: true) {
            SourceCapturer(FiniteSource(frameCount: 1000, pacing: .sourceTimestampsWithoutWaiting))
        },
        ConformanceSuite(name: "polling device") { SourceCapturer(PollingSource()) },
        ConformanceSuite(name: "unpaced") { SourceCapturer(UnpacedSource()) },
    ]

    @Test(arguments: suites.indices)
    func runtimeConforms(index: Int) async {
        let report = await ConformanceTests.suites[index].runDetached()
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.checks.count == ConformanceSuite.Rule.allCases.count)
    }

    @Test func tellsWhatIsNotApplicable() async {
        let endless = await ConformanceTests.suites[0].checkDetached(.restartAfterOwnEnd)
        #expect(endless.outcome == .notApplicable("It did not end on its own account."))
        let finite = await ConformanceTests.suites[2].checkDetached(.restartAfterOwnEnd)
        #expect(finite.outcome == .passed)
    }
}
