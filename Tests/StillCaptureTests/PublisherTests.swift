import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

/// Stills of a capture that stops, is interrupted and is replaced, and what they ask of it.
@Suite struct PublisherTests {
    private let capture = PushCapturer(format: .nv12(width: 16, height: 8), queueCapacity: 64, policy: .block)
    private let stills = StillCapture()
    private let publisher: VideoPublisher

    init() throws {
        publisher = VideoPublisher(capture)
        try stills.attach(to: publisher)
    }

    private func push(_ value: UInt8) throws { #expect(capture.push(try flatPicture(value))) }

    @Test func aCaptureThatDoesNotRunIsAnError() async throws {
        await #expect { try await stills.capture() } throws: { isError(.notRunning, $0) }
        #expect(stills.readiness == .notRunning)
        try publisher.start()
        #expect(await eventually { stills.readiness == .ready })
        try push(1)
        _ = try await stills.capture()
        try publisher.stop()
        await #expect { try await stills.capture() } throws: { isError(.notRunning, $0) }
        #expect(await eventually { stills.readiness == .notRunning })
        publisher.close()
    }

    @Test func aStopEndsASingleStill() async throws {
        try publisher.start()
        let request = Task { try await stills.capture(Still.Settings(timeout: nil)) }
        #expect(await eventually { stills.engine.state.withLock { $0.waiting.count == 1 } })
        try publisher.stop()
        await #expect { try await request.value } throws: { isError(.notRunning, $0) }
        publisher.close()
    }

    /// The burst goes on with what comes, and says what has happened.
    @Test func aBurstOutlastsAStop() async throws {
        try publisher.start()
        var reader = BurstReader(stills.burst(count: 4))
        try push(1)
        try push(2)
        let before = try await reader.stills(2)
        try publisher.stop()
        #expect(try await reader.state() == .stopped(.user))
        try publisher.start()
        #expect(try await reader.state() == .running)
        try push(3)
        try push(4)
        let after = try await reader.stills(2)
        #expect((before + after).map(\.number) == [1, 2, 3, 4])
        let times = (before + after).map(\.timestamp)
        #expect(times == times.sorted() && Set(times).count == 4)
        #expect(try await reader.summary() == summary(requested: 4, captured: 4))
        publisher.close()
    }

    /// One thread reads that the capture runs, and gets to say so only after another has said that it has stopped.
    @Test func aStateThatWasReadBeforeAnotherIsNotReportedAfterIt() throws {
        var state = StillState(StillCapture.Configuration())
        let burst = state.makeIdentifier()
        state.bursts[burst] = BurstState(count: 2, interval: nil, settings: Still.Settings(), start: .zero)
        let (earlier, later) = (state.makeIdentifier(), state.makeIdentifier())
        var effects = StillEffects()
        state.adopt(.stopped(.user), later, &effects)
        state.adopt(.running, earlier, &effects)
        #expect(state.gate == .closed)
        let events = Locked<[StillCapture.BurstEvent]>([])
        for _ in 1...2 {
            state.bursts[burst]!.read(
                { result in events.withLock { $0 += (try? result.get()).map { [$0] } ?? [] } }, &effects)
        }
        for event in effects.events { event.reader(event.result) }
        guard case .captureChanged(.stopped(.user))? = events.withLock({ $0.first }) else {
            throw BurstReader.Unexpected()
        }
        #expect(events.withLock { $0.count } == 1)
    }

    @Test func aBurstOutlastsAReplacement() async throws {
        try publisher.start()
        var reader = BurstReader(stills.burst(count: 4))
        try push(1)
        _ = try await reader.still()
        let other = PushCapturer(format: .nv12(width: 32, height: 16), queueCapacity: 64, policy: .block)
        let pusher = try CaptureThread(name: "pusher") {
            while !other.push((try? flatPicture(2, width: 32, height: 16))!) {}
        }
        try publisher.replaceCapture(with: other)
        pusher.join()
        other.push(try flatPicture(3, width: 32, height: 16))
        other.push(try flatPicture(4, width: 32, height: 16))
        var sizes: [Int] = []
        var replacements = 0
        while sizes.count < 3 {
            switch try await reader.next() {
            case .still(let still)?: sizes.append(still.size.width)
            case .captureReplaced?: replacements += 1
            default: throw BurstReader.Unexpected()
            }
        }
        #expect(sizes == [32, 32, 32])
        // It may be told after the last still only where that was the end; there it is left out.
        #expect(replacements <= 1)
        #expect(try await reader.summary() == summary(requested: 4, captured: 4))
        // It is followed: its stop is a stop.
        try publisher.stop()
        #expect(await eventually { stills.readiness == .notRunning })
        publisher.close()
    }

    @Test func aReplacementIsTold() async throws {
        try publisher.start()
        var reader = BurstReader(stills.burst(count: 2))
        try push(1)
        _ = try await reader.still()
        try publisher.stop()
        #expect(try await reader.state() == .stopped(.user))
        let other = PushCapturer(format: .nv12(width: 16, height: 8))
        try publisher.replaceCapture(with: other)
        guard case .captureReplaced? = try await reader.next() else { throw BurstReader.Unexpected() }
        try publisher.start()
        #expect(try await reader.state() == .running)
        other.push(try flatPicture(2))
        _ = try await reader.still()
        #expect(try await reader.summary() == summary(requested: 2, captured: 2))
        publisher.close()
    }

    /// A camera that is unplugged and comes back: ticks meanwhile are skipped, frames of before are not taken.
    @Test func aBurstOutlastsAnInterruption() async throws {
        let clock = VirtualClock(.manual)
        let camera = FaultInjectingCapturer(
            format: VideoFormat(.nv12, width: 16, height: 8, estimatedFramesPerSecond: 10),
            script: [5: [.interruption(.deviceDisconnected, .seconds(20))]], clock: clock)
        let publisher = VideoPublisher(camera, clock: clock)
        let stills = StillCapture(clock: clock)
        try stills.attach(to: publisher)
        try publisher.start()
        var reader = BurstReader(stills.burst(count: 8, interval: .milliseconds(100)))
        var events: [CaptureState] = []
        var taken: [Still] = []
        let isOver = Locked(false)
        // Time passes as fast as the capture and the stills come along.
        let time = try CaptureThread(name: "time") {
            while !isOver.withLock({ $0 }) {
                clock.advance(by: .milliseconds(10))
                ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)))
            }
        }
        var counts: StillCapture.BurstSummary?
        while counts == nil {
            switch try await reader.next() {
            case .still(let still)?: taken.append(still)
            case .captureChanged(let state)?: events.append(state)
            case .finished(let summary)?: counts = summary
            default: throw BurstReader.Unexpected()
            }
        }
        isOver.withLock { $0 = true }
        time.join()
        #expect(events == [.interrupted(.deviceDisconnected), .running])
        #expect(try #require(counts).captured == 8 && #require(counts).failed == 0)
        // Twenty seconds without frames are some two hundred ticks.
        #expect(try #require(counts).skipped > 150)
        // There are five frames of before; one that was being encoded may come after the news of the interruption.
        let numbers = taken.map(\.sequenceNumber)
        #expect(numbers.count == 8 && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "no frame twice")
        publisher.close()
    }

    @Test func removalEndsAll() async throws {
        let publisher = VideoPublisher(PushCapturer(format: .nv12(width: 16, height: 8)))
        let stills = StillCapture()
        let place = try stills.attach(to: publisher)
        #expect { try stills.attach(to: publisher) } throws: { ($0 as? CaptureError)?.code == .invalidState }
        try publisher.start()
        var reader = BurstReader(stills.burst(count: 2))
        let request = Task { try await stills.capture(Still.Settings(timeout: nil)) }
        #expect(await eventually { stills.engine.state.withLock { $0.waiting.count == 1 } })
        publisher.remove(place)
        await #expect { try await request.value } throws: { isError(.notRunning, $0) }
        guard case .finished? = try await reader.next() else { throw BurstReader.Unexpected() }
        await #expect { _ = try await reader.next() } throws: { isError(.notRunning, $0) }
        await #expect { try await stills.capture() } throws: { isError(.notRunning, $0) }
        #expect(stills.readiness == .notRunning)
        // And it can be attached again.
        try stills.attach(to: publisher)
        #expect(await eventually { stills.readiness == .ready })
        publisher.close()
    }

    @Test func theFramesPassTheQueue() async throws {
        let place = try #require(publisher.statistics.consumers.first)
        #expect(place.name == "stills")
        try publisher.start()
        for value in 0..<50 { try push(UInt8(value)) }
        #expect(await eventually { publisher.statistics.consumers[0].delivered == 50 })
        #expect(publisher.statistics.consumers[0].dropped.total == 0)
        publisher.close()
    }
}

extension BurstReader {
    /// The state that the next event tells.
    mutating func state() async throws -> CaptureState {
        guard case .captureChanged(let state)? = try await next() else { throw Unexpected() }
        return state
    }
}
