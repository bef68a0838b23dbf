import TestTools
import Testing
import VideoCapturing

import struct TestTools.Stopwatch

@Suite struct InlineDeliveryTests {
    /// Numbers frames, and notes on which thread it makes them, and how many the consumer had by then.
    private struct Counting: FrameSource {
        let log: Log
        let count: UInt8
        private var made: UInt8 = 0

        var settings: CaptureSettings { CaptureSettings(format: .nv12(width: 8, height: 6), sourceName: "counting") }
        var pacing: FramePacing { .unpaced }

        init(_ log: Log, count: UInt8) {
            self.log = log
            self.count = count
        }

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            guard made < count else { return nil }
            log.threads.withLock { _ = $0.insert(CaptureThread.currentIdentifier) }
            log.before.withLock { [count = log.taken.withLock { $0.count }] in $0.append(count) }
            defer { made += 1 }
            return SourceFrame(try flatPicture(made))
        }
    }

    /// Takes its time, and notes on which thread.
    private final class Slow: VideoCaptureConsumer {
        let log: Log
        init(_ log: Log) { self.log = log }
        func consumeFrame(_ frame: VideoFrame) {
            ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(2)))
            log.threads.withLock { _ = $0.insert(CaptureThread.currentIdentifier) }
            log.taken.withLock { $0.append(firstLuma(frame)) }
        }
    }

    private final class Log: Sendable {
        let threads = Locked<Set<UInt>>([])
        let taken = Locked<[UInt8]>([])
        let before = Locked<[Int]>([])
    }

    @Test func worksOnTheThreadOfTheSource() throws {
        let log = Log()
        let publisher = VideoPublisher(SourceCapturer(Counting(log, count: 50)))
        let place = try publisher.add(
            InlineDelivery(Slow(log)), queue: .init(capacity: 1, policy: .block))
        try publisher.start()
        #expect(eventually { log.taken.withLock { $0.count } == 50 })
        publisher.close()
        #expect(log.threads.withLock { $0.count } == 1)
        #expect(log.taken.withLock { $0 } == Array(0..<50))
        // The next frame is made once the last one is done with.
        #expect(log.before.withLock { $0 } == Array(0..<50))
        #expect(place.statistics.delivered == 50 && place.statistics.dropped.total == 0)
    }

    /// As many as without: the consumer's own thread sees to the repeats.
    @Test func losesNoFrameThatMayBeRepeated() throws {
        let log = Log()
        let publisher = VideoPublisher(SourceCapturer(Counting(log, count: 20)))
        let place = try publisher.add(
            InlineDelivery(Slow(log)), queue: .init(capacity: 1, policy: .block))
        place.updateWants(CaptureWants(minimumFrameRate: 1))
        try publisher.start()
        #expect(eventually { Set(log.taken.withLock { $0 }).count == 20 })
        publisher.close()
        #expect(log.taken.withLock { Array($0.prefix(20)) } == Array(0..<20))
        #expect(log.threads.withLock { $0.count } == 2)
    }

    @Test func canBeStoppedMeanwhile() throws {
        let log = Log()
        let capture = SourceCapturer(Counting(log, count: .max))
        let publisher = VideoPublisher(capture)
        let place = try publisher.add(
            InlineDelivery(Slow(log)), queue: .init(capacity: 1, policy: .block))
        try publisher.start()
        #expect(eventually { log.taken.withLock { $0.count } > 5 })
        #expect(try Stopwatch.time { try publisher.stop() } < .milliseconds(500))
        publisher.close()
        #expect(place.statistics.delivered == UInt64(log.taken.withLock { $0.count }))
    }
}
