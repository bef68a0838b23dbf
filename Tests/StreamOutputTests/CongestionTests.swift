import TestTools
import Testing
import VideoCapturing

@testable import StreamOutput

#if canImport(Glibc)
    import Glibc
#endif

/// A line of limited capacity with the encoder at its end, by a clock of the test's own.
private struct Line {
    /// In bits per second.
    var capacity: Double
    let maximum: Int
    private(set) var control = CongestionControl()
    private(set) var waiting = 0.0
    private var taken = 0.0
    private var gaps: UInt64 = 0
    private var frames = 0
    private var now = MediaTime(nanoseconds: 77_000_000_000)
    /// What the encoder makes of the bitrate that it is given.
    var demand = 1.0

    init(capacity: Double, maximum: Int) {
        self.capacity = capacity
        self.maximum = maximum
    }

    /// Thirty frames per second, each tenth five times as large; what waits for two seconds is lost.
    mutating func run(_ seconds: Double) {
        for _ in 0..<Int(seconds * 30) {
            now = now.advanced(by: .nanoseconds(33_333_333))
            let bytes = Double(control.limit ?? maximum) / 8 / 30 * demand
            waiting += bytes * (frames % 10 == 0 ? 5 : 5.0 / 9)
            frames += 1
            let sent = min(waiting, capacity / 8 / 30)
            waiting -= sent
            taken += sent
            if waiting > Double(control.limit ?? maximum) / 8 * 2 {
                waiting = 0
                gaps += 1
            }
            control.update(
                CongestionControl.Sample(
                    time: now, bytesTaken: UInt64(taken), bytesWaiting: Int(waiting), gaps: gaps), maximum: maximum)
        }
    }
}

@Suite struct CongestionControlTests {
    @Test func aLineThatIsFastEnoughIsLeftAlone() {
        var line = Line(capacity: 4e6, maximum: 2_000_000)
        line.run(600)
        #expect(line.control.limit == nil && line.control.reductions == 0)
    }

    /// Within two seconds, to what the line takes and not below, whatever it is.
    @Test(arguments: [1.5e6, 1e6, 600_000, 300_000]) func aSlowLineIsFoundSoon(_ capacity: Double) throws {
        var line = Line(capacity: capacity, maximum: 2_000_000)
        line.run(2)
        let limit = try #require(line.control.limit)
        #expect(Double(limit) < capacity && Double(limit) > capacity * 0.7, "\(limit)")
        // From then on it is used for the most part, and little waits.
        var (sum, waited) = (0.0, 0.0)
        line.run(10)
        for _ in 0..<300 {
            line.run(0.2)
            sum += Double(try #require(line.control.limit)) / capacity
            waited = max(waited, line.waiting * 8 / capacity)
        }
        #expect(sum / 300 > 0.8 && sum / 300 < 1.1, "\(sum / 300)")
        #expect(waited < 2.0, "\(waited) s")
    }

    /// A line that becomes free is used again within a minute, and then without a limit; not within seconds.
    @Test func theLimitIsRaisedSlowly() throws {
        var line = Line(capacity: 400_000, maximum: 2_000_000)
        line.run(10)
        let low = try #require(line.control.limit)
        line.capacity = 8e6
        line.run(5)
        let soon = try #require(line.control.limit)
        #expect(soon > low && soon < low * 3 / 2)
        line.run(55)
        #expect(line.control.limit == nil)
    }

    @Test func nothingTakenLowersToATenth() {
        var line = Line(capacity: 0, maximum: 2_000_000)
        line.run(30)
        #expect(line.control.limit == 200_000)
        var small = Line(capacity: 0, maximum: 60_000)
        small.run(30)
        #expect(small.control.limit == 50_000)
        var least = Line(capacity: 0, maximum: 20_000)
        least.run(30)
        #expect(least.control.limit == nil, "there is nothing to lower")
    }

    /// Pictures that are easy to encode say nothing of the line.
    @Test func anEncoderThatMakesLessIsNoCongestion() {
        var line = Line(capacity: 1e6, maximum: 2_000_000)
        line.demand = 0.3
        line.run(60)
        #expect(line.control.limit == nil)
    }

    @Test func anotherConfigurationEndsTheLimit() throws {
        var control = CongestionControl()
        func feed(_ from: Int, _ count: Int, waiting: Int, maximum: Int) {
            for index in from..<(from + count) {
                control.update(
                    .init(
                        time: MediaTime(nanoseconds: Int64(index) * 250_000_000), bytesTaken: UInt64(index) * 12_500,
                        bytesWaiting: waiting, gaps: 0), maximum: maximum)
            }
        }
        feed(0, 8, waiting: 400_000, maximum: 1_000_000)
        #expect(try #require(control.limit) == 340_000)
        feed(8, 2, waiting: 0, maximum: 300_000)
        #expect(control.limit == nil)
    }
}

/// Real sockets, of which one is read slowly.
@Suite(.serialized) struct CongestionTests {
    private func listening() throws -> StreamOutput {
        var configuration = StreamOutput.Configuration()
        configuration.maximumDelay = .milliseconds(500)
        configuration.stallTimeout = .seconds(3600)
        let output = try StreamOutput("tcp://127.0.0.1:0?listen", configuration: configuration)
        try output.open()
        return output
    }

