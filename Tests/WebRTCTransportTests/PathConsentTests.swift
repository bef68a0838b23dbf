import CaptureCore
import TestTools
import Testing

@testable import WebRTCTransport

/// Which of libnice's failures end a path.
@Suite struct PathConsentTests {
    private func seconds(_ time: Double) -> MediaTime { MediaTime(nanoseconds: Int64(time * 1e9)) }

    /// The times at which the path was kept, and when it was not.
    private func end(_ consent: inout PathConsent, _ failures: [Double]) -> (kept: [Double], end: Double?) {
        var kept: [Double] = []
        for time in failures {
            guard consent.isGiven(at: seconds(time)) else { return (kept, time) }
            consent.didKeep(at: seconds(time))
            kept.append(time)
        }
        return (kept, nil)
    }

    /// libnice's first failure comes 10 s after the last answer, and each later one 10 to 15 s after the one before.
    @Test func withoutReportsTheLimitIsThatOfTheStandard() {
        var consent = PathConsent()
        #expect(end(&consent, [100, 115, 130]) == ([100, 115], 130))
        consent = PathConsent()
        #expect(end(&consent, [100, 110.1, 120.2]) == ([100, 110.1], 120.2))
        // An answer in between: the count begins again.
        consent = PathConsent()
        #expect(end(&consent, [100, 115, 140, 155, 200]) == ([100, 115, 140, 155, 200], nil))
    }

    @Test func whereReportsComeTheirAbsenceEndsThePath() {
        var consent = PathConsent()
        consent.didReceiveReport(at: seconds(97))
        #expect(end(&consent, [100]) == ([100], nil))
        #expect(end(&consent, [115]) == ([], 115))
        consent.didReceiveReport(at: seconds(114))
        #expect(end(&consent, [115]) == ([115], nil))
    }

    /// The answer 403 of a peer is no lost check.
    @Test func aPeerThatRefusesEndsThePath() {
        var consent = PathConsent()
        #expect(end(&consent, [100, 103]) == ([100], 103))
        consent.didReceiveReport(at: seconds(103))
        #expect(end(&consent, [104]) == ([], 104))
    }

    /// The peer sends no report, and libnice gives the path up once, as after two checks that a lossy link has lost.
    @Test func aPeerWithoutReportsIsKeptAfterLostChecks() throws {
        let pair = try PeerPair()
        try pair.exchange()
        #expect(pair.areReady)
        let peer = pair.offering.peer
        peer.thread.perform { peer.pathFailed() }
        #expect(eventually { peer.statistics.pathsKept == 1 })
        pair.offering.send((0..<5).map { PeerPair.packet($0) })
        #expect(eventually { pair.answering.received.withLock { $0.media.count } == 5 })
        #expect(peer.state == .ready)
        // The next failure comes too soon to be one of checks.
        peer.thread.perform { peer.pathFailed() }
        #expect(pair.offering.reasonOfEnd?.code == .deviceLost)
    }
}
