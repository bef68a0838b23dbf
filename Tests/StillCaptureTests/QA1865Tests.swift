import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

/// The rules of Apple's QA1865 for bursts of stills, and the defects of its listing: a test each.
@Suite struct QA1865Tests {
    // MARK: Rules

    /// Requests queue and run as fast as possible.
    @Test func requestsQueue() async throws {
        let rig = Rig()
        var requests: [Task<Still, any Error>] = []
        for _ in 0..<5 { requests.append(await rig.begin()) }
        let frame = try rig.feed()
        for request in requests { #expect(try await request.value.timestamp == frame.timestamp) }
    }

    /// Ten may be outstanding; the eleventh is an error, and for a burst a tick that is skipped.
    @Test func atMostTenAreOutstanding() async throws {
        let rig = Rig()
        try rig.feed()
        var reader = BurstReader(rig.stills.burst(count: 12, interval: .milliseconds(40)))
        rig.settle()
        // Nobody reads, so all that was asked for stays outstanding.
        for _ in 0..<15 {
            try rig.feed()
            rig.settle()
            #expect(rig.outstandingCount <= 10)
        }
        await #expect { try await rig.stills.capture() } throws: { isError(.tooManyRequests, $0) }
        #expect(try await reader.stills(10).map(\.number) == Array(1...10))
        for _ in 0..<2 {
            rig.settle()
            try rig.feed()
            _ = try await reader.still()
        }
        // Sixteen ticks with the one at the start, of which ten were asked for.
        #expect(try await reader.summary() == summary(requested: 12, captured: 12, skipped: 6))
    }

    /// A strict timer that starts now: tick k is at the start and k intervals, and nothing adds up.
    @Test(arguments: [Duration.milliseconds(40), .seconds(1) / 30, .seconds(1001) / 30000, .seconds(10)])
    func ticksAreExact(interval: Duration) throws {
        var state = StillState(StillCapture.Configuration(outstandingLimit: .max))
        state.setGate(.open)
        let start = MediaTime(nanoseconds: 123_456_789)
        let burst = BurstState(count: 100_000, interval: interval, settings: Still.Settings(), start: start)
        _ = state.addBurst(1, burst, at: start)
        var moments: [MediaTime] = []
        var now = start
        for index in 0..<1000 {
            let plan = state.advance(to: now)
            // Late, as threads are, by up to a third of an interval.
            now = try #require(plan.deadline).advanced(by: interval / 3 * (index % 2))
            moments = state.waiting.map(\.moment)
        }
        #expect(moments.count == 1000)
        for (index, moment) in moments.enumerated() {
            #expect(moment == start.advanced(by: interval * index))
        }
        // An hour later than the first, to the nanosecond.
        #expect(moments.last == start.advanced(by: interval * 999))
    }

    /// Enough are asked for: the timer rests.
    @Test func theTimerEnds() throws {
        var state = StillState(StillCapture.Configuration())
        state.setGate(.open)
        let start = MediaTime(nanoseconds: 1_000_000_000)
        let burst = BurstState(count: 3, interval: .milliseconds(40), settings: Still.Settings(), start: start)
        _ = state.addBurst(1, burst, at: start)
        let plan = state.advance(to: start.advanced(by: .seconds(100)))
        #expect(plan.deadline == nil && state.waiting.count == 3)
        #expect(state.bursts[1]?.summary == summary(requested: 3, captured: 0))
    }

    /// Completion lowers the number that is outstanding.
    @Test func completionMakesRoom() async throws {
        let rig = Rig(StillCapture.Configuration(outstandingLimit: 1))
        try rig.feed()
        for _ in 0..<5 { _ = try await rig.stills.capture() }
        #expect(rig.outstandingCount == 0)
    }

    // MARK: Defects of the listing

    /// Its interval of 0.04 seconds is stored in an integer, and becomes none.
    @Test func anIntervalOfMillisecondsIsKept() async throws {
        let rig = Rig()
        try rig.feed()
        let start = rig.clock.now
        var reader = BurstReader(rig.stills.burst(count: 3, interval: .milliseconds(40)))
        var stills = [try await reader.still()]
        for _ in 1..<3 {
            rig.settle()
            // More frames than ticks.
            try rig.feed(after: .milliseconds(20))
            try rig.feed(after: .milliseconds(20))
            stills.append(try await reader.still())
        }
        #expect(stills.map(\.timestamp) == (0..<3).map { start.advanced(by: .milliseconds(40) * $0) })
        #expect(try await reader.summary() == summary(requested: 3, captured: 3))
    }

    /// Its counters are not synchronized: here requests, cancellations and frames come from many threads at once.
    @Test func countsHoldUnderContention() async throws {
        let stills = StillCapture(configuration: StillCapture.Configuration(outstandingLimit: 1000))
        let isOver = Locked(false)
        let source = try CaptureThread(name: "frames") {
            var number: UInt64 = 0
            while !isOver.withLock({ $0 }) {
                number += 1
                guard let buffer = try? flatPicture(UInt8(truncatingIfNeeded: number)) else { return }
                stills.consumeFrame(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now, sequenceNumber: number))
                ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)))
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    var reader = BurstReader(stills.burst(count: 50, interval: index % 2 == 0 ? .milliseconds(2) : nil))
                    let taken = try await reader.stills(50)
                    #expect(Set(taken.map(\.sequenceNumber)).count == 50)
                    let counts = try await reader.summary()
                    #expect(counts.requested == 50 && counts.captured == 50 && counts.failed == 0)
                }
                group.addTask {
                    for _ in 0..<20 {
                        let task = Task { try await stills.capture() }
                        if index % 2 == 0 { task.cancel() }
                        _ = try? await task.value
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(stills.engine.state.withLock { $0.outstandingCount == 0 && $0.waiting.isEmpty && $0.bursts.isEmpty })
        isOver.withLock { $0 = true }
        source.join()
    }

    // "Captured" counts requests, so that a failure is never retried: BurstTests.failuresAreRetried.
    // A second call sets the counts of the first to zero: BurstTests.severalKeepTheirCountsApart.

    /// Nothing tells that the burst is finished.
    @Test func theEndIsTold() async throws {
        let rig = Rig()
        var reader = BurstReader(rig.stills.burst(count: 1))
        try rig.feed()
        _ = try await reader.still()
        #expect(try await reader.summary() == summary(requested: 1, captured: 1))
        #expect(try await reader.next() == nil)
    }
}
