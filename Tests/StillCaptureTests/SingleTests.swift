import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

/// Single stills: which frame, when, and what is refused.
@Suite struct SingleTests {
    @Test func theFrameOfTheMomentIsTaken() async throws {
        let rig = Rig()
        try rig.feed()
        let frame = try rig.feed()
        let still = try await rig.stills.capture()
        #expect(still.timestamp == frame.timestamp && still.sequenceNumber == frame.sequenceNumber)
        #expect(still.offset == .zero && still.number == 1)
        #expect(still.size == PixelSize(width: 16, height: 8) && still.format == .jpeg)
        #expect(rig.outstandingCount == 0)
    }

    @Test func aFrameFromBeforeIsTakenWhereItIsNearer() async throws {
        let rig = Rig()
        let earlier = try rig.feed()
        rig.clock.advance(by: .milliseconds(10))
        let request = await rig.begin()
        try rig.feed(after: .milliseconds(30))
        let still = try await request.value
        #expect(still.timestamp == earlier.timestamp && still.offset == .milliseconds(-10))
    }

    @Test func aFrameFromAfterIsTakenWhereItIsNearer() async throws {
        let rig = Rig()
        try rig.feed()
        rig.clock.advance(by: .milliseconds(30))
        let request = await rig.begin()
        let later = try rig.feed(after: .milliseconds(10))
        let still = try await request.value
        #expect(still.timestamp == later.timestamp && still.offset == .milliseconds(10))
    }

    /// Once no frame to come can be nearer, the one that is there is taken.
    @Test func aSourceThatStandsStillIsNotWaitedFor() async throws {
        let rig = Rig()
        let frame = try rig.feed()
        rig.clock.advance(by: .seconds(60))
        let request = await rig.begin()
        rig.settle()
        // The longest interval, at 25 frames per second.
        rig.clock.advance(by: .milliseconds(40))
        let still = try await request.value
        #expect(still.timestamp == frame.timestamp && still.offset == .seconds(-60))
    }

    @Test func framesFromBeforeCanBeRefused() async throws {
        let rig = Rig()
        try rig.feed()
        rig.clock.advance(by: .milliseconds(1))
        let request = await rig.begin(Still.Settings(allowsEarlierFrames: false))
        rig.settle()
        let later = try rig.feed()
        #expect(try await request.value.timestamp == later.timestamp)
    }

    @Test func framesCanBePassedOver() async throws {
        let rig = Rig()
        try rig.feed()
        let request = await rig.begin(Still.Settings(skippedFrames: 2))
        rig.settle()
        try rig.feed()
        try rig.feed(after: .milliseconds(1))
        let third = try rig.feed()
        let still = try await request.value
        #expect(still.timestamp == third.timestamp && still.offset == .milliseconds(81))
    }

    /// For who encodes it themselves, such as a server that has encoded it already.
    @Test func theFrameItself() async throws {
        let rig = Rig()
        try rig.feed()
        let frame = try rig.feed()
        let taken = try await rig.stills.frame()
        #expect(taken.timestamp == frame.timestamp && taken.buffer === frame.buffer)
        #expect(rig.outstandingCount == 0)
        rig.stills.interrupt(.interrupted(.noSignal))
        let request = Task { try await rig.stills.frame(Still.Settings(timeout: .seconds(1))) }
        #expect(await eventually { rig.waitingCount == 1 })
        rig.settle()
        rig.clock.advance(by: .seconds(2))
        await #expect { try await request.value } throws: { isError(.timedOut, $0) }
    }

    @Test func aRepeatIsNoOtherFrame() async throws {
        let rig = Rig()
        let frame = try rig.feed()
        rig.clock.advance(by: .milliseconds(30))
        try rig.feed(flatPicture(99), isRepeat: true)
        rig.clock.advance(by: .milliseconds(1))
        let request = await rig.begin()
        rig.settle()
        rig.clock.advance(by: .milliseconds(40))
        #expect(try await request.value.timestamp == frame.timestamp)
    }

