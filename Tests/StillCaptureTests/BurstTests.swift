import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

/// Bursts on a virtual clock.
@Suite struct BurstTests {
    /// Every frame of the capture: none lost, none twice, in order.
    @Test func eachFrameIsTakenOnce() async throws {
        let rig = Rig()
        try rig.feed()
        let newest = try rig.feed()
        var reader = BurstReader(rig.stills.burst(count: 20))
        var numbers = [newest.sequenceNumber]
        var stills = [try await reader.still()]
        for index in 1..<20 {
            // As unevenly as frames come in the dark.
            numbers.append(try rig.feed(after: .milliseconds(index % 3 == 0 ? 100 : 33)).sequenceNumber)
            stills.append(try await reader.still())
        }
        #expect(stills.map(\.sequenceNumber) == numbers)
        #expect(stills.map(\.number) == Array(1...20))
        #expect(stills.allSatisfy { $0.offset == .zero })
        #expect(try await reader.summary() == summary(requested: 20, captured: 20))
    }

    /// An old frame is not the picture of this moment.
    @Test func aBurstBeginsWithTheNextFrameWhereTheLastIsOld() async throws {
        let rig = Rig()
        try rig.feed()
        rig.clock.advance(by: .seconds(1))
        var reader = BurstReader(rig.stills.burst(count: 1))
        let frame = try rig.feed()
        #expect(try await reader.still().sequenceNumber == frame.sequenceNumber)
    }

    /// A source that delivers changes only, such as a screen at rest, is asked for each still of a time lapse, also at the
    /// rate to which its own answers add up.
    @Test func aSourceAtRestIsAskedForEachStill() async throws {
        let rig = Rig()
        let requests = Locked(0)
        rig.stills.connectFeedback(CaptureFeedback(onWants: { _ in }, onRefresh: { requests.withLock { $0 += 1 } }))
        func feed() throws {
            let frame = VideoFrame(
                buffer: try flatPicture(1), timestamp: rig.clock.now,
                sequenceNumber: UInt64(rig.clock.now.nanoseconds), estimatedFrameRate: 1)
            #expect(rig.stills.consumeInline(frame))
        }
        try feed()
        var reader = BurstReader(rig.stills.burst(count: 5, interval: .seconds(2)))
        _ = try await reader.still()
        for asked in 1...4 {
            // To the next tick, and to the time at which a frame of a source that is not at rest would have come.
            rig.settle()
            rig.clock.advance(by: .seconds(asked == 1 ? 2 : 1))
            rig.settle()
            rig.clock.advance(by: .seconds(1))
            try #require(await eventually(within: .seconds(20)) { requests.withLock { $0 } == asked })
            try feed()
            #expect(try await reader.still().offset == .seconds(1))
        }
        #expect(try await reader.summary().captured == 5)
    }

    /// However many workers encode, and however long each takes.
    @Test func deliveryIsInOrder() async throws {
        let rig = Rig(StillCapture.Configuration(outstandingLimit: 40, workerCount: 4))
        var reader = BurstReader(rig.stills.burst(count: 40))
        for index in 0..<40 {
            try rig.feed(width: index % 4 == 0 ? 1280 : 16, height: index % 4 == 0 ? 720 : 8)
        }
        let stills = try await reader.stills(40)
        #expect(stills.map(\.number) == Array(1...40))
        #expect(zip(stills, stills.dropFirst()).allSatisfy { $0.sequenceNumber + 1 == $1.sequenceNumber })
        #expect(try await reader.summary() == summary(requested: 40, captured: 40))
    }

    /// What fails is tried again with a later frame; each failure is reported.
    @Test func failuresAreRetried() async throws {
        let rig = Rig()
        var reader = BurstReader(rig.stills.burst(count: 3))
        try rig.feed()
        #expect(try await reader.still().number == 1)
        for _ in 0..<2 {
            try rig.feedDamage()
            guard case .failed(let error)? = try await reader.next() else { throw BurstReader.Unexpected() }
            #expect(error.code == .corruptFrame)
        }
        try rig.feed()
        try rig.feed()
        #expect(try await reader.stills(2).map(\.number) == [2, 3])
        #expect(try await reader.summary() == summary(requested: 5, captured: 3, failed: 2))
    }

    /// With an interval too, at the next tick.
    @Test func failuresAreRetriedAtTheNextTick() async throws {
        let rig = Rig()
        try rig.feedDamage()
        let start = rig.clock.now
        var reader = BurstReader(rig.stills.burst(count: 2, interval: .milliseconds(100)))
        guard case .failed? = try await reader.next() else { throw BurstReader.Unexpected() }
        var stills: [Still] = []
        for _ in 0..<2 {
            rig.settle()
            rig.clock.advance(by: .milliseconds(100))
            try rig.feed(after: .zero)
            stills.append(try await reader.still())
        }
        #expect(stills.map(\.timestamp) == [1, 2].map { start.advanced(by: .milliseconds(100) * $0) })
        #expect(try await reader.summary() == summary(requested: 3, captured: 2, failed: 1))
    }

    @Test func failureAfterFailureEndsTheBurst() async throws {
        let rig = Rig(StillCapture.Configuration(failureLimit: 3))
        var reader = BurstReader(rig.stills.burst(count: 5))
        for _ in 0..<3 {
            try rig.feedDamage()
            guard case .failed? = try await reader.next() else { throw BurstReader.Unexpected() }
        }
        guard case .finished(let counts)? = try await reader.next() else { throw BurstReader.Unexpected() }
        #expect(counts == summary(requested: 3, captured: 0, failed: 3))
        await #expect { _ = try await reader.next() } throws: { isError(.corruptFrame, $0) }
        #expect(rig.outstandingCount == 0 && rig.waitingCount == 0)
    }

