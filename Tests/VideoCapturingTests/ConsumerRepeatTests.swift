import Testing

@testable import VideoCapturing

/// The minimum rate that one consumer wants, and damage that stays true on the way to it.
@Suite struct ConsumerRepeatTests {
    private func pause(_ milliseconds: Int) {
        MonotonicClock().wait(
            until: MonotonicClock().now.advanced(by: .milliseconds(milliseconds)), or: ManualResetEvent())
    }

    private func frame(_ value: UInt8, damage: [PixelRect]) throws -> VideoFrame {
        VideoFrame(buffer: try flatPicture(value), timestamp: MonotonicClock().now, damage: damage)
    }

    @Test func repeatsForTheOneWhoWantsIt() throws {
        let (capture, publisher) = try startedPublisher()
        let refining = CollectingConsumer()
        let other = CollectingConsumer()
        let place = try publisher.add(refining, queue: .init(capacity: 4, policy: .block))
        try publisher.add(other, queue: .init(capacity: 4, policy: .block))
        place.updateWants(CaptureWants(minimumFrameRate: 100))
        capture.push(try flatPicture(7))
        _ = refining.wait(for: 5)
        capture.push(try flatPicture(8))
        while refining.collected.last.map(firstLuma) != 8 {}
        let reached = refining.collected.count
        let frames = refining.wait(for: reached + 3)
        let own = frames.filter { !$0.isRepeat }
        #expect(own.map(firstLuma) == [7, 8])
        #expect(own.map(\.sequenceNumber) == [0, 1])
        #expect(frames[0].damage == .some(nil))
        for (first, second) in zip(frames, frames.dropFirst()) {
            #expect(second.timestamp > first.timestamp)
            if second.isRepeat {
                #expect(second.damage == [] && second.sequenceNumber == first.sequenceNumber)
                #expect(second.buffer === first.buffer)
                #expect(second.estimatedFrameRate == 100)
                #expect(second.timestamp - first.timestamp >= .milliseconds(5))
            }
        }
        #expect(other.collected.map(firstLuma) == [7, 8])
        try publisher.stop()
        let statistics = place.statistics
        #expect(statistics.delivered == 2 && statistics.received == 2)
        #expect(statistics.repeats == UInt64(refining.collected.count - 2))
        publisher.close()
    }

    /// The same numbers for a seed (SplitMix64).
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// A screen changes at any time, at most at its rate, and is refined while it rests.
    @Test(arguments: [(15, 12), (30, 12), (12, 12), (5, 5)] as [(Int32, Int32)], 0..<4)
    func framesAndRepeatsStayWithinTheRate(rates: (cap: Int32, repeats: Int32), seed: UInt64) throws {
        var random = Numbers(state: seed)
        let cap = try #require(FrameRate(rates.cap, per: 1)).frameInterval
        let rate = try #require(FrameRate(rates.repeats, per: 1))
        let picture = VideoFrame(buffer: try flatPicture(1), timestamp: .zero)
        var timeline = ConsumerTimeline()
        var shown: [MediaTime] = []
        var time = MediaTime.zero
        while time < MediaTime(nanoseconds: 60_000_000_000) {
            shown.append(time)
            timeline.keep(picture, shownAt: time, rate: rate)
            let rest = Duration.microseconds(Int64.random(in: 0...500_000, using: &random))
            let next = time.advanced(by: cap + (Bool.random(using: &random) ? rest : .zero))
            while let turn = timeline.lastTurn?.advanced(by: rate.frameInterval), turn < next {
                _ = timeline.makeRepeat(at: turn, rate: rate)
                shown.append(turn)
            }
            time = next
        }
        // In each second.
        for (index, first) in shown.enumerated() {
            let count = shown[index...].prefix { $0 < first.advanced(by: .seconds(1)) }.count
            #expect(count <= Int(rates.cap) + 1)
        }
        #expect(shown.count > 60)
    }

