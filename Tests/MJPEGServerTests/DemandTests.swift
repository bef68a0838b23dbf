import FrameProcessing
import JPEGCodec
import MJPEGServer
import NoiseCapturer
import Testing
import VideoCapturing

@Suite struct DemandTests {
    @Test func nothingIsEncodedWhileNobodyWatches() throws {
        let test = try TestServer()
        for _ in 0..<20 { test.server.consumeFrame(try rawFrame()) }
        #expect(test.statistics.framesCaptured == 20)
        #expect(test.statistics.framesEncoded == 0)

        #expect(try Client.fetch("/snapshot", port: test.port).status == 200)
        #expect(test.statistics.framesEncoded == 1)
        // The same frame needn't be encoded again.
        #expect(try Client.fetch("/snapshot", port: test.port).status == 200)
        #expect(test.statistics.framesEncoded == 1)

        do {
            let reader = try StreamReader(test.port)
            _ = try reader.next()
            test.server.consumeFrame(try rawFrame())
            _ = try reader.next()
            #expect(test.statistics.framesEncoded == 2)
        }
        #expect(test.hasViewers(0))
        for _ in 0..<20 { test.server.consumeFrame(try rawFrame()) }
        #expect(test.statistics.framesEncoded == 2)
    }

    /// On the capture's thread only what takes no time.
    @Test func onlyWhatMustBeEncodedNeedsTheQueue() throws {
        let test = try TestServer { $0.repeatInterval = nil }
        #expect(test.server.consumeInline(try rawFrame()))
        #expect(test.server.consumeInline(try jpegFrame(1)))
        let reader = try StreamReader(test.port)
        #expect(try reader.next().number == 1)
        #expect(!test.server.consumeInline(try rawFrame()))
        #expect(test.server.consumeInline(try jpegFrame(2)))
        #expect(try reader.next().number == 2)
        var turned = try jpegFrame(3)
        turned.orientation = .left
        #expect(!test.server.consumeInline(turned))
        // What is refused has left no trace.
        #expect(test.statistics.framesCaptured == 3)
        #expect(test.statistics.framesEncoded == 0)
    }

    @Test func eachFrameIsEncodedOnceForAll() throws {
        let test = try TestServer { $0.repeatInterval = nil }
        let readers = try (0..<5).map { _ in try StreamReader(test.port) }
        #expect(test.hasViewers(5))
        for number in 0..<4 {
            test.server.consumeFrame(try rawFrame(brightness: UInt8(number * 20)))
            var pictures: Set<[UInt8]> = []
            for reader in readers {
                var part = try reader.next()
                // The placeholder before the first frame is larger.
                while try JPEGHeader(part.jpeg).width != 32 { part = try reader.next() }
                pictures.insert(part.jpeg)
            }
            #expect(pictures.count == 1)
        }
        #expect(test.statistics.framesEncoded == 4)
    }

    @Test(arguments: PixelFormat.allCases.filter { !$0.isCompressed })
    func everyFormatIsShown(_ format: PixelFormat) throws {
        let test = try TestServer()
        test.server.consumeFrame(try rawFrame(format))
        let answer = try Client.fetch("/snapshot", port: test.port)
        #expect(answer.status == 200)
        let picture = try answer.body.withUnsafeBytes { try JPEGDecoder().decode($0) }
        #expect(picture.width == 32 && picture.height == 16)
        let luma = picture.withRow(8, ofPlane: 0) { Array($0) }
        #expect(luma[28] > luma[4])
    }

