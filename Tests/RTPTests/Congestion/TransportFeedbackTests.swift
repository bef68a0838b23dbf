import CaptureCore
import RTP
import Testing

@Suite struct TransportFeedbackTests {
    /// The layout of the draft by hand: a run of two, a vector of one bit, one of two bits; base 5, 64 ms · 3.
    static let handMade: [UInt8] =
        [0x8F, 205, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2]
        + [0, 5, 0, 23, 0, 0, 3, 7]
        // Two of one byte; 10100000000000; 10 00 01 00 00 00 00.
        + [0x20, 0x02, 0xA8, 0x00, 0xE1, 0x00]
        + [4, 8, 1, 2, 0xFF, 0xF8, 16]
        + [0, 0, 3]

    private static func reports(_ bytes: [UInt8]) -> [TransportFeedback.Report]? {
        bytes.withUnsafeBytes { bytes in
            guard let feedback = TransportFeedback(bytes) else { return nil }
            var reports: [TransportFeedback.Report] = []
            feedback.forEachReport { reports.append($0) }
            return reports
        }
    }

    @Test func everyKindOfChunkIsRead() throws {
        var bytes = TransportFeedbackTests.handMade
        bytes[0] |= 0x20
        bytes[3] = UInt8(bytes.count / 4 - 1)
        let reports = try #require(TransportFeedbackTests.reports(bytes))
        let arrived = reports.compactMap { report in report.arrival.map { [Int32(report.sequence), $0] } }
        #expect(reports.count == 23)
        #expect(arrived == [[5, 4], [6, 12], [7, 13], [9, 15], [21, 7], [23, 23]])
        bytes.withUnsafeBytes { bytes in
            let feedback = TransportFeedback(bytes)
            #expect(feedback?.base == 5 && feedback?.referenceTime == 3 && feedback?.feedbackCount == 7)
        }
    }

    @Test func whatIsWrittenIsRead() throws {
        var random = SeededGenerator(seed: 7)
        for round in 0..<300 {
            let count = Int.random(in: 1...400, using: &random)
            let loss = random.unit() * random.unit()
            var time = Int.random(in: -1_000_000...1_000_000, using: &random)
            let base = UInt16.random(in: 0...UInt16.max, using: &random)
            let packets: [FeedbackWriter.Packet] = (0..<count).map { index in
                time += Int.random(in: -50...round * 2, using: &random)
                return (base &+ UInt16(index), random.unit() < loss ? nil : time)
            }
            let bytes = FeedbackWriter.write(packets, padded: round % 2 == 0)
            let reports = try #require(TransportFeedbackTests.reports(bytes))
            let first = packets.compactMap(\.arrival).first ?? 0
            let reference = Int((Double(first) / 256).rounded(.down)) * 256
            #expect(reports.map(\.sequence) == packets.map(\.sequence))
            #expect(reports.map { $0.arrival.map { Int($0) } } == packets.map { $0.arrival.map { $0 - reference } })
        }
    }

    @Test func shorterPacketsAreRefused() {
        let bytes = FeedbackWriter.write(
            (0..<40).map { (index: Int) -> (UInt16, Int?) in (UInt16(index), index % 3 == 0 ? nil : index * 300) })
        for count in stride(from: 0, to: bytes.count, by: 1) {
            var cut = Array(bytes[..<count])
            #expect(TransportFeedbackTests.reports(cut) == nil)
            // With a length that says so: what is missing are the times then.
            guard count >= 4, count % 4 == 0 else { continue }
            (cut[0], cut[3]) = (0x8F, UInt8(count / 4 - 1))
            #expect(TransportFeedbackTests.reports(cut) == nil)
        }
    }

    @Test(arguments: [(14, [0x20, 0x01]), (14, [0, 0]), (20, [0, 0]), (20, [0x60, 0x01]), (2, [0, 200])])
    func impossibleNumbersAreRefused(offset: Int, word: [UInt8]) {
        var bytes = FeedbackWriter.write((0..<40).map { (UInt16($0), $0) })
        bytes.replaceSubrange(offset..<offset + 2, with: word)
        #expect(TransportFeedbackTests.reports(bytes) == nil)
    }

    /// Whatever a peer sends: no crash, and rates that stay within their limits.
    @Test func mutatedFeedbackIsHarmless() {
        var random = SeededGenerator(seed: 99)
        var configuration = BandwidthEstimator.Configuration(maximum: 3_000_000)
        configuration.minimum = 100_000
        var estimator = BandwidthEstimator(configuration)
        var read = 0
        for round in 0..<20_000 {
            let time = MediaTime(nanoseconds: Int64(round) * 10_000_000)
            for index in 0..<4 {
                estimator.didSend(UInt16(truncatingIfNeeded: round * 4 + index), bytes: 1200, at: time, probe: 1)
            }
            let packets: [FeedbackWriter.Packet] = (0..<8).map { index in
                (UInt16(truncatingIfNeeded: round * 4 + index - 6), index == 3 ? nil : round * 40 + index)
            }
            var bytes = FeedbackWriter.write(packets)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if bytes.withUnsafeBytes({ estimator.handleFeedback($0, at: time) }) { read += 1 }
            estimator.update(at: time)
            _ = estimator.takeProbe()
            #expect((100_000...3_000_000).contains(estimator.target))
        }
        #expect(read > 1000 && estimator.statistics.malformedCount > 1000)
    }

    /// Pion sends each packet of feedback twice.
    @Test func feedbackThatComesTwiceCountsOnce() {
        var once = BandwidthEstimator(.init(maximum: 3_000_000))
        var twice = once
        for round in 0..<100 {
            let time = MediaTime(nanoseconds: Int64(round) * 50_000_000)
            let sequences = (0..<10).map { UInt16(round * 10 + $0) }
            for sequence in sequences {
                once.didSend(sequence, bytes: 1000, at: time)
                twice.didSend(sequence, bytes: 1000, at: time)
            }
            let bytes = FeedbackWriter.write(
                sequences.map { ($0, $0 % 7 == 0 ? nil : round * 200 + Int($0 % 10)) }, feedbackCount: UInt8(round))
            bytes.withUnsafeBytes { bytes in
                once.handleFeedback(bytes, at: time)
                twice.handleFeedback(bytes, at: time)
                twice.handleFeedback(bytes, at: time.advanced(by: .milliseconds(1)))
            }
        }
        #expect(once.statistics.loss > 0.1)
        #expect(once.target == twice.target)
        #expect(once.statistics.loss == twice.statistics.loss && once.statistics.received == twice.statistics.received)
    }
}
