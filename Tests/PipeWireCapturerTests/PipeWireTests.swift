import CapturerTestKit
import PipeWireCapturer
import PipeWireOutput
import PipeWireSupport
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Our reader and our camera, with a real server between them.
@Suite(.serialized) struct PipeWireTests {
    private func start(_ capture: PipeWireCapturer, _ consumer: any VideoCaptureConsumer) throws {
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
    }

    @Test func picturesAndTimesArriveAsTheyWere() throws {
        let server = try PrivateServer()
        let camera = try NumberedCamera(server.socket)
        defer { camera.stop() }
        try server.waitForCamera()
        let capture = PipeWireCapturer.test(server.socket)
        let consumer = RecordingConsumer(limit: 60)
        try start(capture, consumer)
        #expect(capture.captureSettings().sourceName == "Test camera")
        // More than there are buffers, all of which are kept.
        #expect(consumer.waitForFrames(60))
        capture.releaseCapture()
        let given = Set(camera.timestamps.withLock { $0 })
        let numbers = consumer.frames.map { NumberedCamera.number(of: $0.buffer) }
        #expect(!numbers.contains(nil), "\(numbers)")
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0! <= $1! })
        // The first may be repeated.
        #expect(consumer.frames.count { given.contains($0.timestamp) } > 50)
        let counts = capture.pipeWireStatistics
        #expect(counts.framesLent > 0 && counts.framesConverted > 0, "\(counts)")
    }

    @Test func framesInTheNodesMemoryOutliveTheNode() throws {
        let server = try PrivateServer()
        let camera = try NumberedCamera(server.socket)
        try server.waitForCamera()
        let capture = PipeWireCapturer.test(server.socket)
        let consumer = RecordingConsumer(limit: 5)
        try start(capture, consumer)
        #expect(consumer.waitForFrames(30))
        camera.stop()
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) })
        server.stop()
        capture.releaseCapture()
        #expect(consumer.frames.allSatisfy { NumberedCamera.number(of: $0.buffer) != nil })
    }

    @Test func aNodeAndAServerAreFoundAgain() throws {
        let server = try PrivateServer()
        var camera = try NumberedCamera(server.socket)
        try server.waitForCamera()
        let capture = PipeWireCapturer.test(server.socket)
        defer { capture.releaseCapture() }
        let events = Locked<[PipeWireCapturer.Event]>([])
        capture.setEventHandler { event in events.withLock { $0.append(event) } }
        let consumer = RecordingConsumer()
        try start(capture, consumer)
        #expect(consumer.waitForFrames(5))
        camera.stop()
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) })
        // Of another size.
        camera = try NumberedCamera(server.socket, size: PixelSize(width: 98, height: 50))
        defer { camera.stop() }
        #expect(eventually { consumer.frames.last?.width == 98 })
        #expect(capture.state == .running)
        server.stop()
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) })
        #expect(eventually { camera.camera.statistics.connectionsLost == 1 })
        try server.start()
        consumer.removeAll()
        #expect(consumer.waitForFrames(5))
        #expect(consumer.frames.allSatisfy { NumberedCamera.number(of: $0.buffer) != nil })
        #expect(events.withLock { $0 } == [.nodeLost("Test camera"), .returned, .serverLost, .returned])
        #expect(capture.pipeWireStatistics.reconnects == 2)
    }

    @Test func aCaptureThatDoesNotReconnectEnds() throws {
        let server = try PrivateServer()
        let camera = try NumberedCamera(server.socket)
        try server.waitForCamera()
        let capture = PipeWireCapturer.test(server.socket) { $0.reconnects = false }
        defer { capture.releaseCapture() }
        let consumer = NullConsumer()
        try start(capture, consumer)
        #expect(consumer.waitForFrames(5))
        camera.stop()
        #expect(
            eventually {
                if case .stopped(.deviceLost(let error)) = capture.state { return error.subject == "Test camera" }
                return false
            })
    }

    @Test func aCameraRestsUntilItIsRead() throws {
        let server = try PrivateServer()
        let camera = try NumberedCamera(server.socket)
        defer { camera.stop() }
        let wants = Locked<[CaptureWants]>([])
        camera.camera.connectFeedback(
            CaptureFeedback(onWants: { value in wants.withLock { $0.append(value) } }, onRefresh: {}))
        try server.waitForCamera()
        #expect(wants.withLock { $0.last?.maximumFrameRate } == FrameRate(1, per: 4))
        #expect(camera.camera.statistics.framesSent == 0)
        let capture = PipeWireCapturer.test(server.socket)
        let consumer = NullConsumer()
        try start(capture, consumer)
        #expect(consumer.waitForFrames(5))
        #expect(camera.camera.statistics.isRead)
        #expect(wants.withLock { $0.last?.maximumFrameRate } == .some(nil))
        try capture.stopCapture()
        #expect(eventually { wants.withLock { $0.last?.maximumFrameRate } == FrameRate(1, per: 4) })
        #expect(!camera.camera.statistics.isRead)
        // A start begins again.
        let count = consumer.count
        try capture.startCapture()
        #expect(consumer.waitForFrames(count + 5))
        capture.releaseCapture()
    }

    /// The picture does not change; readers still get frames.
    @Test func aStillPictureIsRepeated() throws {
        let server = try PrivateServer()
        let camera = PipeWireCamera(.init(name: "Test camera", server: server.socket))
        try camera.open()
        defer { camera.close() }
        camera.consumeFrame(
            VideoFrame(
                buffer: try NumberedCamera.picture(7, PixelSize(width: 64, height: 48)), timestamp: MonotonicClock().now
            ))
        try server.waitForCamera()
        let capture = PipeWireCapturer.test(server.socket)
        defer { capture.releaseCapture() }
        let consumer = RecordingConsumer()
        try start(capture, consumer)
        #expect(consumer.waitForFrames(4))
        #expect(consumer.frames.allSatisfy { NumberedCamera.number(of: $0.buffer) == 7 })
        #expect(camera.statistics.framesRepeated >= 3)
    }

    @Test func refusals() throws {
        let unreachable = PipeWireCapturer(.init(server: "/nowhere/pipewire-0"))
        #expect(throws: CaptureError.self) { try unreachable.initCapture() }
        #expect(code { try unreachable.initCapture() } == .unavailable)
        #expect(code { try PipeWireCamera(.init(server: "/nowhere/pipewire-0")).open() } == .unavailable)
        let server = try PrivateServer()
        let missing = PipeWireCapturer.test(server.socket, node: "no such node")
        #expect(code { try missing.initCapture() } == .deviceNotFound)
        let strange = PipeWireCapturer.test(server.socket) { $0.pixelFormat = .yuy2 }
        #expect(code { try strange.initCapture() } == .formatUnsupported)
        let camera = PipeWireCamera(.init(server: server.socket))
        try camera.open()
        #expect(code { try camera.open() } == .invalidState)
        camera.close()
        try camera.open()
        camera.close()
    }

    @Test func keepsTheContract() async throws {
        let server = try PrivateServer()
        let camera = try NumberedCamera(server.socket)
        defer { camera.stop() }
        try server.waitForCamera()
        let socket = server.socket
        let report = await ConformanceSuite(name: "pipewire", stopDeadline: .seconds(10)) {
            PipeWireCapturer.test(socket)
        }.runDetached()
        server.stop()
        #expect(report.failures.isEmpty, "\(report)")
    }
}

