import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

/// The states a capture goes through, told change by change.
@Suite struct SourceCapturerStateTests {
    private func states(_ changes: [CaptureState.Change]) -> [CaptureState] { changes.map(\.new) }

    @Test func failureToStart() async throws {
        let attempts = Locked(0)
        var source = ScriptedSource()
        source.onStart = { _ in
            if attempts.withLock({
                $0 += 1
                return $0
            }) == 1 {
                throw broken
            }
        }
        let capture = SourceCapturer(source)
        let stream = capture.stateChanges()
        try capture.initCapture()
        #expect(throws: broken) { try capture.startCapture() }
        #expect(capture.state == .stopped(.error(broken)))
        #expect(!capture.isCaptureStarted)
        try capture.startCapture()
        #expect(capture.state == .running)
        #expect(capture.statistics.starts == 1)
        capture.releaseCapture()
        let changes = await changesOfOneLife(stream)
        #expect(
            states(changes) == [
                .initialized, .starting, .stopped(.error(broken)), .starting, .running, .stopping, .stopped(.user),
                .idle,
            ])
        #expect(changes[2].reason == .failure(broken))
        #expect(changes[4].reason == .source)
    }

    @Test func failureToOpen() throws {
        struct Refused: Error {}
        let closes = Locked(0)
        var source = ScriptedSource()
        source.onOpen = { throw Refused() }
        source.onClose = { closes.withLock { $0 += 1 } }
        let capture = SourceCapturer(source)
        for _ in 1...2 {
            do {
                try capture.initCapture()
                Issue.record("it opened")
            } catch {
                #expect(error.code == .system)
                #expect(error.message.contains("Refused"))
            }
            #expect(capture.state == .idle)
        }
        // What was never open is not closed.
        #expect(closes.withLock { $0 } == 0)
    }

    @Test(arguments: [
        (lost, CaptureState.StopReason.deviceLost(lost)), (broken, .error(broken)),
        (CaptureError(.endOfStream, operation: "read", message: "x"), .endOfStream),
    ])
    func failureInMidStream(error: CaptureError, reason: CaptureState.StopReason) async throws {
        let stops = Locked(0)
        var source = ScriptedSource()
        source.onFrame = { _, index, _ in
            if index == 3 { throw error }
            return true
        }
        source.onStop = { stops.withLock { $0 += 1 } }
        let consumer = NullConsumer()
        let capture = SourceCapturer(source)
        capture.videoCaptureConsumer = consumer
        let stream = capture.stateChanges()
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(reason) })
        #expect(consumer.count == 3)
        // The source rests before anyone is told.
        #expect(stops.withLock { $0 } == 1)
        try capture.stopCapture()
        #expect(capture.state == .stopped(reason))
        try capture.startCapture()
        #expect(consumer.waitForFrames(5))
        capture.releaseCapture()
        let expected: [CaptureState] = [
            .initialized, .starting, .running, .stopped(reason), .starting, .running, .stopping, .stopped(.user), .idle,
        ]
        #expect(states(await changesOfOneLife(stream)) == expected)
    }

    @Test func interruptionAndResumption() async throws {
        var source = ScriptedSource()
        source.onFrame = { context, index, _ in
            if index == 2 {
                context.reportInterruption(.noSignal)
                context.reportInterruption(.deviceDisconnected)
            }
            return index < 4
        }
        let capture = SourceCapturer(source)
        let stream = capture.stateChanges()
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        #expect(capture.statistics.interruptions == 1)
        capture.releaseCapture()
        #expect(
            states(await changesOfOneLife(stream)) == [
                .initialized, .starting, .running, .interrupted(.noSignal), .interrupted(.deviceDisconnected), .running,
                .stopped(.endOfStream), .idle,
            ])
    }

    @Test func stopWhileInterrupted() async throws {
        var source = ScriptedSource()
        source.onFrame = { context, _, _ in
            context.reportInterruption(.stalled)
            return context.wait(until: MediaTime(nanoseconds: .max))
        }
        let capture = SourceCapturer(source)
        let stream = capture.stateChanges()
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { capture.state == .interrupted(.stalled) })
        #expect(capture.isCaptureStarted)
        try capture.stopCapture()
        capture.releaseCapture()
        #expect(
            states(await changesOfOneLife(stream)) == [
                .initialized, .starting, .running, .interrupted(.stalled), .stopping, .stopped(.user), .idle,
            ])
    }
}
