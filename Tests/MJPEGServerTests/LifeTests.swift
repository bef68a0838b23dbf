import MJPEGServer
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct LifeTests {
    @Test func stopEndsEverything() throws {
        let before = openDescriptorCount()
        let test = try TestServer { $0.sendBufferSize = 4096 }
        let readers = try (0..<10).map { _ in try StreamReader(test.port, receiveBuffer: 4096) }
        #expect(test.hasViewers(10))
        // Each has a frame on its way that it does not take.
        for number in 1...3 { try test.show(number, padding: 1_000_000) }
        let begin = MonotonicClock().now
        test.server.stop()
        #expect(MonotonicClock().now - begin < .seconds(10))
        #expect(test.server.address == nil)
        #expect(throws: Client.Failure.self) { try Client(test.port) }
        #expect(test.statistics.viewers.isEmpty)
        try test.show(4)
        #expect(eventually { openDescriptorCount() <= before + readers.count })
        test.server.stop()
    }

    @Test func itCanBeStartedAgain() throws {
        let server = MJPEGServer()
        for number in 1...3 {
            let port = try #require(try server.start().port)
            let reader = try StreamReader(port)
            server.consumeFrame(try jpegFrame(number))
            #expect(try reader.next(from: number).number == number)
            server.stop()
        }
    }

    @Test func twoStartsAreAnError() throws {
        let test = try TestServer()
        #expect {
            try test.server.start()
        } throws: {
            ($0 as? MJPEGServerError)?.code == .invalidState
        }
    }

    @Test func twoServersShowTheSameCapture() throws {
        let first = try TestServer()
        let second = try TestServer()
        let readers = [try StreamReader(first.port), try StreamReader(second.port)]
        for server in [first, second] { try server.show(1) }
        for reader in readers { #expect(try reader.next(from: 1).number == 1) }
    }

    @Test func aPortInUseIsToldWithTheNextStep() throws {
        let test = try TestServer()
        var configuration = MJPEGServer.Configuration()
        configuration.port = test.port
        let error = #expect(throws: MJPEGServerError.self) { try MJPEGServer(configuration: configuration).start() }
        #expect(error?.code == .addressInUse)
        #expect(error?.systemError == EADDRINUSE)
        #expect(error?.description.contains("port \(test.port)") == true)
    }

    @Test(arguments: [
        ("192.0.2.1", MJPEGServerError.Code.addressNotFound), ("no.such.host.invalid", .addressNotFound),
        ("unix:/nowhere/socket", .addressNotFound), ("unix:", .invalidConfiguration),
    ])
    func anAddressThatCannotBeIsToldSo(_ address: String, _ code: MJPEGServerError.Code) throws {
        var configuration = MJPEGServer.Configuration()
        configuration.address = address
        let error = #expect(throws: MJPEGServerError.self) { try MJPEGServer(configuration: configuration).start() }
        #expect(error?.code == code, "\(String(describing: error))")
    }

    @Test func settingsOutOfRangeAreRefused() throws {
        let changes: [(inout MJPEGServer.Configuration) -> Void] = [
            { $0.port = 65_536 }, { $0.quality = 0 }, { $0.threadCount = 0 }, { $0.dropSameFrames = -1 },
            { $0.allowedOrigin = "a\r\nX: y" }, { $0.instanceID = "a b" }, { $0.limits.headBytes = 1 },
            { $0.authentication = .init(user: "a:b", password: "c") },
            { $0.authentication = .init(user: "a", password: "") },
            { $0.authentication = .init(user: "a", password: "b", realm: "\"") },
        ]
        for (index, change) in changes.enumerated() {
            var configuration = MJPEGServer.Configuration()
            change(&configuration)
            let error = #expect(throws: MJPEGServerError.self, "\(index)") {
                try MJPEGServer(configuration: configuration).start()
            }
            #expect(error?.code == .invalidConfiguration, "\(index)")
        }
    }

    @Test func everyoneIsWarnedOfAnOpenServer() throws {
        let quiet = try TestServer()
        #expect(quiet.server.warnings.isEmpty)
        let open = try TestServer { $0.address = "0.0.0.0" }
        #expect(open.server.warnings.count == 1)
        #expect(open.server.warnings[0].contains("without a password"))
        let basic = try TestServer { configuration in
            configuration.address = "0.0.0.0"
            configuration.authentication = .init(user: "a", password: "b")
        }
        #expect(basic.server.warnings.first?.contains("unencrypted") == true)
        let digest = try TestServer { configuration in
            configuration.address = "0.0.0.0"
            configuration.authentication = .init(user: "a", password: "b", schemes: [.digest])
        }
        #expect(digest.server.warnings.isEmpty)
    }

    @Test func damagedPicturesAreLeftOutWithOneWarning() throws {
        let test = try TestServer()
        let reader = try StreamReader(test.port)
        #expect(test.hasViewers(1))
        for _ in 0..<5 {
            let rubbish: [UInt8] = [1, 2, 3, 4, 5]
            let buffer = try rubbish.withUnsafeBytes { bytes throws(CaptureError) in
                try PixelBuffer.compressed(bytes, as: .mjpeg, width: 2, height: 2)
            }
            test.server.consumeFrame(VideoFrame(buffer: buffer, timestamp: MonotonicClock().now))
        }
        #expect(test.statistics.framesFailed == 5)
        #expect(test.server.warnings.count == 1)
        try test.show(1)
        #expect(try reader.next(from: 1).number == 1)
    }

    // MARK: Sessions of another way

    /// Answers its only offer when a test says so.
    private final class SlowViewing: LiveViewing {
        let mayAnswer = ManualResetEvent()
        private let ended = Locked<[String]>([])

        var viewerCount: Int { 0 }
        let counted = Locked(LiveViewingStatistics())
        var statistics: LiveViewingStatistics { counted.withLock { $0 } }
        var endedSessions: [String] { ended.withLock { $0 } }

        func answer(_ offer: String, localAddress: String, client: String?) -> LiveViewingAnswer {
            mayAnswer.wait(until: MonotonicClock().now.advanced(by: .seconds(60)))
            return .accepted(identifier: "late", sdp: "v=0\r\n")
        }

        func end(_ identifier: String) -> Bool {
            ended.withLock { $0.append(identifier) }
            return true
        }
    }

    /// Who watches in another way is no less a viewer.
    @Test func viewersInAnotherWayAreCounted() throws {
        let viewing = SlowViewing()
        let server = MJPEGServer(viewing: viewing)
        #expect(server.outputStatistics.status == "0 viewers, idle")
        #expect(!server.outputStatistics.summary.contains("WebRTC"))
        viewing.counted.withLock { $0.viewers = 1 }
        #expect(server.outputStatistics.status == "1 viewer (WebRTC)")
        viewing.counted.withLock { ($0.viewers, $0.framesSent, $0.bytesSent) = (2, 30, 4000) }
        let statistics = server.outputStatistics
        #expect(statistics.status == "2 viewers (WebRTC)" && statistics.bytes == 4000)
        #expect(statistics.summary.hasSuffix("by WebRTC 30 frames, 4.00 kB."), "\(statistics.summary)")
        #expect(statistics.details.first { $0.name == "webrtcFramesSent" }?.value.text == "30")
    }

    /// Otherwise the answer would be taken for that of the next offer of the same connection.
    @Test func anAnswerThatComesTooLateEndsTheConnection() throws {
        let viewing = SlowViewing()
        var configuration = MJPEGServer.Configuration()
        configuration.sessionTimeout = .milliseconds(50)
        let server = MJPEGServer(configuration: configuration, viewing: viewing)
        let client = try Client(try server.start().port ?? 0)
        defer { server.stop() }
        client.send("POST /whep HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\n")
        client.send("Content-Length: 5\r\n\r\nv=0\r\n")
        let answer = try client.readAnswer()
        #expect(answer.status == 422)
        #expect(answer.header("connection") == "close")
        viewing.mayAnswer.raise()
        #expect(eventually { viewing.endedSessions == ["late"] })
        #expect(try client.readToEnd().isEmpty)
    }
}