    @Test func theEleventhIsRefused() async throws {
        let rig = Rig()
        var requests: [Task<Still, any Error>] = []
        for _ in 0..<10 { requests.append(await rig.begin()) }
        await #expect { try await rig.stills.capture() } throws: { isError(.tooManyRequests, $0) }
        try rig.feed()
        var identifiers: Set<UInt64> = []
        for request in requests { identifiers.insert(try await request.value.id) }
        #expect(identifiers.count == 10)
        // There is room again.
        #expect(try await !rig.stills.capture().bytes.isEmpty)
    }

    @Test func theLimitIsConfigurable() async throws {
        let rig = Rig(StillCapture.Configuration(outstandingLimit: 1))
        let request = await rig.begin()
        await #expect { try await rig.stills.capture() } throws: { isError(.tooManyRequests, $0) }
        try rig.feed()
        _ = try await request.value
    }

    @Test func waitingEnds() async throws {
        let rig = Rig()
        let request = await rig.begin(Still.Settings(timeout: .seconds(3)))
        rig.settle()
        rig.clock.advance(by: .seconds(2))
        let second = await rig.begin(Still.Settings(timeout: .seconds(60)))
        rig.clock.advance(by: .seconds(1))
        await #expect { try await request.value } throws: { isError(.timedOut, $0) && "\($0)".contains("3") }
        try rig.feed()
        _ = try await second.value
    }

    @Test func cancellationEndsARequest() async throws {
        let rig = Rig()
        let request = await rig.begin()
        let other = await rig.begin()
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        #expect(rig.outstandingCount == 1)
        try rig.feed()
        _ = try await other.value
        // Also one that was cancelled before it began.
        let dead = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await rig.stills.capture(Still.Settings(allowsEarlierFrames: false))
        }
        await #expect(throws: CancellationError.self) { try await dead.value }
        #expect(rig.outstandingCount == 0)
    }

    @Test func aDamagedFrameIsAnError() async throws {
        let rig = Rig()
        try rig.feedDamage()
        await #expect { try await rig.stills.capture() } throws: { isError(.corruptFrame, $0) }
        #expect(rig.outstandingCount == 0)
    }

    @Test(arguments: [
        Still.Settings(quality: 0), Still.Settings(quality: 101), Still.Settings(quality: 50, minimumQuality: 51),
        Still.Settings(minimumQuality: 0), Still.Settings(timeout: .zero),
    ])
    func absurdSettingsAreRefused(settings: Still.Settings) async throws {
        let rig = Rig()
        try rig.feed()
        await #expect { try await rig.stills.capture(settings) } throws: { isError(.invalidConfiguration, $0) }
        await #expect {
            for try await _ in rig.stills.burst(count: 2, settings: settings) {}
        } throws: {
            isError(.invalidConfiguration, $0)
        }
    }

    @Test func theRingIsLimitedByBytes() throws {
        // A frame of 16x8 has 16 rows of 64 bytes at most, with its padding.
        let rig = Rig(StillCapture.Configuration(ringCapacity: 10, ringByteLimit: 3000))
        for _ in 0..<20 { try rig.feed() }
        let (count, bytes) = rig.stills.engine.state.withLock { ($0.ring.count, $0.ring.byteCount) }
        #expect(count >= 2 && count < 10 && bytes <= 3000)
        // One is held whatever it has.
        try rig.feed(width: 640, height: 480)
        #expect(rig.stills.engine.state.withLock { $0.ring.count } == 1)
    }

    /// Frames are held and not copied, and released when others take their places.
    @Test func framesAreHeldNotCopied() async throws {
        let rig = Rig(StillCapture.Configuration(ringCapacity: 3))
        let pool = PixelBufferPool(capacity: 8)
        var buffers: Set<ObjectIdentifier> = []
        for value in 0..<100 {
            rig.clock.advance(by: .milliseconds(40))
            let buffer = try pool.makeBuffer(.nv12, width: 16, height: 8) { $0.fill(plane: 0, with: UInt8(value)) }
            buffers.insert(ObjectIdentifier(buffer))
            try rig.feed(buffer)
        }
        // The ring's three, and the one that takes the place of the oldest.
        #expect(buffers.count == 4)
    }
}