    @Test func aReaderThatIsSlowMakesItSlowNotLarge() async throws {
        let rig = Rig()
        var reader = BurstReader(rig.stills.burst(count: 15))
        for _ in 0..<20 { try rig.feed() }
        #expect(rig.outstandingCount == 10)
        #expect(try await reader.stills(10).map(\.sequenceNumber) == Array(1...10))
        for _ in 0..<5 { try rig.feed() }
        #expect(try await reader.stills(5).map(\.sequenceNumber) == Array(21...25))
        #expect(try await reader.summary() == summary(requested: 15, captured: 15, skipped: 10))
    }

    @Test func severalKeepTheirCountsApart() async throws {
        let rig = Rig(StillCapture.Configuration(outstandingLimit: 100))
        var first = BurstReader(rig.stills.burst(count: 6))
        try rig.feed()
        try rig.feed()
        // QA1865's listing sets the counts of the first to zero here.
        var second = BurstReader(rig.stills.burst(count: 3))
        for _ in 0..<4 { try rig.feed() }
        #expect(try await first.stills(6).map(\.sequenceNumber) == [1, 2, 3, 4, 5, 6])
        #expect(try await first.summary() == summary(requested: 6, captured: 6))
        #expect(try await second.stills(3).map(\.sequenceNumber) == [2, 3, 4])
        #expect(try await second.summary() == summary(requested: 3, captured: 3))
    }

    // MARK: Ends

    @Test func cancellingTheReaderEndsIt() async throws {
        let rig = Rig()
        try rig.feed()
        let stream = rig.stills.burst(count: 100, interval: .milliseconds(10))
        let task = Task {
            var count = 0
            for try await event in stream { if case .still = event { count += 1 } }
            return count
        }
        #expect(await eventually { rig.stills.engine.state.withLock { $0.bursts.values.first?.summary.captured == 1 } })
        task.cancel()
        #expect(try await task.value <= 1)
        #expect(rig.outstandingCount == 0 && rig.stills.engine.state.withLock { $0.bursts.isEmpty })
        #expect(try await !rig.stills.capture().bytes.isEmpty)
    }

    @Test func releasingTheStreamEndsIt() async throws {
        let rig = Rig()
        do {
            var reader = BurstReader(rig.stills.burst(count: 100))
            try rig.feed()
            _ = try await reader.still()
        }
        #expect(await eventually { rig.stills.engine.state.withLock { $0.bursts.isEmpty } })
        try rig.feed()
        #expect(rig.outstandingCount == 0)
    }

    @Test func releasingTheObjectEndsAll() async throws {
        let clock = VirtualClock(.manual)
        var stills: StillCapture? = StillCapture(clock: clock)
        var reader = BurstReader(stills!.burst(count: 3, interval: .seconds(1)))
        stills = nil
        guard case .finished(let counts)? = try await reader.next() else { throw BurstReader.Unexpected() }
        #expect(counts.captured == 0)
        await #expect { _ = try await reader.next() } throws: { isError(.notRunning, $0) }
    }

    @Test(arguments: [(0, nil), (-1, nil), (1, Duration.zero), (1, .seconds(-1)), (1, .nanoseconds(1) / 2)])
    func absurdBurstsAreRefused(count: Int, interval: Duration?) async throws {
        await #expect {
            for try await _ in Rig().stills.burst(count: count, interval: interval) {}
        } throws: {
            isError(.invalidConfiguration, $0)
        }
    }
}

/// Bursts that are ended before they are complete.
@Suite struct EndedBurstTests {
    /// What waits for a frame is withdrawn, what has one is delivered.
    @Test func theSummaryHasWhatWasTaken() async throws {
        let rig = Rig()
        try rig.feed()
        let engine = rig.stills.engine
        let burst = try engine.startBurst(count: 10, interval: .seconds(1), Still.Settings())
        rig.settle()
        for _ in 0..<30 { try rig.feed() }
        rig.settle()
        // The tick at 1 s has its frame.
        guard case .still? = try await engine.nextEvent(ofBurst: burst) else { throw BurstReader.Unexpected() }
        guard case .still? = try await engine.nextEvent(ofBurst: burst) else { throw BurstReader.Unexpected() }
        engine.endBurst(burst)
        guard case .finished(let counts)? = try await engine.nextEvent(ofBurst: burst) else {
            throw BurstReader.Unexpected()
        }
        #expect(counts == summary(requested: 2, captured: 2))
        if try await engine.nextEvent(ofBurst: burst) != nil { throw BurstReader.Unexpected() }
        #expect(rig.outstandingCount == 0)
    }

    @Test func aRequestWithoutAFrameIsWithdrawn() async throws {
        let rig = Rig()
        let frame = try rig.feed()
        let engine = rig.stills.engine
        // The first tick's own moment lies after the frame; whether a nearer one comes is not known yet.
        rig.clock.advance(by: .milliseconds(20))
        let burst = try engine.startBurst(
            count: 2, interval: .seconds(1), Still.Settings(allowsEarlierFrames: false))
        #expect(await eventually { rig.waitingCount == 1 })
        engine.endBurst(burst)
        guard case .finished(let counts)? = try await engine.nextEvent(ofBurst: burst) else {
            throw BurstReader.Unexpected()
        }
        #expect(counts == summary(requested: 0, captured: 0) && frame.sequenceNumber == 1)
        #expect(rig.waitingCount == 0)
    }
}
