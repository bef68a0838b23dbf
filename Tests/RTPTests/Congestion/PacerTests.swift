import CaptureCore
import RTP
import Testing

@Suite struct PacerTests {
    private static func time(_ milliseconds: Double) -> MediaTime {
        MediaTime(nanoseconds: 5_000_000_000 + Int64(milliseconds * 1e6))
    }

    /// Sends what waits, and returns when each packet left, in milliseconds.
    private static func drain(_ pacer: inout Pacer, from start: Double = 0) -> [(time: Double, output: Pacer.Output)] {
        var now = time(start)
        var outputs: [(Double, Pacer.Output)] = []
        while true {
            while let output = pacer.next(at: now) {
                outputs.append((Double(now.nanoseconds - time(0).nanoseconds) / 1e6, output))
            }
            guard let next = pacer.nextTime(after: now) else { return outputs }
            // A caller that wakes up too early must not be refused again and again.
            #expect(next > now)
            now = next
        }
    }

    @Test func aKeyFrameIsSpreadInBurstsOfFiveMilliseconds() {
        var pacer = Pacer(bitrate: 2_500_000)
        for token in 0..<50 { pacer.push(.init(token: UInt16(token), bytes: 1172), .video) }
        let outputs = PacerTests.drain(&pacer)
        #expect(outputs.count == 50)
        // 50 packets of 1200 bytes are 480 kbit.
        #expect(abs((outputs.last?.time ?? 0) - 192) < 10)
        // 5 ms are 1562 bytes: a packet that exceeds them is the last of its burst.
        for start in Set(outputs.map(\.time)) {
            #expect(outputs.filter { $0.time == start }.count <= 2)
        }
        #expect(pacer.count == 0 && pacer.bytes == 0)
    }

    @Test func soundGoesFirstAndResendsBeforeVideo() {
        var pacer = Pacer(bitrate: 1_000_000)
        for token in 0..<3 { pacer.push(.init(token: UInt16(token), bytes: 1000), .video) }
        pacer.push(.init(token: 10, bytes: 1000), .resend)
        pacer.push(.init(token: 20, bytes: 100), .audio)
        pacer.push(.init(token: 21, bytes: 100), .audio)
        let outputs = PacerTests.drain(&pacer)
        let tokens = outputs.map { output in
            if case .packet(let entry, _, _) = output.output { entry.token } else { UInt16.max }
        }
        #expect(tokens == [20, 21, 10, 0, 1, 2])
        // Sound waits for nothing.
        #expect(outputs[0].time == 0 && outputs[1].time == 0)
    }

    @Test func soundPassesVideoThatWaits() {
        var pacer = Pacer(bitrate: 100_000)
        for token in 0..<10 { pacer.push(.init(token: UInt16(token), bytes: 1200), .video) }
        while pacer.next(at: PacerTests.time(0)) != nil {}
        pacer.push(.init(token: 20, bytes: 100), .audio)
        #expect(pacer.nextTime(after: PacerTests.time(1)) == PacerTests.time(1))
        #expect(pacer.next(at: PacerTests.time(1)) == .packet(.init(token: 20, bytes: 100), .audio, probe: 0))
    }

    @Test func aQueueThatIsTooLongIsSentFaster() {
        var pacer = Pacer(bitrate: 100_000)
        for token in 0..<100 { pacer.push(.init(token: UInt16(token), bytes: 1200), .video) }
        #expect(pacer.queueDuration <= .milliseconds(2001))
        var dropped = 0
        pacer.removeAll(.video) { _ in dropped += 1 }
        #expect(dropped == 100 && pacer.bytes == 0 && pacer.nextTime(after: PacerTests.time(0)) == nil)
    }

    /// 1,000 bytes, of which a probe of an estimator that has heard something consists when nothing else waits.
    @Test func aProbeIsMadeOfWhatWaitsAndPadding() throws {
        var estimator = BandwidthEstimator(.init(maximum: 4_000_000))
        for sequence in 0..<10 { estimator.didSend(UInt16(sequence), bytes: 1000, at: PacerTests.time(0)) }
        let feedback = FeedbackWriter.write((0..<10).map { (UInt16($0), $0 * 4) })
        feedback.withUnsafeBytes { _ = estimator.handleFeedback($0, at: PacerTests.time(30)) }
        let taken = estimator.takeProbe()
        let probe = try #require(taken)
        let next = estimator.takeProbe()
        #expect(probe.bitrate == 3_000_000 && next == nil)

        var pacer = Pacer(bitrate: 1_000_000)
        pacer.push(.init(token: 1, bytes: 1100), .video)
        pacer.begin(probe)
        let outputs = PacerTests.drain(&pacer)
        var bytes = 0
        for (index, output) in outputs.enumerated() {
            switch output.output {
            case .packet(let entry, _, let number):
                #expect(index == 0 && number == probe.number)
                bytes += entry.bytes + 28
            case .padding(let count, let number):
                #expect(index > 0 && number == probe.number)
                bytes += count + 28
            }
        }
        #expect((probe.bytes..<probe.bytes + 1200).contains(bytes))
        let rate = Double(bytes) * 8 / (outputs.last?.time ?? 0)
        #expect(abs(rate - 3000) < 600)
    }
}