    /// JPEG is of BT.601: what a grabber of HDMI gives is converted, in whatever format it is.
    @Test(arguments: [PixelFormat.nv12, .yuy2, .uyvy])
    func picturesOfBT709AreConverted(_ format: PixelFormat) throws {
        var frame = try rawFrame(format)
        frame.color = .bt709
        #expect(!JPEGEncoder.canEncode(frame))
        let test = try TestServer()
        test.server.consumeFrame(frame)
        let served = try Client.fetch("/snapshot", port: test.port).body
        let converted = try FrameProcessor().convert(frame, to: .i420, color: .jpeg)
        var expected: [UInt8] = []
        try JPEGEncoder(quality: MJPEGServer.Configuration().quality).encode(converted) { packet in
            expected = packet.data.withUnsafeBytes { Array($0) }
        }
        #expect(served == expected)
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .yuy2])
    func picturesAreTurnedUpright(_ format: PixelFormat) throws {
        let test = try TestServer()
        var frame = try rawFrame(format)
        frame.orientation = .left
        test.server.consumeFrame(frame)
        let answer = try Client.fetch("/snapshot", port: test.port)
        let header = try JPEGHeader(answer.body)
        #expect(header.width == 16 && header.height == 32)
        #expect(answer.header("x-ustreamer-width") == "16")
    }

    @Test func theJPEGOfAFrameIsPassedOnUntouched() throws {
        let test = try TestServer()
        var frame = try rawFrame()
        frame.compressed = try jpegFrame(3).buffer
        test.server.consumeFrame(frame)
        #expect(try Client.fetch("/snapshot", port: test.port).body == numberedJPEG(3))
        #expect(test.statistics.framesPassedThrough == 1)
        #expect(test.statistics.framesEncoded == 0)
    }

    @Test func theSourceIsAskedForLessWhileNobodyWatches() throws {
        let log = Locked<[CaptureWants]>([])
        let test = try TestServer { configuration in
            configuration.idleDelay = .milliseconds(50)
            configuration.maximumFrameRate = FrameRate(25, per: 1)
        }
        let refreshes = Locked(0)
        test.server.connectFeedback(
            CaptureFeedback(
                onWants: { wants in log.withLock { $0.append(wants) } }, onRefresh: { refreshes.withLock { $0 += 1 } }))
        func last() -> CaptureWants? { log.withLock { $0.last } }
        #expect(eventually { last()?.maximumFrameRate == FrameRate(1, per: 1) })
        #expect(last()?.acceptsCompressed == true)
        #expect(last()?.acceptsNativeFormat == true)
        do {
            let reader = try StreamReader(test.port)
            #expect(eventually { last()?.maximumFrameRate == FrameRate(25, per: 1) })
            #expect(eventually { refreshes.withLock { $0 } == 1 })
            withExtendedLifetime(reader) {}
        }
        #expect(eventually { last()?.maximumFrameRate == FrameRate(1, per: 1) })
        // Told once each, not again and again.
        #expect(log.withLock { $0.count } <= 5)
    }

    /// A server without viewers slows its own capture down, but no recording of it.
    @Test func anIdleServerSlowsNoRecordingDown() throws {
        final class Recording: VideoCaptureConsumer {
            func consumeFrame(_ frame: VideoFrame) {}
        }
        let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 16, height: 16), frameRate: 50))
        let test = try TestServer { $0.idleDelay = .milliseconds(20) }
        try test.server.attach(to: publisher)
        try publisher.start()
        defer { publisher.close() }
        func rate() -> FrameRate? { publisher.capture.statistics.requestedFrameRate }
        #expect(eventually { rate() == 1 })
        let recording = try publisher.add(Recording())
        #expect(eventually { rate() == 50 })
        publisher.remove(recording)
        #expect(eventually { rate() == 1 })
    }

    @Test func aPublishersCaptureIsShown() throws {
        let capture = PushCapturer(format: VideoFormat(.mjpeg, width: 19, height: 9))
        let publisher = VideoPublisher(capture)
        let test = try TestServer()
        let place = try test.server.attach(to: publisher)
        try publisher.start()
        let reader = try StreamReader(test.port)
        var number = 0
        var shown: Int?
        while shown == nil {
            number += 1
            #expect(capture.push(try jpegFrame(number).buffer))
            shown = try reader.next().number
        }
        // Counted when the server has come back, which a viewer can be ahead of.
        #expect(eventually { place.statistics.delivered > 0 })
        publisher.close()
    }
}

extension JPEGHeader {
    init(_ bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { bytes throws(CodecError) in try JPEGHeader(bytes) }
    }
}