    /// 640x480 at 30 frames per second, of more than 4 Mbit/s.
    private static let clip = Result {
        Clip(try h264Clip(frames: 60, size: "640x480", options: "repeat-headers=1:qp=8"), width: 640, height: 480)
    }

    /// Writes frames at their rate until something is so.
    private func write(_ feed: Feed, until condition: () -> Bool) throws -> Bool {
        for _ in 0..<30 * 60 where !condition() {
            try feed.write(1)
            usleep(33_333)
        }
        return condition()
    }

    @Test func theOnlyReceiverLowersTheBitrate() throws {
        let output = try listening()
        let feed = try Feed(CongestionTests.clip.get(), to: output, bitrate: 4_000_000)
        let slow = try TestReceiver(port: output.port, isReading: false, bufferSize: 65536)
        #expect(feed.awaitRequests(1))
        // It takes nothing at all, but what the kernel has taken for it may count at first.
        #expect(try write(feed) { feed.limits.last == 400_000 })
        let reductions = feed.limits.count
        let statistics = output.statistics
        #expect(statistics.bitrateLimit == 400_000 && statistics.receivers.first?.bitrateLimit == 400_000)
        #expect(statistics.bitrateReductions == reductions)
        // Once it reads everything, what it cannot take is no longer what limits it.
        slow.resume()
        #expect(try write(feed) { feed.limits.count > reductions })
        #expect(feed.limits.dropFirst(reductions).first.map { $0 == 440_000 } == true)
        output.finish()
    }

    @Test func aSlowReceiverDoesNotLowerItForAnother() throws {
        let output = try listening()
        let feed = try Feed(CongestionTests.clip.get(), to: output, bitrate: 4_000_000)
        let good = try TestReceiver(port: output.port)
        let slow = try TestReceiver(port: output.port, isReading: false, bufferSize: 4096)
        #expect(eventually { output.statistics.connections == 2 })
        // What the kernel has taken for it counts at first.
        #expect(
            try write(feed) {
                let last = output.statistics.receivers.last
                return last?.gaps ?? 0 >= 2 && last?.bitrateLimit == 400_000
            })
        let receivers = output.statistics.receivers
        #expect(receivers.last?.packetsDropped ?? 0 > 0)
        #expect(receivers.first?.bitrateLimit == nil && receivers.first?.packetsDropped == 0)
        #expect(feed.limits.isEmpty && output.statistics.bitrateLimit == nil)
        // When the good one is gone, the other's limit is everyone's; when both are, nobody's.
        good.hangUp()
        #expect(try write(feed) { feed.limits.last == 400_000 })
        slow.hangUp(reset: true)
        slow.resume()
        #expect(try write(feed) { feed.limits.last == .some(nil) })
        output.finish()
    }

    @Test func withoutABitrateNoneIsAskedFor() throws {
        let output = try listening()
        let feed = try Feed(CongestionTests.clip.get(), to: output)
        let slow = try TestReceiver(port: output.port, isReading: false, bufferSize: 4096)
        #expect(feed.awaitRequests(1))
        #expect(try write(feed) { output.statistics.gaps >= 2 })
        #expect(feed.limits.isEmpty && output.statistics.bitrateReductions == 0)
        output.finish()
        slow.resume()
    }
}
