import CapturerTestKit
import StreamCapturer
import TestTools
import Testing
import VideoCapturing

/// No sender takes much memory, or keeps a capture from stopping.
@Suite(.serialized) struct HostileSenderTests {
    @Test(arguments: HostileStream.allCases) func memoryAndStop(_ stream: HostileStream) {
        let sender = TestSender { connection in
            var index = 0
            while connection.write(stream.piece(index)) { index += 1 }
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url)
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        let hasFailed = Locked(false)
        resetPeakMemory()
        let before = peakMemory()
        startThread {
            do {
                try capture.initCapture()
                try capture.startCapture()
            } catch {
                hasFailed.withLock { $0 = true }
            }
        }
        let isVideo = stream == .skippedPictures || stream == .heldPictures
        #expect(
            eventually {
                let statistics = capture.streamStatistics
                let hasEnough = statistics.bytesReceived > 200_000 || statistics.picturesReceived > 40
                return isVideo ? consumer.count > 30 : hasEnough || hasFailed.withLock { $0 }
            })
        let stop = Stopwatch.time { capture.releaseCapture() }
        #expect(stop < .seconds(1), "\(stop)")
        #expect(peakMemory() - before < 200 << 20, "\((peakMemory() - before) >> 20) MB")
    }

    /// What strangers send to a port at which a capture waits for its sender ends nothing.
    @Test func strangersEndNothing() throws {
        let stream = try Stream.standard.get()
        let capture = StreamCapturer.test("tcp://127.0.0.1:0?listen")
        defer { capture.releaseCapture() }
        let events = EventLog()
        capture.setEventHandler { events.add($0) }
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        let isOpen = Locked(false)
        startThread {
            guard (try? capture.initCapture()) != nil, (try? capture.startCapture()) != nil else { return }
            isOpen.withLock { $0 = true }
        }
        #expect(eventually { capture.port != nil })
        let strangers = [
            Array("GET / HTTP/1.1\r\n\r\n".utf8), [], [0, 0, 0, 1, 0x40, 1, 0x0C, 1], [0x7F, 0xFF, 0xFF, 0xFF, 0x67],
            HostileStream.noise.piece(0), Array(stream.bytes.prefix(50)),
        ]
        for stranger in strangers {
            let connection = try SenderConnection(port: capture.port)
            connection.write(stranger)
            connection.hangUp()
            connection.awaitEnd()
        }
        let sender = try SenderConnection(port: capture.port)
        sender.write(stream.bytes)
        sender.hangUp()
        #expect(consumer.waitForFrames(60))
        let reasons = events.all.compactMap { event -> String? in
            if case .rejected(let reason) = event { return reason }
            return nil
        }
        #expect(reasons.count == strangers.count, "\(reasons)")
        #expect(reasons.contains { $0.contains("The stream is H.265") })
    }
}
