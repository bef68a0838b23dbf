import H264Codec
import MediaPublishing
import NoiseCapturer
import TestTools
import Testing
import VideoCapturing

@testable import StreamOutput

#if canImport(Glibc)
    import Glibc
#endif

/// The output at a publisher, as programs name it.
@Suite(.serialized) struct PublisherOutputTests {
    @Test func warnsThatAnyoneCanReceive() throws {
        let open = try StreamOutput("tcp://0.0.0.0:9000?listen").openAddressWarning
        #expect(open?.contains("open to everyone who can reach this machine") == true)
        #expect(try StreamOutput("tcp://127.0.0.1:9000?listen").openAddressWarning == nil)
        #expect(try StreamOutput("tcp://192.168.1.5:9000").openAddressWarning == nil)
    }

    private func publisher() -> MediaPublisher {
        var settings = MediaPublisher.Settings(encoders: [.openH264])
        // Further key frames come on request only.
        settings.encoding.keyFrameInterval = .time(.seconds(3600))
        return MediaPublisher(
            video: NoiseCapturer(format: .i420(width: 64, height: 48), frameRate: 30), settings: settings)
    }

    private func output(_ target: String) throws(OptionError) -> any MediaOutput {
        try OutputCatalog([.tcp]).makeOutput(target)
    }

    @Test func everyReceiverGetsAKeyFrame() throws {
        let publisher = publisher()
        defer { publisher.close() }
        let output = try #require(try output("tcp://127.0.0.1:0?listen") as? StreamOutput)
        #expect(output.outputStatistics.status == "0 receivers")
        try publisher.add(output)
        try publisher.start()
        let port = try #require(output.port)
        #expect(output.name == "tcp://127.0.0.1:\(port)")
        #expect(
            output.outputStatistics.announcement?.hasSuffix("ffplay -fflags nobuffer tcp://127.0.0.1:\(port)") == true)

        let first = try TestReceiver(port: port)
        // An access unit delimiter, and the parameter sets.
        #expect(first.await { $0.starts(with: [0, 0, 0, 1, 9, 0xF0, 0, 0, 0, 1, 0x67]) })
        let before = publisher.statistics.encoders[0].encoding.keyFrames
        let second = try TestReceiver(port: port)
        #expect(second.await { $0.starts(with: [0, 0, 0, 1, 9, 0xF0, 0, 0, 0, 1, 0x67]) })
        #expect(publisher.statistics.encoders[0].encoding.keyFrames > before)
        #expect(output.outputStatistics.status == "2 receivers")
        #expect(publisher.statistics.encoders.count == 1)

        try publisher.stop()
        #expect(first.awaitEnd() != nil && second.awaitEnd() != nil)
        let statistics = output.outputStatistics
        #expect(statistics.bytes > 0)
        #expect(
            statistics.summary.contains("to 2 receivers of tcp://127.0.0.1:\(port); dropped "), "\(statistics.summary)")
    }

    @Test func aStopEndsTheWaitForAConnection() throws {
        let listener = try TestListener(backlog: 0)
        let fillers = listener.fill()
        defer { for filler in fillers { close(filler) } }
        let publisher = publisher()
        defer { publisher.close() }
        try publisher.add(try output("tcp://127.0.0.1:\(listener.port)"))
        startThread {
            sleep(2)
            publisher.requestStop()
        }
        let error = #expect(throws: CaptureError.self) { try publisher.start() }
        // Not the end of the time that a connection may take.
        #expect(error?.code != .stalled, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        ("tcp://", "port"), ("tcp://host", "port"), ("tcp://host:99999", "65535"), ("tcp://:9000", "no host"),
        ("tcp://host:1?lisen", "Did you mean listen?"), ("tcp://host:1?format=avi", "format=matroska"),
        ("tcp://a:b@host:1", "host and port"), ("tcp://host:0", "Port 0"),
    ])
    func refusesWhatIsNoAddress(target: String, reason: String) throws {
        let error = #expect(throws: OptionError.self) { try output(target) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func takesWhatItsFormatCarries() throws {
        func codecs(_ target: String) throws -> [Codec] {
            guard case .packets(let feed) = try output(target).feed else { return [] }
            #expect(feed.purpose == .live && !feed.needsOwnEncoder)
            return feed.codecs
        }
        #expect(try codecs("tcp://host:1") == [.h264])
        #expect(try codecs("TCP://host:1?format=matroska") == [.h264, .vp8])
        #expect(try output("tcp://[::1]:9?listen").name == "tcp://[::1]:9")
        #expect(try output("tcp://host:1?format=mkv").outputStatistics.status == "not connected")
    }
}
