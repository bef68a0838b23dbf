import CapturerTestKit
import IcecastOutput
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

/// What the output does with servers of any kind. A real Icecast is in the end-to-end tests.
@Suite struct IcecastOutputTests {
    static let video = TrackDescription(
        id: 0, codec: .vp8, media: .video(.init(width: 64, height: 48, orientation: .up, frameRate: FrameRate(30))))
    static let continuing = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\n"

    static func packet(_ index: Int, isKeyFrame: Bool? = nil, bytes: Int = 100) -> MediaPacket {
        let data = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: bytes)
        return MediaPacket(
            data: data.withUnsafeBytes { PacketBuffer(copying: $0) },
            timestamp: MediaTime(nanoseconds: 7_000_000_000 + Int64(index) * 33_000_000),
            duration: .milliseconds(33), isKeyFrame: isKeyFrame ?? (index == 0), width: 64, height: 48,
            sequenceNumber: UInt64(index))
    }

    private static func address(_ port: Int, _ more: String = "") -> String {
        "icecast://source:hunter2@127.0.0.1:\(port)/live.webm\(more)"
    }

    private static func captureError(_ body: () throws -> Void) -> CaptureError? {
        do { try body() } catch { return error as? CaptureError }
        return nil
    }

    // MARK: The request

    /// 401, 403 and the like are in the end-to-end tests, as Icecast says them.
    @Test(arguments: [
        continuing, "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 201 Created\nServer: x\n\n",
    ])
    func theRequestHasAllThatAServerNeeds(answer: String) throws {
        let received = Locked<[UInt8]>([])
        let server = QuirkServer { _, connection in
            connection.write(answer)
            while let bytes = connection.read() { received.withLock { $0 += bytes } }
        }
        defer { server.stop() }
        let output = try IcecastOutput(
            IcecastOutputTests.address(server.port, "?name=A%20%26%0AX-Evil:%201&description=d%C3%A9ja&public=1"))
        try output.open()
        let request = try #require(server.requests.first)
        #expect(request.text.hasPrefix("PUT /live.webm HTTP/1.1\r\n"))
        #expect(request.header("Authorization") == "Basic c291cmNlOmh1bnRlcjI=")
        #expect(request.header("Content-Type") == "video/webm")
        #expect(request.header("Expect") == "100-continue")
        #expect(request.header("Transfer-Encoding") == nil && request.header("Content-Length") == nil)
        #expect(request.header("Ice-Public") == "1" && request.header("Ice-Description") == "déja")
        // A line end in a value makes no field.
        #expect(request.header("X-Evil") == nil && request.header("Ice-Name")?.hasPrefix("A &") == true)

        try output.begin([IcecastOutputTests.video])
        for index in 0..<10 { try output.write(IcecastOutputTests.packet(index)) }
        try output.finish()
        #expect(eventually { received.withLock { $0.count } > 1000 })
        // The head of EBML at once: neither a chunk nor anything else comes before it.
        #expect(received.withLock { Array($0.prefix(4)) } == [0x1A, 0x45, 0xDF, 0xA3])
        #expect(output.state == .ended(nil) && output.statistics.packets == 10)
    }

    /// WebM is sent whatever the mount is called.
    @Test(arguments: [("live.mp3", 1), ("live.OGG", 1), ("live.webm", 0), ("live", 0)])
    func aMountThatPromisesAnotherFormatIsWarnedOf(_ mount: String, _ count: Int) throws {
        let server = QuirkServer { _, connection in
            connection.write(IcecastOutputTests.continuing)
            while connection.read() != nil {}
        }
        defer { server.stop() }
        let warnings = Locked<[String]>([])
        let output = try IcecastOutput("icecast://source:hunter2@127.0.0.1:\(server.port)/\(mount)")
        let context = OutputContext(
            format: .i420(width: 64, height: 48), warn: { warning in warnings.withLock { $0.append(warning) } })
        _ = try output.open(context)
        output.discard()
        #expect(warnings.withLock { $0 }.count { $0.contains("gets WebM") } == count)
    }

    @Test func aServerThatSaysNothingIsAnError() throws {
        let server = QuirkServer { _, connection in connection.awaitEnd() }
        defer { server.stop() }
        var configuration = IcecastOutput.Configuration()
        configuration.connectTimeout = .milliseconds(300)
        let output = try IcecastOutput(IcecastOutputTests.address(server.port), configuration: configuration)
        let error = IcecastOutputTests.captureError { try output.open() }
        #expect(error?.code == .stalled)
        #expect(!"\(String(describing: error))".contains("hunter2"))
    }

    @Test(arguments: [
        ("", CaptureError.Code.deviceLost), ("garbage\r\n\r\n", .corruptData), ("HTTP/1.1 abc\r\n\r\n", .corruptData),
        ("HTTP/1.0 401 No\r\n\r\n", .permissionDenied), ("HTTP/1.0 403 No\r\n\r\nMountpoint in use", .deviceBusy),
        ("HTTP/1.0 403 No\r\n\r\nContent-type not supported", .permissionDenied),
        ("HTTP/1.1 404 No\r\n\r\n", .formatUnsupported), ("HTTP/1.1 500 No\r\n\r\n<html>oops", .deviceLost),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 100_000), .corruptData),
    ])
    func answersThatAreNoConsent(answer: String, code: CaptureError.Code) throws {
        let server = QuirkServer { _, connection in connection.write(answer) }
        defer { server.stop() }
        let output = try IcecastOutput(IcecastOutputTests.address(server.port))
        let error = try #require(IcecastOutputTests.captureError { try output.open() })
        #expect(error.code == code)
        #expect(!"\(error)".contains("hunter2"))
    }

    @Test(arguments: [
        "http://h/a", "icecast://", "icecast://h", "icecast://h/", "icecast://h:x/a", "icecast://h:70000/a",
        "icecast://h/a b", "icecast://u:hunter2@h/a?nmae=x", "icecast://u:hunter2@h/a?public=maybe",
        "icecasts://u:hunter2@h/a",
    ])
    func addressesThatAreWrong(address: String) {
        let error = IcecastOutputTests.captureError { _ = try IcecastOutput(address) }
        #expect(error?.code == .invalidConfiguration)
        #expect(!"\(String(describing: error))".contains("hunter2"))
    }

    @Test func namesHaveNoPassword() throws {
        let output = try IcecastOutput("icecast://me:p%40ss@radio/live.webm?name=x")
        #expect(output.name == "icecast://radio:8000/live.webm")
        #expect(!"\(output.outputStatistics)".contains("p@ss"))
        #expect(try IcecastOutput("icecast://[::1]/a?audio").feed == .noVideo)
    }

    // MARK: Faults

    /// The head and a key frame come again, and what was between is lost and counted.
    @Test func aLostConnectionIsMadeAgain() throws {
        let heads = Locked<[[UInt8]]>([])
        let server = QuirkServer { request, connection in
            connection.write(IcecastOutputTests.continuing)
            var bytes: [UInt8] = []
            // The first connection is reset once something has come.
            while bytes.count < (request.index == 0 ? 500 : 2000), let more = connection.read() { bytes += more }
            heads.withLock { $0.append(bytes) }
            if request.index == 0 { connection.reset() } else { connection.awaitEnd() }
        }
        defer { server.stop() }
        var configuration = IcecastOutput.Configuration()
        configuration.reconnectDelay = .milliseconds(20)
        configuration.maximumReconnectDelay = .milliseconds(20)
        let output = try IcecastOutput(IcecastOutputTests.address(server.port), configuration: configuration)
        let requests = Locked(0)
        output.connectFeedback(PacketFeedback(onKeyFrame: { requests.withLock { $0 += 1 } }, onBitrate: { _ in }))
        try output.begin([IcecastOutputTests.video])
        var index = 0
        let isBack = eventually {
            // As an encoder does: a key frame when one is asked for.
            let isKeyFrame = requests.withLock { count in
                defer { count = 0 }
                return count > 0
            }
            try? output.write(IcecastOutputTests.packet(index, isKeyFrame: isKeyFrame || index == 0))
            index += 1
            return heads.withLock { $0.count } == 2
        }
        #expect(isBack)
        #expect(output.statistics.reconnections >= 1)
        #expect(
            heads.withLock { $0.map { Array($0.prefix(4)) } } == [[0x1A, 0x45, 0xDF, 0xA3], [0x1A, 0x45, 0xDF, 0xA3]])
        try output.finish()
    }

    @Test func aPasswordThatIsRefusedLaterEndsIt() throws {
        let server = QuirkServer { request, connection in
            connection.write(request.index == 0 ? IcecastOutputTests.continuing : "HTTP/1.0 401 No\r\n\r\n")
            if request.index == 0 { _ = connection.read() }
        }
        defer { server.stop() }
        var configuration = IcecastOutput.Configuration()
        configuration.reconnectDelay = .milliseconds(20)
        configuration.maximumReconnectDelay = .milliseconds(20)
        let output = try IcecastOutput(IcecastOutputTests.address(server.port), configuration: configuration)
        try output.open()
        try output.begin([IcecastOutputTests.video])
        var index = 0
        var error: CaptureError?
        #expect(
            eventually {
                error = IcecastOutputTests.captureError {
                    try output.write(IcecastOutputTests.packet(index, isKeyFrame: true))
                }
                index += 1
                return error != nil
            })
        #expect(error?.code == .permissionDenied)
        #expect(IcecastOutputTests.captureError { try output.finish() }?.code == .permissionDenied)
    }

    /// Writing never waits, whatever the server takes; and the end does not either, for long.
    @Test func aServerThatTakesNothingDelaysNothing() throws {
        let server = QuirkServer { _, connection in
            connection.write(IcecastOutputTests.continuing)
            usleepUntilEnd(connection)
        }
        defer { server.stop() }
        var configuration = IcecastOutput.Configuration()
        configuration.finishTimeout = .milliseconds(100)
        let output = try IcecastOutput(IcecastOutputTests.address(server.port), configuration: configuration)
        try output.open()
        try output.begin([IcecastOutputTests.video])
        // More than any socket takes.
        for index in 0..<2000 {
            try output.write(IcecastOutputTests.packet(index, isKeyFrame: index % 30 == 0, bytes: 50_000))
        }
        #expect(output.statistics.packetsDropped > 0)
        #expect(IcecastOutputTests.captureError { try output.finish() }?.code == .stalled)
        #expect(output.statistics.packets < 2000)
    }

    /// A source that gives nothing for a while is kept alive by elements without meaning.
    @Test func silenceKeepsTheSourceAlive() throws {
        let received = Locked<[UInt8]>([])
        let server = QuirkServer { _, connection in
            connection.write(IcecastOutputTests.continuing)
            while let bytes = connection.read() { received.withLock { $0 += bytes } }
        }
        defer { server.stop() }
        let output = try IcecastOutput(IcecastOutputTests.address(server.port))
        try output.open()
        try output.begin([IcecastOutputTests.video])
        try output.write(IcecastOutputTests.packet(0))
        #expect(eventually { received.withLock { Array($0.suffix(4)) } == [0xEC, 0x80, 0xEC, 0x80] })
        try output.write(IcecastOutputTests.packet(100))
        try output.finish()
        #expect(eventually { received.withLock { $0.last } == 100 })
    }

    /// Listeners begin with key frames, which are asked for each two seconds of the stream.
    @Test func keyFramesAreRequested() throws {
        let server = QuirkServer { _, connection in
            connection.write(IcecastOutputTests.continuing)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let output = try IcecastOutput(IcecastOutputTests.address(server.port))
        let requests = Locked(0)
        output.connectFeedback(PacketFeedback(onKeyFrame: { requests.withLock { $0 += 1 } }, onBitrate: { _ in }))
        try output.open()
        try output.begin([IcecastOutputTests.video])
        // 9.9 s of frames, of which the first alone is a key frame.
        for index in 0..<300 { try output.write(IcecastOutputTests.packet(index, bytes: 10)) }
        #expect(requests.withLock { $0 } == 4)
        try output.finish()
    }

    @Test func theContractOfSinksIsKept() throws {
        let server = QuirkServer { _, connection in
            connection.write(IcecastOutputTests.continuing)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let address = IcecastOutputTests.address(server.port)
        let makePacket: @Sendable (TrackDescription, Int) -> MediaPacket = { _, number in
            IcecastOutputTests.packet(number)
        }
        let refused = TrackDescription(
            id: 0, codec: .h264, media: .video(.init(width: 64, height: 48, orientation: .up, frameRate: FrameRate(30)))
        )
        let suite = PacketSinkSuite(tracks: [IcecastOutputTests.video], refused: [refused], makePacket: makePacket) {
            let output = try IcecastOutput(address)
            return PacketSinkSuite.Trial(sink: output) { Int(output.statistics.packets) }
        }
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }

    // MARK: Servers that come later

    @Test func aServerThatIsOffAtTheStartIsTriedAgain() throws {
        let port = try freePort()
        var configuration = IcecastOutput.Configuration()
        configuration.reconnectDelay = .milliseconds(1)
        configuration.maximumReconnectDelay = .milliseconds(10)
        let output = try IcecastOutput(IcecastOutputTests.address(port), configuration: configuration)
        let warnings = Locked<[String]>([])
        var context = OutputContext(
            format: .i420(width: 64, height: 48), warn: { text in warnings.withLock { $0.append(text) } })
        context.retriesPeers = true
        _ = try output.open(context)
        try output.begin([IcecastOutputTests.video])
        try output.write(IcecastOutputTests.packet(0))
        #expect(eventually { !warnings.withLock { $0 }.isEmpty })
        #expect(warnings.withLock { $0 }.first?.contains("no connection yet") == true)
        if case .ended = output.state { Issue.record("it was given up") }
        let time = Stopwatch()
        #expect(throws: CaptureError.self) { try output.finish() }
        #expect(time.time < .seconds(1))
    }

    /// Servers that say nothing, or take nothing, when a user waits for the end.
    @Test(arguments: ["", continuing]) func aHurriedEnd(answer: String) throws {
        let server = QuirkServer { _, connection in
            if !answer.isEmpty { connection.write(answer) }
            connection.awaitEnd()
        }
        defer { server.stop() }
        let output = try IcecastOutput(IcecastOutputTests.address(server.port))
        let isStopped = Locked(false)
        var context = OutputContext(
            format: .i420(width: 64, height: 48), isStopRequested: { isStopped.withLock { $0 } })
        context.retriesPeers = true
        _ = try output.open(context)
        try output.begin([IcecastOutputTests.video])
        for index in 0..<100 { try output.write(IcecastOutputTests.packet(index, bytes: 100_000)) }
        isStopped.withLock { $0 = true }
        let time = Stopwatch()
        try? output.finish()
        #expect(time.time < .seconds(1))
    }
}

/// Reads nothing until the other side is gone, which a write of nothing shows.
private func usleepUntilEnd(_ connection: Connection) {
    while connection.write("\r\n") { _ = eventually(within: .milliseconds(50)) { false } }
}