    @Test func takingTheWantBackEndsIt() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        let place = try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        place.updateWants(CaptureWants(minimumFrameRate: 200))
        capture.push(try flatPicture(7))
        _ = consumer.wait(for: 3)
        place.updateWants(CaptureWants())
        pause(20)
        let count = consumer.collected.count
        pause(40)
        #expect(consumer.collected.count == count)
        // Slower, while it waits for the next one.
        place.updateWants(CaptureWants(minimumFrameRate: 1))
        capture.push(try flatPicture(8))
        _ = consumer.wait(for: count + 1)
        place.updateWants(CaptureWants(minimumFrameRate: 200))
        #expect(consumer.wait(for: count + 3).count >= count + 3)
        publisher.close()
    }

    @Test func stopEndsIt() throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        let place = try publisher.add(consumer, queue: .init(capacity: 4, policy: .block))
        place.updateWants(CaptureWants(minimumFrameRate: 500))
        for round in 1...3 {
            capture.push(try flatPicture(UInt8(round)))
            while consumer.collected.last.map({ firstLuma($0) == UInt8(round) && $0.isRepeat }) != true {}
            try publisher.stop()
            let count = consumer.collected.count
            pause(15)
            #expect(consumer.collected.count == count)
            try publisher.start()
            pause(15)
            // The picture of the run before is not shown again.
            #expect(consumer.collected.count == count)
        }
        publisher.close()
        let frames = consumer.collected
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
    }

    @Test func aSlowConsumerIsStoppedAtOnce() throws {
        let (capture, publisher) = try startedPublisher()
        let gate = ManualResetEvent()
        let slow = CollectingConsumer(gate: gate)
        let place = try publisher.add(slow, queue: .init(capacity: 2, policy: .dropOldest))
        place.updateWants(CaptureWants(minimumFrameRate: 1000))
        capture.push(try flatPicture(1))
        gate.raise()
        _ = slow.wait(for: 2)
        publisher.remove(place)
        let count = slow.collected.count
        pause(15)
        #expect(slow.collected.count == count)
        publisher.close()
    }

    @Test func theCaptureIsNotAskedForIt() throws {
        final class Recorder: FrameSource {
            let settings = CaptureSettings(format: .nv12(width: 8, height: 6))
            let seen: Locked<[CaptureWants]>
            init(_ seen: Locked<[CaptureWants]>) { self.seen = seen }
            func adapt(to wants: CaptureWants) { seen.withLock { $0.append(wants) } }
            func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
                context.wait(until: context.now.advanced(by: .milliseconds(1)))
                return SourceFrame(try flatPicture(1))
            }
        }
        let seen = Locked<[CaptureWants]>([])
        let publisher = VideoPublisher(SourceCapturer(Recorder(seen)))
        let consumer = CollectingConsumer()
        let place = try publisher.add(consumer)
        try publisher.start()
        place.updateWants(CaptureWants(minimumFrameRate: 10))
        place.updateWants(CaptureWants(maximumFrameRate: 30, minimumFrameRate: 10))
        for _ in 0..<5000 where seen.withLock({ $0.last?.maximumFrameRate }) != 30 { pause(1) }
        publisher.close()
        #expect(seen.withLock { $0.last } == CaptureWants(maximumFrameRate: 30))
        #expect(seen.withLock { $0.allSatisfy { $0.minimumFrameRate == nil } })
    }

    @Test func aLateConsumerSeesAllOfItsFirstPicture() throws {
        let (capture, publisher) = try startedPublisher()
        let early = CollectingConsumer()
        try publisher.add(early, queue: .init(capacity: 4, policy: .block))
        capture.push(try flatPicture(1))
        _ = early.wait(for: 1)
        let late = CollectingConsumer()
        try publisher.add(late, queue: .init(capacity: 4, policy: .block))
        capture.push(try frame(2, damage: []))
        capture.push(try frame(3, damage: [PixelRect(x: 0, y: 0, width: 1, height: 1)]))
        #expect(early.wait(for: 3).map(\.damage) == [nil, [], [PixelRect(x: 0, y: 0, width: 1, height: 1)]])
        #expect(late.wait(for: 2).map(\.damage) == [nil, [PixelRect(x: 0, y: 0, width: 1, height: 1)]])
        publisher.close()
    }

    @Test(arguments: [VideoPublisher.MuteMode.black, .holdLast])
    func damageIsTrueAroundAMute(mode: VideoPublisher.MuteMode) throws {
        let (capture, publisher) = try startedPublisher()
        let consumer = CollectingConsumer()
        try publisher.add(consumer, queue: .init(capacity: 8, policy: .block))
        var count = 0
        func push(_ value: UInt8) throws {
            capture.push(try frame(value, damage: []))
            count += 1
            _ = consumer.wait(for: count)
        }
        try push(1)
        publisher.mute(mode)
        try push(2)
        try push(3)
        publisher.unmute()
        try push(4)
        try push(5)
        // Black differs from what was shown, held pictures do not, and what comes after differs all over.
        #expect(consumer.collected.map(\.damage) == [nil, mode == .black ? nil : [], [], nil, []])
        publisher.close()
    }
}
