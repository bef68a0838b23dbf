import CapturerTestKit
import Testing
import VideoCapturing

@testable import StillCapture

/// What stills ask of a capture: nothing, unless a request does.
@Suite struct WantsTests {
    /// A source that keeps what it was asked for.
    private struct AskedSource: FrameSource {
        let settings = CaptureSettings(format: VideoFormat(.nv12, width: 16, height: 8, estimatedFramesPerSecond: 200))
        let asked: Locked<[CaptureWants]>

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            try context.makeFrame(settings.format) { $0.fill(plane: 0, with: 1) }
        }

        mutating func adapt(to wants: CaptureWants) {
            asked.withLock { $0.append(wants) }
            asked.wakeAll()
        }
    }

    private let few = CaptureWants(maximumPixelCount: 64, maximumFrameRate: 50)

    @Test func aPassiveConsumerDecidesNothing() {
        let passive = CaptureWants.passive
        #expect(passive.merged(with: few) == few && few.merged(with: passive) == few)
        let blind = CaptureWants(maximumFrameRate: 1, acceptsBlack: true)
        #expect(blind.merged(with: passive).acceptsBlack)
        // Alone it takes all, and no black.
        let both = passive.merged(with: passive)
        #expect(both == passive && both.maximumPixelCount == nil && both.acceptsCompressed && !both.acceptsBlack)
    }

    @Test func wantsAreRaisedForARequestAndLoweredAgain() async throws {
        let asked = Locked<[CaptureWants]>([])
        let publisher = VideoPublisher(SourceCapturer(AskedSource(asked: asked)))
        let place = try publisher.add(NullConsumer(), name: "encoder")
        place.updateWants(few)
        let stills = StillCapture()
        try stills.attach(to: publisher)
        try publisher.start()
        _ = try await stills.capture()
        let passive = try await stills.capture()
        #expect(asked.withLock { $0.allSatisfy { $0.maximumPixelCount == 64 } })
        let still = try await stills.capture(Still.Settings(wants: CaptureWants()))
        // The frame is one of after the capture has been told.
        #expect(still.offset > .zero && still.sequenceNumber > passive.sequenceNumber)
        #expect(asked.withLock { $0.contains { $0.maximumPixelCount == nil && $0.maximumFrameRate == nil } })
        #expect(await eventually { asked.withLock { $0.last?.maximumPixelCount == 64 } })
        // A burst holds them until it is over.
        var reader = BurstReader(stills.burst(count: 5, settings: Still.Settings(wants: CaptureWants())))
        #expect(try await reader.stills(5).map(\.number) == [1, 2, 3, 4, 5])
        #expect(try await reader.summary().captured == 5)
        #expect(await eventually { asked.withLock { $0.last?.maximumPixelCount == 64 } })
        publisher.close()
    }
}
