import CaptureCore
import Testing

@testable import RTP

/// Feedback that no honest receiver sends: whatever it states, the estimate and the pace stay numbers.
@Suite struct HostileFeedbackTests {
    private let start = MediaTime(nanoseconds: 1_000_000_000)

    @Test func `A probe at no rate is sent all the same`() {
        var pacer = Pacer(bitrate: 1_000_000)
        pacer.begin(BandwidthProbe(number: 1, bitrate: 1e-9))
        for number in 0..<8 { pacer.push(Pacer.Entry(token: UInt16(number), bytes: 1200), .video) }
        var now = start
        var sent = 0
        while sent < 8, now < start.advanced(by: .seconds(5)) {
            if case .packet = pacer.next(at: now) { sent += 1 }
            now = max(now.advanced(by: .milliseconds(1)), pacer.nextTime(after: now) ?? now)
        }
        #expect(sent == 8)
    }

    /// A packet of 24 bytes may state 8191 packets, and a datagram has 54 of them: what is read of a second has a limit.
    @Test func `Reports without end are left unread`() {
        var estimator = BandwidthEstimator(.init(maximum: 2_500_000))
        let lost = FeedbackWriter.write((0..<8191).map { (UInt16($0), nil) })
        func report(_ count: Int, at time: MediaTime) {
            for _ in 0..<count { lost.withUnsafeBytes { _ = estimator.handleFeedback($0, at: time) } }
        }
        report(1000, at: start)
        #expect(estimator.statistics.feedbackCount == 2 && estimator.statistics.excessCount == 998)
        // What an honest receiver says in the next second counts.
        report(1, at: start.advanced(by: .seconds(1)))
        #expect(estimator.statistics.feedbackCount == 3)
    }

    /// Clocks that leap, arrivals in any order, losses and repetitions, of packets that were sent and of others; and a path
    /// that changes, after which feedback on the old one still comes.
    @Test(arguments: 0..<8) func `Nothing that a peer states leads astray`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let configuration = BandwidthEstimator.Configuration(maximum: 2_500_000)
        var estimator = BandwidthEstimator(configuration)
        var pacer = Pacer(bitrate: estimator.pacingRate(at: .zero))
        var now = start
        var sequence = UInt16.random(in: .min ... .max, using: &generator)
        var arrival = 0
        for round in 0..<3000 {
            now = now.advanced(by: .milliseconds(Int.random(in: 1...40, using: &generator)))
            for number in 0..<4 { pacer.push(Pacer.Entry(token: UInt16(number), bytes: 1200), .video) }
            while let output = pacer.next(at: now) {
                let probe: UInt8
                switch output {
                case .packet(_, _, let number): probe = number
                case .padding(_, let number): probe = number
                }
                estimator.didSend(sequence, bytes: 1200, at: now, probe: probe)
                sequence &+= 1
            }
            // Mostly a queue that grows; at times another clock.
            let isLeap = Int.random(in: 0..<20, using: &generator) == 0
            arrival += Int.random(in: isLeap ? -4_000_000...4_000_000 : 0...2000, using: &generator)
            let count = Int.random(in: 1...40, using: &generator)
            let first = sequence &- UInt16(Int.random(in: 0...60, using: &generator))
            let packets = (0..<count).map { index -> FeedbackWriter.Packet in
                let isLost = Int.random(in: 0..<5, using: &generator) == 0
                arrival += Int.random(in: -50...400, using: &generator)
                return (first &+ UInt16(index), isLost ? nil : arrival)
            }
            FeedbackWriter.write(packets).withUnsafeBytes { _ = estimator.handleFeedback($0, at: now) }
            switch round % 500 {
            case 100: estimator.handleREMB(.max, at: now)
            case 200: estimator.handleREMB(0, at: now)
            case 300: estimator.handleReport(fractionLost: 255, roundTripTime: .seconds(59), at: now)
            case 400: estimator = BandwidthEstimator(configuration)
            default: break
            }
            estimator.update(at: now)
            pacer.bitrate = estimator.pacingRate(at: now)
            if let probe = estimator.takeProbe() { pacer.begin(probe) }
            #expect(estimator.target >= configuration.minimum && estimator.target <= configuration.maximum)
            #expect(pacer.bitrate >= configuration.minimum)
        }
    }
}
