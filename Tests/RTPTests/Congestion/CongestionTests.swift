import CaptureCore
import RTP
import Testing

/// The estimator on links in virtual time. Each run is the same for its seed; the limits hold for all of them.
@Suite struct CongestionTests {
    static let intervals = [0.05, 0.1, 0.2]

    /// Runs the simulation for each interval of feedback and each seed.
    private static func forEachRun(
        until end: Double, _ settings: CongestionSimulation.Settings, seeds: ClosedRange<UInt64> = 1...2,
        _ check: (CongestionSimulation, String) -> Void
    ) {
        for interval in intervals {
            for seed in seeds {
                var settings = settings
                settings.feedbackInterval = interval
                settings.seed = seed
                var simulation = CongestionSimulation(settings)
                simulation.run(until: end)
                check(simulation, "feedback each \(interval) s, seed \(seed)")
            }
        }
    }

    @Test(arguments: [500_000.0, 1_000_000, 1_500_000, 2_500_000, 5_000_000])
    func theLinkIsUsed(rate: Double) {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, rate)]))
        settings.maximum = 8_000_000
        CongestionTests.forEachRun(until: 40, settings) { simulation, run in
            #expect(simulation.received(10...40) >= 0.85 * rate, "\(run)")
            #expect(simulation.largestQueueDelay(10...40) <= 0.25, "\(run)")
        }
    }

    /// What the user wants is there within two seconds by probes, and within four where nothing can be sent to probe with.
    @Test(arguments: [true, false])
    func aWideLinkIsFoundSoon(canPad: Bool) {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 20_000_000)]))
        settings.maximum = 2_900_000
        settings.canPad = canPad
        CongestionTests.forEachRun(until: 10, settings) { simulation, run in
            #expect(simulation.samples[0].target <= 1_100_000, "\(run)")
            #expect(simulation.target((canPad ? 2 : 4)...10) == 2_900_000, "\(run)")
            // Frames leave at once where the link is not what bounds the rate.
            let time = MediaTime(nanoseconds: 11_000_000_000)
            #expect(simulation.estimator.pacingRate(at: time) == 20 * 2_900_000, "\(run)")
        }
    }

    @Test(arguments: [true, false])
    func aNarrowLinkIsNotFloodedAtTheStart(canPad: Bool) {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 1_500_000)]))
        settings.maximum = 2_900_000
        settings.canPad = canPad
        settings.keyFrameInterval = .infinity
        CongestionTests.forEachRun(until: 10, settings) { simulation, run in
            #expect(simulation.largestQueueDelay(0...10) <= 0.15, "\(run)")
            #expect(simulation.estimator.statistics.loss == 0, "\(run)")
            #expect(simulation.received(2...10) >= 0.75 * 1_500_000, "\(run)")
            let time = MediaTime(nanoseconds: 11_000_000_000)
            #expect(simulation.estimator.pacingRate(at: time) <= simulation.estimator.target * 5 / 2, "\(run)")
        }
    }

    /// Where nothing but a report each second tells of the link. Without a look at the round trip its queue of 400 ms is full, and
    /// packets are lost, within three seconds.
    @Test func aNarrowLinkIsNotFloodedWithReportsAlone() {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 1_500_000)]))
        settings.maximum = 2_900_000
        settings.usesTransportFeedback = false
        CongestionTests.forEachRun(until: 8, settings) { simulation, run in
            #expect(simulation.largestQueueDelay(0...8) <= 0.35, "\(run)")
            #expect(simulation.estimator.statistics.loss == 0, "\(run)")
            #expect(simulation.received(2...8) >= 0.6 * 1_500_000, "\(run)")
        }
        settings.link = SimulatedLink(rates: [(0, 20_000_000)])
        CongestionTests.forEachRun(until: 11, settings) { simulation, run in
            #expect(simulation.target(10...11) == 2_900_000, "\(run)")
        }
    }

    /// Five frames' worth at once, each ten seconds: they cost a little, and are no reason to give up the rate.
    @Test func keyFramesAreNoOveruse() {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 1_500_000)]))
        settings.keyFrameInterval = 10
        CongestionTests.forEachRun(until: 60, settings) { simulation, run in
            #expect(simulation.received(10...60) >= 0.82 * 1_500_000, "\(run)")
        }
    }

    @Test(arguments: [1_500_000.0, 2_000_000, 5_000_000])
    func aDropToHalfLeavesAShortQueue(rate: Double) {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, rate), (22, rate / 2)]))
        settings.maximum = 8_000_000
        CongestionTests.forEachRun(until: 40, settings) { simulation, run in
            #expect(simulation.largestQueueDelay(22...40) <= 0.25, "\(run)")
            #expect(simulation.received(27...40) >= 0.8 * rate / 2, "\(run)")
        }
    }

    @Test(arguments: [true, false])
    func theRateRises(canPad: Bool) {
        var settings = CongestionSimulation.Settings(
            link: SimulatedLink(rates: [(0, 700_000), (20, 3_000_000)]))
        settings.maximum = 3_000_000
        settings.canPad = canPad
        CongestionTests.forEachRun(until: 60, settings) { simulation, run in
            #expect(simulation.received(10...20) <= 710_000, "\(run)")
            // With probes a few seconds; without them by 8 % a second, which are 19 s.
            #expect(simulation.received(canPad ? 35...60 : 45...60) >= 0.75 * 3_000_000, "\(run)")
        }
    }

    @Test(arguments: [0.03, 0.1])
    func randomLossIsNoCollapse(loss: Double) {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 4_000_000)]))
        settings.link.loss = loss
        CongestionTests.forEachRun(until: 60, settings) { simulation, run in
            // Of 2.5 Mbit/s, which is what the user wants.
            #expect(simulation.received(20...60) >= 0.8 * 2_500_000, "\(run)")
            #expect(abs(simulation.estimator.statistics.loss - loss) < 0.05, "\(run)")
        }
    }

    /// A link that loses what exceeds its rate, without a queue to speak of: there losses do depend on the rate.
    @Test func aLinkWithoutAQueueIsNotFlooded() {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 1_000_000)]))
        settings.link.queueLimit = 0.02
        settings.maximum = 4_000_000
        CongestionTests.forEachRun(until: 60, settings) { simulation, run in
            #expect(simulation.estimator.statistics.loss < 0.25, "\(run)")
            #expect(simulation.received(20...60) >= 0.5 * 1_000_000, "\(run)")
        }
    }

    @Test func reorderingIsNoOveruse() {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 1_500_000)]))
        settings.link.reordering = 0.05
        CongestionTests.forEachRun(until: 40, settings) { simulation, run in
            #expect(simulation.received(10...40) >= 0.8 * 1_500_000, "\(run)")
            #expect(simulation.estimator.statistics.loss < 0.02, "\(run)")
        }
    }

    /// A download by TCP fills any queue, of which half is the fair share. Neither side may starve the other: here ours is
    /// 50 to 85 % of the link with a queue of 60 ms, 16 to 34 % with 200 ms, 18 to 28 % with 600 ms. What bounds it from
    /// below is that each growth of the queue is an overuse until the threshold has adapted; from above, in short queues,
    /// that Reno halves its window for a loss where we act upon a tenth of the packets.
    @Test(arguments: [0.06, 0.2, 0.6])
    func aDownloadGetsItsShareAndLeavesOurs(queue: Double) {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 4_000_000)]))
        settings.link.queueLimit = queue
        settings.maximum = 5_000_000
        settings.competitorStart = 5
        CongestionTests.forEachRun(until: 60, settings, seeds: 1...1) { simulation, run in
            let ours = simulation.received(20...60)
            let theirs = simulation.competitor(20...60)
            #expect(ours >= 0.3 * 2_000_000, "\(run)")
            #expect(theirs >= 0.25 * 2_000_000, "\(run)")
            #expect(ours + theirs >= 0.9 * 4_000_000, "\(run)")
        }
    }

    @Test func withoutTransportFeedbackReportsAndREMBCount() {
        var settings = CongestionSimulation.Settings(link: SimulatedLink(rates: [(0, 1_500_000)]))
        settings.usesTransportFeedback = false
        CongestionTests.forEachRun(until: 60, settings) { simulation, run in
            // Losses say nothing of the queue, which is full then, as with TCP.
            #expect(simulation.received(20...60) >= 0.85 * 1_500_000, "\(run)")
        }
        var configuration = BandwidthEstimator.Configuration(maximum: 3_000_000)
        configuration.usesTransportFeedback = false
        var estimator = BandwidthEstimator(configuration)
        for second in 0..<60 {
            let time = MediaTime(nanoseconds: Int64(second) * 1_000_000_000)
            estimator.handleREMB(second < 30 ? 4_000_000 : 600_000, at: time)
            estimator.handleReport(fractionLost: 0, roundTripTime: .milliseconds(80), at: time)
            if second == 29 { #expect(estimator.target == 3_000_000) }
        }
        #expect(estimator.target == 600_000)
        #expect(estimator.statistics.roundTripTime == .milliseconds(80))
    }

    @Test func aPeerThatAnswersNothingGetsHalfEachSecond() {
        var configuration = BandwidthEstimator.Configuration(maximum: 2_000_000)
        configuration.start = 2_000_000
        var estimator = BandwidthEstimator(configuration)
        var targets: [Int] = []
        for tenth in 0..<100 {
            let time = MediaTime(nanoseconds: Int64(tenth) * 100_000_000)
            estimator.didSend(UInt16(tenth), bytes: 1000, at: time)
            estimator.update(at: time)
            if tenth % 10 == 5 { targets.append(estimator.target) }
        }
        #expect(
            targets == [2_000_000, 2_000_000] + [1_000_000, 500_000, 250_000, 125_000, 62_500, 50_000, 50_000, 50_000])
        // A pause, in which nothing is sent, is no reason.
        var idle = BandwidthEstimator(configuration)
        idle.update(at: MediaTime(nanoseconds: 100_000_000_000))
        #expect(idle.target == 2_000_000)
    }
}
