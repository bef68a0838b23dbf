import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A stop or a release ends every wait at once.
@Suite struct StopTests {
    /// How long something takes.
    private func time(_ body: () throws -> Void) rethrows -> Duration {
        let start = MonotonicClock().now
        try body()
        return MonotonicClock().now - start
    }

    @Test func endsAConnectionThatIsNotMade() throws {
        // A backlog that is full answers no more.
        let listener = try TestListener(backlog: 0)
        let fillers = listener.fill()
        defer {
            for filler in fillers { close(filler) }
            withExtendedLifetime(listener) {}
        }
        let url = "http://127.0.0.1:\(listener.port)/"
        let impatient = failure(
            of: MJPEGCapturer(url: url, configuration: .test { $0.connectTimeout = .milliseconds(300) }))
        #expect(impatient?.code == .stalled)
        #expect(impatient?.message.contains("did not answer") == true)
        expectPromptRelease(MJPEGCapturer(url: url, configuration: .test()))
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", streamHead, streamHead + "--frame\r\nContent-Length: 100\r\n\r\n"])
    func endsAnAnswerThatDoesNotCome(_ head: String) {
        let server = QuirkServer { _, connection in
            connection.write(head)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let impatient = failure(
            of: MJPEGCapturer(url: server.url, configuration: .test { $0.stallTimeout = .milliseconds(300) }))
        #expect(impatient?.code == .stalled)
        expectPromptRelease(MJPEGCapturer(url: server.url, configuration: .test()))
    }

    /// Releases while another thread initializes.
    private func expectPromptRelease(_ capture: MJPEGCapturer) {
        let result = Locked<CaptureError??>(nil)
        let started = EventLog()
        capture.didStartLoading = { started.add("start") }
        startThread {
            var thrown: CaptureError?
            do throws(CaptureError) { try capture.initCapture() } catch { thrown = error }
            result.withLock { $0 = .some(thrown) }
            result.wakeAll()
        }
        #expect(started.await { $0 == "start" })
        usleep(50_000)
        #expect(time { capture.releaseCapture() } < .seconds(5))
        let end = MonotonicClock().now.advanced(by: .seconds(60))
        let thrown = result.wait(until: end) { $0 }
        #expect(thrown??.code == .invalidState)
    }

    @Test func endsASilence() throws {
        let server = QuirkServer { _, connection in
            stream(to: connection, count: 3)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        capture.videoCaptureConsumer = consumer
        for round in 1...3 {
            try capture.play()
            #expect(consumer.waitForFrames(3 * round))
            usleep(20_000)
            #expect(try time { try capture.stop() } < .seconds(5))
        }
        #expect(consumer.frames.map(\.number) == [0, 1, 2, 0, 1, 2, 0, 1, 2])
        #expect(server.requests.count == 3)
        capture.releaseCapture()
    }

    @Test func endsAWaitForAnotherAttempt() throws {
        let server = QuirkServer { _, connection in stream(to: connection, count: 1) }
        defer { server.stop() }
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.reconnect = .every(.seconds(1000)) })
        let log = EventLog()
        capture.setEventHandler { log.add("\($0)") }
        try capture.play()
        #expect(log.await { $0.contains("Trying") })
        #expect(capture.state == .interrupted(.deviceDisconnected))
        #expect(try time { try capture.stop() } < .seconds(5))
        #expect(capture.state == .stopped(.user))
        capture.releaseCapture()
    }

    /// What was opened a while before it is started has old pictures on the way.
    @Test func hangsUpWhenItIsStopped() throws {
        let ended = EventLog()
        let server = QuirkServer { _, connection in
            stream(to: connection)
            ended.add("end")
        }
        defer { server.stop() }
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        try capture.play()
        try capture.stop()
        #expect(ended.await { $0 == "end" })
        capture.releaseCapture()
    }
}
