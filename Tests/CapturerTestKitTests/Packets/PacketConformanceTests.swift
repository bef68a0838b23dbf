import CapturerTestKit
import PacketCapturing
import TestTools
import Testing
import VideoCapturing

/// The suite for packets catches each flaw by the rule that is meant for it, and finds no fault in a capture without one.
@Suite(.serialized) struct PacketConformanceTests {
    /// One flaw of video captures for each part of the contract that both have; the suite for pictures is tested with all.
    private static let sharedFlaws: [Flaw] = [
        .secondStartThrows, .releaseGoesOn, .overlapsCalls, .deliversOnStarter, .stopReturnsEarly, .stopInsideThrows,
        .leavesOutStates, .losesUncounted, .countsNothing,
    ]

    @Test(arguments: sharedFlaws)
    func isCaught(flaw: Flaw) async throws {
        let rule = try #require(PacketConformanceSuite.Rule(rawValue: flaw.rule.rawValue))
        let suite = PacketConformanceSuite(
            name: flaw.rawValue, deadline: .milliseconds(500), ruleDeadline: .seconds(30)
        ) { FramesAsPackets(BrokenCapture(flaw, inner: FaultInjectingCapturer())) }
        let check = await suite.checkDetached(rule)
        #expect(check.isFailure, "\(flaw): \(check)")
    }

    @Test(arguments: PacketFlaw.allCases)
    func isCaught(flaw: PacketFlaw) async {
        let suite = PacketConformanceSuite(
            name: flaw.rawValue, deadline: .milliseconds(500), ruleDeadline: .seconds(30)
        ) { SpoiledPackets(flaw) }
        let check = await suite.checkDetached(flaw.rule)
        #expect(check.isFailure, "\(flaw): \(check)")
    }

    @Test func everyRuleOfPacketsHasAFlaw() {
        let caught = Set(PacketFlaw.allCases.map(\.rule))
        let others = PacketConformanceSuite.Rule.allCases.filter { !caught.contains($0) }
        #expect(others.allSatisfy { ConformanceSuite.Rule(rawValue: $0.rawValue) != nil }, "\(others)")
    }

    @Test func theSourceOfSpoiledPacketsIsFaultless() async {
        let suite = PacketConformanceSuite(
            name: "test packets", makeFailingCapture: { PacketSourceCapturer(TestPackets(failsAt: 3)) },
            makeCapture: { PacketSourceCapturer(TestPackets(lossEvery: 13)) })
        let report = await suite.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func aFiniteSourceIsFaultless() async {
        var suite = PacketConformanceSuite(name: "thirty packets", timestampsMayRunAhead: true) {
            PacketSourceCapturer(TestPackets(count: 30, pacing: .unpaced, hasSound: false))
        }
        suite.ownEndTimeout = .seconds(30)
        for rule in [.restartAfterOwnEnd, .decodeTimesIncrease, .lossesEndAtKeyFrames, .legalStates]
            as [PacketConformanceSuite.Rule]
        {
            let check = await suite.checkDetached(rule)
            #expect(check.outcome == .passed, "\(check)")
        }
    }
}
