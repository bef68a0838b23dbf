import CapturerTestKit
import StreamCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite(.serialized) struct StreamConnectionTests {
    /// Units that were sent without the next one's beginning.
    private func send(_ stream: Stream, _ connection: SenderConnection, delimiter: Bool) {
        let code: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
        if delimiter { connection.write(code) }
        for unit in stream.units {
            // Each only when the one before has been shown; see the consumer.
            guard connection.write(delimiter ? unit + code : unit) else { return }
            usleep(30_000)
        }
        connection.awaitEnd()
    }

    /// Defect of the sample: a picture is shown one late, and the last one never. The sender says where it ends, or
    /// pauses.
    @Test(arguments: [true, false]) func aPictureIsShownWithoutTheNext(_ delimiter: Bool) throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { send(stream, $0, delimiter: delimiter) }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url)
        defer { capture.releaseCapture() }
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        // The connection stays open, and nothing follows the last one.
        #expect(consumer.waitForFrames(60))
        #expect(capture.streamStatistics.framesDamaged == 0)
    }

    /// Defect of the sample: what is left of one connection is taken for the beginning of the next. Each is cut at another
    /// byte, in good order or by a reset.
    @Test func aSenderMayEndAtAnyByte() throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { connection in
            let index = connection.index
            // At least the first picture, and its successor's beginning.
            connection.write(stream.bytes.prefix(stream.units[0].count + 10 + index * 13))
            if index % 2 == 0 {
                usleep(5000)
                connection.hangUp(reset: true)
            }
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url) { $0.reconnectDelays = [.zero] }
        defer { capture.releaseCapture() }
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually(within: .seconds(60)) { capture.streamStatistics.reconnects >= 200 })
        #expect(eventually { openSockets(port: sender.port) <= 6 })
        capture.releaseCapture()
        #expect(eventually { openSockets(port: sender.port) == 1 })
        #expect(capture.statistics.interruptions >= 200)
    }

    /// Defect of the sample: who joins in mid-stream gets garbage, or waits without a word.
    @Test func aStreamJoinedInItsMiddleWaitsForAKeyFrame() throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { connection in
            connection.write(stream.units[4...].flatMap { $0 })
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url)
        defer { capture.releaseCapture() }
        let events = EventLog()
        capture.setEventHandler { events.add($0) }
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(consumer.waitForFrames(50))
        #expect(events.all.contains(.awaitingKeyFrame))
        #expect(capture.streamStatistics.picturesSkipped == 6)
        #expect(
            events.all.contains {
                if case .began(let format, 160, 120) = $0 { return format == "H.264" }
                return false
            })
    }

    /// Senders come and go; the capture waits for the next one, and goes on with it.
    @Test func listens() throws {
        let stream = try Stream.standard.get()
        let capture = StreamCapturer.test("tcp://127.0.0.1:0?listen")
        defer { capture.releaseCapture() }
        let (events, states) = (EventLog(), Locked<[CaptureState]>([]))
        capture.setEventHandler { [unowned capture] event in
            events.add(event)
            states.withLock { $0.append(capture.state) }
        }
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        let opened = Locked<Bool?>(nil)
        startThread {
            let isOpen = (try? capture.initCapture()) != nil
            opened.withLock { $0 = isOpen }
            opened.wakeAll()
        }
        #expect(
            events.await {
                if case .listening = $0 { return true }
                return false
            })
        let port = try #require(capture.port)
        for round in 1...3 {
            let sender = try SenderConnection(port: port)
            sender.write(stream.bytes)
            sender.hangUp()
            if round == 1 {
                #expect(opened.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 } == true)
                try capture.startCapture()
            }
            #expect(consumer.waitForFrames(UInt64(60 * round)))
            #expect(eventually { capture.state == .interrupted(.deviceDisconnected) })
        }
        #expect(capture.streamStatistics.connections == 3 && capture.streamStatistics.reconnects == 2)
        // A stop ends the wait, and a start waits again.
        try capture.stopCapture()
        try capture.startCapture()
        let sender = try SenderConnection(port: port)
        sender.write(stream.bytes)
        sender.hangUp()
        #expect(consumer.waitForFrames(240))
        capture.releaseCapture()
        #expect(capture.port == nil)
        #expect(eventually { openSockets(port: port) <= 1 })
    }

    /// A release ends the wait for the first sender.
    @Test func aReleaseEndsTheWaitForASender() {
        let capture = StreamCapturer.test("tcp://127.0.0.1:0?listen")
        let events = EventLog()
        capture.setEventHandler { events.add($0) }
        let result = Locked<CaptureError??>(nil)
        startThread {
            var thrown: CaptureError?
            do throws(CaptureError) { try capture.initCapture() } catch { thrown = error }
            result.withLock { $0 = .some(thrown) }
            result.wakeAll()
        }
        #expect(
            events.await {
                if case .listening = $0 { return true }
                return false
            })
        capture.releaseCapture()
        let thrown = result.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 }
        #expect(thrown??.code == .invalidState)
    }

    @Test func silenceIsALoss() throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { connection in
            connection.write(stream.bytes)
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url) { $0.stallTimeout = .milliseconds(500) }
        defer { capture.releaseCapture() }
        let consumer = NullConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(consumer.waitForFrames(130))
        #expect(capture.streamStatistics.lastInterruption?.contains("Nothing has come for 0.5 s") == true)
    }

    // MARK: Errors

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", "\u{7F}ELF garbage", "GGGGGG no transport stream",
    ])
    func garbageIsReported(_ text: String) {
        let sender = TestSender { connection in
            connection.write(Array(text.utf8) + [UInt8](repeating: 0x55, count: 1000))
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let error = failure(of: StreamCapturer.test(sender.url))
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("not H.264") == true)
        #expect(eventually { openSockets(port: sender.port) == 1 })
    }

    /// Noise that begins as a stream does never gives a picture.
    @Test(arguments: ["h264", "avcc", "matroska", "mpegts"])
    func noiseIsReported(_ format: String) {
        let sender = TestSender { connection in
            var state: UInt64 = 7
            var noise: [UInt8] = format == "h264" ? [0, 0, 0, 1, 0x67] : []
            while connection.write(noise) {
                noise = (0..<4096).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return UInt8(truncatingIfNeeded: state >> 33)
                }
                usleep(1000)
            }
        }
        defer { sender.stop() }
        let error = failure(
            of: StreamCapturer.test("\(sender.url)?format=\(format)") { $0.stallTimeout = .milliseconds(500) })
        #expect(error != nil && error?.message.isEmpty == false, "\(String(describing: error))")
        #expect(eventually { openSockets(port: sender.port) == 1 })
    }

    @Test func anEmptyConnectionIsReported() {
        let sender = TestSender { _ in }
        defer { sender.stop() }
        let error = failure(of: StreamCapturer.test(sender.url))
        #expect(error?.code == .formatUnsupported && error?.message.contains("without sending") == true)
    }

    @Test func wrongAddressesAreReported() throws {
        let taken = TestSender { _ in }
        defer { taken.stop() }
        let inUse = failure(of: StreamCapturer.test("tcp://127.0.0.1:\(taken.port)?listen"))
        #expect(inUse?.code == .deviceBusy && inUse?.systemError == EADDRINUSE)
        let unknown = failure(of: StreamCapturer.test("tcp://no-such-host.invalid:9000"))
        #expect(unknown?.code == .deviceNotFound)
        let free = TestSender { _ in }
        let port = free.port
        free.stop()
        let refused = failure(of: StreamCapturer.test("tcp://127.0.0.1:\(port)"))
        #expect(refused?.code == .deviceNotFound && refused?.systemError == ECONNREFUSED)
        for url in [
            "tcp://127.0.0.1", "tcp://127.0.0.1:x", "tcp://127.0.0.1:1?lsten", "file:///etc/passwd", "gopher://a",
        ] {
            #expect(failure(of: StreamCapturer.test(url))?.code == .invalidConfiguration, "\(url)")
        }
        let rtsp = failure(of: StreamCapturer.test("rtsp://user:secret@127.0.0.1:\(port)/a"))
        #expect(rtsp?.code == .deviceNotFound && "\(rtsp!)".contains("secret") == false)
    }

    @Test func withoutADecoderItIsReported() throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { connection in
            connection.write(stream.bytes)
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let error = failure(of: StreamCapturer(url: sender.url, decoders: []))
        #expect(error?.code == .formatUnsupported && error?.message.contains("no decoder") == true)
    }
}