/// A library whose configuration lacks the module of streams, as after an installation in parts.
@Suite struct RefusedStreamTests {
    @Test func anErrorSaysSo() throws {
        let server = try PrivateServer()
        let working = try NumberedCamera(server.socket)
        defer { working.stop() }
        try server.waitForCamera()
        let folder = TemporaryFolder()
        let configuration = """
            context.spa-libs = { support.* = support/libspa-support }
            context.modules = [ { name = libpipewire-module-protocol-native } ]
            """
        try folder.write(Array(configuration.utf8), to: "client.conf")
        setenv("PIPEWIRE_CONFIG_DIR", folder.path, 1)
        #expect(code { try PipeWireCapturer.test(server.socket).initCapture() } == .system)
        let camera = PipeWireCamera(.init(name: "Refused", server: server.socket))
        let warnings = Locked<[String]>([])
        camera.setWarningHandler { text in warnings.withLock { $0.append(text) } }
        try camera.open()
        defer { camera.close() }
        camera.consumeFrame(
            VideoFrame(
                buffer: try NumberedCamera.picture(1, PixelSize(width: 64, height: 48)), timestamp: MonotonicClock().now
            ))
        #expect(eventually { warnings.withLock { $0.contains { $0.contains("PipeWire refuses the stream") } } })
    }
}

private func code(_ body: () throws -> Void) -> CaptureErrorCode? {
    do { try body() } catch let error as CaptureError { return error.code } catch {}
    return nil
}
