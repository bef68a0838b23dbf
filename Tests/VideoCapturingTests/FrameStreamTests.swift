import CapturerTestKit
import Testing
import VideoCapturing

@Suite struct FrameStreamTests {
    private func push() -> PushCapturer { PushCapturer(format: .i420(width: 16, height: 8), policy: .block) }

    private func picture() throws -> PixelBuffer { try PixelBuffer.black(.i420, width: 16, height: 8, color: .bt601) }

    @Test func givesFramesInOrderAndEndsWithTheCapture() async throws {
        let capture = push()
        let publisher = VideoPublisher(capture)
        let frames = publisher.frames(bufferingNewest: 100)
        try publisher.start()
        for _ in 0..<10 { capture.push(try picture()) }
        capture.finish()
        var numbers: [UInt64] = []
        for await frame in frames { numbers.append(frame.sequenceNumber) }
        #expect(numbers == Array(0..<10))
        publisher.close()
    }

    @Test func keepsTheNewestOfAReaderThatIsLate() async throws {
        let capture = push()
        let publisher = VideoPublisher(capture)
        let frames = publisher.frames(bufferingNewest: 3)
        let witness = RecordingConsumer()
        try publisher.add(witness, queue: .init(capacity: 4, policy: .block))
        try publisher.start()
        for _ in 0..<10 { capture.push(try picture()) }
        #expect(witness.waitForFrames(10, timeout: .seconds(60)))
        publisher.close()
        var numbers: [UInt64] = []
        for await frame in frames { numbers.append(frame.sequenceNumber) }
        #expect(numbers == [7, 8, 9])
    }

    @Test func endsWhenThePublisherIsClosed() async throws {
        let publisher = VideoPublisher(push())
        let frames = publisher.frames()
        try publisher.start()
        let reader = Task {
            var count = 0
            for await _ in frames { count += 1 }
            return count
        }
        publisher.close()
        #expect(await reader.value == 0)
    }

    @Test func goesOnOverAStopAndAReplacement() async throws {
        let (first, second) = (push(), push())
        let publisher = VideoPublisher(first)
        let frames = publisher.frames(bufferingNewest: 100)
        // A stop discards what was pushed and is not taken yet.
        let witness = RecordingConsumer()
        try publisher.add(witness)
        try publisher.start()
        first.push(try picture())
        #expect(witness.waitForFrames(1))
        try publisher.stop()
        try publisher.start()
        first.push(try picture())
        #expect(witness.waitForFrames(2))
        let replacement = Task.detached { try publisher.replaceCapture(with: second, timeout: .seconds(60)) }
        // It takes over with its first frame.
        while !second.push(try picture()) { await Task.yield() }
        try await replacement.value
        second.finish()
        var numbers: [UInt64] = []
        for await frame in frames { numbers.append(frame.sequenceNumber) }
        #expect(numbers.count >= 3 && numbers == numbers.sorted())
        publisher.close()
    }

    @Test func leavingTheLoopRemovesTheConsumer() async throws {
        let capture = push()
        let publisher = VideoPublisher(capture)
        try publisher.start()
        let frames = publisher.frames(name: "loop")
        #expect(publisher.statistics.consumers.map(\.name) == ["loop"])
        let reader = Task { for await _ in frames { break } }
        capture.push(try picture())
        await reader.value
        let canceled = Task { for await _ in publisher.frames(name: "cancelled") {} }
        canceled.cancel()
        await canceled.value
        publisher.close()
    }
}
