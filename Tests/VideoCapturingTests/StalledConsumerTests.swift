import TestTools
import Testing
import VideoCapturing

/// Consumers that do not return, such as one that writes to a pipe that is not read.
@Suite struct StalledConsumerTests {
    private static let timeout = Duration.milliseconds(50)

    private func pushFrames(_ range: Range<Int>, into capture: PushCapturer) throws {
        for value in range { #expect(capture.push(try flatPicture(UInt8(value)))) }
    }

    @Test func theOthersGoOn() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let stalled = CollectingConsumer(gate: gate)
        let other = CollectingConsumer()
        let place = try publisher.add(
            stalled, queue: .init(capacity: 2, policy: .block, timeout: StalledConsumerTests.timeout))
        try publisher.add(other, queue: .init(capacity: 2, policy: .block))
        try pushFrames(0..<20, into: capture)
        #expect(other.wait(for: 20).map(firstLuma) == Array(0..<20))
        // One is in its hands, two wait.
        #expect(place.statistics.isStalled)
        #expect(place.statistics.dropped.refused == 17)

        gate.raise()
        _ = stalled.wait(for: 3)
        #expect(eventually { !place.statistics.isStalled && place.statistics.waiting == 0 })
        try pushFrames(20..<40, into: capture)
        #expect(stalled.wait(for: 23).map(firstLuma) == [0, 1, 2] + Array(20..<40))
        #expect(place.statistics.dropped.total == 17)
        try publisher.stop()
    }

    /// Each frame takes a good part of the timeout, all of them many times that.
    @Test func aSlowOneLosesNothing() throws {
        final class Slow: VideoCaptureConsumer {
            let count = Locked(0)
            func consumeFrame(_ frame: VideoFrame) {
                ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(10)))
                count.withLock { $0 += 1 }
            }
        }
        let (capture, publisher) = try startedPublisher()
        let slow = Slow()
        let place = try publisher.add(
            slow, queue: .init(capacity: 1, policy: .block, timeout: .milliseconds(300)))
        try pushFrames(0..<60, into: capture)
        #expect(eventually { slow.count.withLock { $0 } == 60 })
        try publisher.stop()
        #expect(place.statistics.dropped.total == 0)
    }

    @Test func stopThrowsAndNamesIt() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let stalled = CollectingConsumer(gate: gate)
        let place = try publisher.add(
            stalled, name: "pipe", queue: .init(capacity: 4, policy: .block, timeout: StalledConsumerTests.timeout))
        let other = CollectingConsumer()
        try publisher.add(other, name: "file", queue: .init(capacity: 4, policy: .block))
        try pushFrames(0..<3, into: capture)
        #expect(eventually { place.statistics.received == 3 && place.statistics.waiting == 2 })
        let error = #expect(throws: CaptureError.self) { try publisher.stop() }
        #expect(error?.code == .stalled)
        #expect(error?.subject == "pipe")
        #expect(other.collected.count == 3)
        #expect(place.statistics.dropped.abandoned == 2)
        gate.raise()
        #expect(stalled.wait(for: 1).count == 1)
        publisher.close()
        #expect(stalled.collected.count == 1)
    }

    @Test(arguments: QueuePolicy.allCases) func removeAndCloseReturn(policy: QueuePolicy) throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let settings = VideoPublisher.QueueSettings(
            capacity: 2, policy: policy, timeout: StalledConsumerTests.timeout)
        let removed = CollectingConsumer(gate: gate)
        let place = try publisher.add(removed, queue: settings)
        let other = CollectingConsumer(gate: gate)
        let otherPlace = try publisher.add(other, queue: settings)
        try pushFrames(0..<2, into: capture)
        for place in [place, otherPlace] {
            #expect(eventually { place.statistics.received == 2 && place.statistics.waiting < 2 })
        }
        publisher.remove(place)
        publisher.close()
        #expect(removed.collected.isEmpty && other.collected.isEmpty)
        gate.raise()
        // What was in its hands; what waited was dropped.
        #expect(eventually { !removed.collected.isEmpty && !other.collected.isEmpty })
    }

    @Test func withoutATimeoutItIsWaitedFor() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let consumer = CollectingConsumer(gate: gate)
        let place = try publisher.add(consumer, queue: .init(capacity: 1, policy: .block, timeout: nil))
        try pushFrames(0..<4, into: capture)
        #expect(eventually { place.statistics.received == 3 })
        #expect(!place.statistics.isStalled)
        gate.raise()
        #expect(consumer.wait(for: 4).count == 4)
        try publisher.stop()
        #expect(place.statistics.dropped.total == 0)
    }
}
