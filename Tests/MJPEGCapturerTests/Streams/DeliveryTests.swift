import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct DeliveryTests {
    private func play(
        _ server: QuirkServer, _ wants: CaptureWants = CaptureWants(), pixelFormat: PixelFormat = .nv12,
        clock: any CaptureClock = MonotonicClock(),
        _ body: (MJPEGCapturer, RecordingConsumer) throws -> Void
    ) throws {
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(
            url: server.url, configuration: .test { $0.pixelFormat = pixelFormat }, clock: clock)
        capture.videoCaptureConsumer = consumer
        capture.adapt(to: wants)
        try capture.play()
        #expect(consumer.waitForFrames(3))
        try body(capture, consumer)
        capture.releaseCapture()
    }

    private let usual = { QuirkServer { _, connection in stream(to: connection) } }

    @Test(arguments: [PixelFormat.nv12, .i420])
    func decodesAndCarriesTheJPEG(_ format: PixelFormat) throws {
        try play(usual(), pixelFormat: format, clock: VirtualClock()) { capture, consumer in
            let frame = try #require(consumer.frames.first)
            #expect(frame.pixelFormat == format && frame.width == 19 && frame.height == 9)
            #expect(frame.color == .jpeg)
            #expect(frame.jpegBytes == picture(0))
            let luma = frame.buffer.withRow(8, ofPlane: 0) { [$0[0], $0[18]] }
            #expect(abs(Int(luma[0]) - 60) < 6 && abs(Int(luma[1]) - 200) < 6)
            #expect(capture.captureSettings().format.imageWidth == 19)
            #expect(capture.videoContentHint == .motion)
        }
    }

    @Test func decodesNothingWhereJPEGIsEnough() throws {
        try play(usual(), CaptureWants(acceptsCompressed: true), clock: VirtualClock()) { capture, consumer in
            #expect(
                consumer.frames.allSatisfy { $0.pixelFormat == .mjpeg && $0.compressed == nil && $0.color == .jpeg })
            #expect(consumer.frames.first?.jpegBytes == picture(0))
            #expect(capture.captureSettings().format.pixelFormat == .mjpeg)
            // The first, to see that it can be.
            #expect(capture.streamStatistics.framesDecoded == 1)
            capture.adapt(to: CaptureWants())
            #expect(eventually { consumer.frames.last?.pixelFormat == .nv12 })
        }
    }

    @Test func scalesToWhatIsWanted() throws {
        try play(usual(), CaptureWants(maximumPixelCount: 50, sizeAlignment: 2), clock: VirtualClock()) {
            capture, consumer in
            #expect(consumer.frames.allSatisfy { $0.width * $0.height <= 50 && $0.width % 2 == 0 && $0.color == .jpeg })
            #expect(consumer.frames.first?.jpegBytes == picture(0))
        }
    }

    @Test func leavesOutWhatComesTooOften() throws {
        try play(usual(), CaptureWants(maximumFrameRate: 20)) { capture, consumer in
            #expect(eventually { capture.streamStatistics.framesDecimated > 5 })
            #expect(capture.statistics.framesDropped.total == 0)
        }
    }

    /// As an encoder that was idle wants it when somebody comes.
    @Test func aHigherRateDoesNotWaitForTheNextFrameOfALowOne() throws {
        try play(usual()) { capture, consumer in
            capture.adapt(to: CaptureWants(maximumFrameRate: FrameRate(1, per: 3600)))
            #expect(eventually { capture.streamStatistics.framesDecimated > 3 })
            capture.adapt(to: CaptureWants())
            let count = consumer.frames.count
            #expect(consumer.waitForFrames(count + 3))
        }
    }

    /// Each frame is delivered before anything follows it.
    @Test func deliversBeforeTheNextBegins() throws {
        let taken = Locked(-1)
        let server = QuirkServer { _, connection in
            connection.write(streamHead)
            for number in 0..<20 {
                let jpeg = picture(number)
                connection.write("--frame\r\n\(number % 2 == 0 ? "" : "Content-Length: \(jpeg.count)\r\n")\r\n")
                connection.write(jpeg)
                guard number > 0 else { continue }
                let end = MonotonicClock().now.advanced(by: .seconds(60))
                guard taken.wait(until: end, for: { $0 >= number ? () : nil }) != nil else { return }
            }
            connection.awaitEnd()
        }
        defer { server.stop() }
        final class Taker: VideoCaptureConsumer {
            let taken: Locked<Int>
            init(_ taken: Locked<Int>) { self.taken = taken }
            func consumeFrame(_ frame: VideoFrame) {
                taken.withLock { $0 = frame.number ?? -2 }
                taken.wakeAll()
            }
        }
        let taker = Taker(taken)
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        capture.videoCaptureConsumer = taker
        try capture.play()
        let end = MonotonicClock().now.advanced(by: .seconds(60))
        #expect(taken.wait(until: end) { $0 == 19 ? () : nil } != nil)
        capture.releaseCapture()
    }

    /// A consumer that is late now and then loses nothing; one that is too slow for good gets new pictures, and the
    /// old ones are counted.
    @Test func keepsUpWithASlowConsumer() throws {
        let sent = Locked(0)
        let server = QuirkServer { _, connection in
            connection.setSendBuffer(64 * 1024)
            guard connection.write(streamHead) else { return }
            for number in 0... {
                guard connection.write(part(number, padding: 5000)) else { return }
                sent.withLock { $0 = number }
                usleep(10_000)
            }
        }
        defer { server.stop() }
        let consumer = SlowConsumer(delay: .milliseconds(400))
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(5))
        let recorder = RecordingConsumer()
        capture.videoCaptureConsumer = recorder
        #expect(recorder.waitForFrames(20))
        let frames = recorder.frames
        try capture.stop()
        let (seen, own) = (capture.statistics, capture.streamStatistics)
        capture.releaseCapture()
        // The stop may have overtaken the last frame, with what was left out before it.
        #expect(seen.framesDropped.source > 10 && seen.framesDropped.source <= own.framesSkipped)
        // All that were left out have a number.
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            #expect(later.sequenceNumber - earlier.sequenceNumber == UInt64(later.number! - earlier.number!))
            #expect(later.timestamp > earlier.timestamp)
        }
    }

    /// The server's wall-clock time tells the delay, since both are on one machine.
    @Test func measuresTheDelayOnOneMachine() throws {
        let server = QuirkServer { _, connection in
            connection.write(streamHead)
            for number in 0... {
                var now = timespec()
                clock_gettime(CLOCK_REALTIME, &now)
                let jpeg = picture(number)
                // Half a second ago.
                let time = Double(now.tv_sec) + Double(now.tv_nsec) / 1e9 - 0.5
                guard connection.write("--frame\r\nX-Timestamp: \(time)\r\n\r\n"), connection.write(jpeg) else {
                    return
                }
                usleep(5000)
            }
        }
        try play(server) { capture, consumer in
            let delays = consumer.frames.compactMap(\.estimatedCaptureDelay)
            #expect(delays.count == consumer.frames.count)
            #expect(delays.allSatisfy { $0 >= .milliseconds(500) && $0 < .seconds(10) })
            #expect((capture.streamStatistics.serverTime ?? .zero) > .seconds(1_000_000_000))
        }
    }

    @Test func asksForPictureAfterPicture() throws {
        let server = QuirkServer { request, connection in
            let jpeg = picture(request.index)
            connection.isKept = true
            connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/jpg\r\nContent-Length: \(jpeg.count)\r\n\r\n")
            connection.write(jpeg)
        }
        try play(server) { capture, consumer in
            #expect(consumer.waitForFrames(20))
            #expect(consumer.frames.prefix(20).map(\.number) == Array(0..<20))
            #expect(capture.streamStatistics.polls >= 19)
            // Over the same connection, from the second on.
            #expect(server.accepted == 2)
            #expect(capture.streamStatistics.connections == 1)
            // The wait for the next one ends when more are wanted.
            capture.adapt(to: CaptureWants(maximumFrameRate: FrameRate(1, per: 3600)))
            usleep(100_000)
            let count = consumer.frames.count
            capture.adapt(to: CaptureWants())
            #expect(consumer.waitForFrames(count + 3))
        }
    }

    /// Without a length, and with pictures that are cut off now and then.
    @Test func asksForPicturesThatTheEndEnds() throws {
        let server = QuirkServer { request, connection in
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: image/jpeg\r\n\r\n")
            connection.write(request.index % 3 == 1 ? picture(0).dropLast(9) : picture(request.index))
        }
        try play(server) { capture, consumer in
            #expect(consumer.waitForFrames(6))
            #expect(consumer.frames.prefix(6).map(\.number) == [0, 2, 3, 5, 6, 8])
            #expect(consumer.frames.prefix(6).map(\.sequenceNumber) == [0, 2, 3, 5, 6, 8])
            #expect(capture.statistics.interruptions == 0)
        }
    }

    @Test func followsRedirectsAndNewSizes() throws {
        let server = QuirkServer { request, connection in
            guard request.path != "/stream" else {
                connection.isKept = true
                connection.write(
                    "HTTP/1.1 301 Moved\r\nLocation: /other\r\nContent-Length: 5\r\nConnection: close\r\n\r\nmoved")
                return
            }
            connection.write(streamHead)
            connection.write(part(0) + part(1))
            let other = TestJPEG.grey.bytes
            // Its height is in the frame header.
            var lower = other
            let header = other.indices.first { other[$0] == 0xFF && other[$0 + 1] == 0xC0 }!
            lower[header + 6] = 7
            while connection.write(Array(Quirk.usual()(0, lower).utf8) + lower) { usleep(5000) }
        }
        try play(server, clock: VirtualClock()) { capture, consumer in
            #expect(server.requests.map(\.path) == ["/stream", "/other"])
            #expect(consumer.waitForFrames(4))
            #expect(consumer.frames.prefix(4).map(\.height) == [9, 9, 7, 7])
            #expect(capture.captureSettings().format.imageHeight == 7)
        }
    }
}
