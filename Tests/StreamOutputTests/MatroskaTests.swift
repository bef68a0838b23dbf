import StreamOutput
import TestTools
import Testing
import VideoCapturing

/// H.264 in Matroska with the capture's times, read by ffmpeg's tools.
@Suite(.serialized) struct MatroskaTests {
    private let folder = TemporaryFolder()

    private func listening() throws -> StreamOutput {
        var configuration = StreamOutput.Configuration()
        configuration.maximumDelay = .seconds(3600)
        let output = try StreamOutput("tcp://127.0.0.1:0?listen&format=matroska", configuration: configuration)
        try output.open()
        return output
    }

    /// What ffprobe says of packets and stream.
    private func probe(_ bytes: [UInt8], _ entries: String) throws -> [String] {
        let path = try folder.write(bytes, to: "a.mkv")
        let text = try run("ffprobe", ["-v", "error", "-show_entries", entries, "-of", "csv=p=0", path])
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func ffmpegReadsIt() throws {
        let output = try listening()
        let feed = try Feed(Clip.standard.get(), to: output)
        let receiver = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(1))
        try feed.write(60)
        output.finish()
        let bytes = try #require(receiver.awaitEnd())
        #expect(bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]))
        let stream = try probe(bytes, "stream=codec_name,width,height,extradata_size")
        #expect(stream.first?.hasPrefix("h264,160,120,") == true)
        let times = try probe(bytes, "packet=pts_time,flags")
        #expect(times.count == 60)
        #expect(Array(times.prefix(3)) == ["0.000000,K_", "0.033000,__", "0.067000,__"])
        // Every picture decodes without a complaint.
        let path = folder.file("a.mkv")
        let decoded = try run(
            "ffmpeg", ["-v", "error", "-xerror", "-i", path, "-f", "framemd5", "-fps_mode", "passthrough", "-"])
        let lines = String(decoding: decoded, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == 60)
    }

    /// Times of a receiver that joins late count from its own first picture.
    @Test func timesBeginWithTheConnection() throws {
        let output = try listening()
        let feed = try Feed(Clip.standard.get(), to: output)
        let first = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(1))
        try feed.write(100)
        let late = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(2))
        try feed.write(30)
        output.finish()
        let (all, rest) = (try #require(first.awaitEnd()), try #require(late.awaitEnd()))
        #expect(try probe(all, "packet=pts_time").count == 130)
        let times = try probe(rest, "packet=pts_time,flags")
        #expect(times.count == 30 && times.first == "0.000000,K_")
    }

    /// A header describes one kind of pictures, so another size takes another connection.
    @Test func anotherSizeTakesAnotherConnection() throws {
        let small = try Clip.standard.get()
        let large = Clip(try h264Clip(frames: 30, size: "320x240"), width: 320, height: 240)
        let output = try listening()
        try output.begin([small.track])
        let first = try TestReceiver(port: output.port)
        #expect(eventually { output.statistics.connections == 1 })
        for number in 0..<30 { try output.write(small.packet(number)) }
        func write(_ numbers: Range<Int>) throws {
            for number in numbers {
                var packet = large.packet(number)
                packet.timestamp = small.packet(number + 30).timestamp
                try output.write(packet)
            }
        }
        try write(0..<1)
        let before = try #require(first.awaitEnd())
        #expect(try probe(before, "packet=flags").count == 30)
        #expect(output.statistics.lastLoss?.contains("another size") == true)
        let second = try TestReceiver(port: output.port)
        #expect(eventually { output.statistics.connections == 2 })
        try write(0..<30)
        output.finish()
        let after = try #require(second.awaitEnd())
        #expect(try probe(after, "stream=width,height") == ["320,240"])
        #expect(try probe(after, "packet=flags").count == 30)
    }

    @Test func othersAreRefused() throws {
        let output = try listening()
        let jpeg = TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 64, height: 48)))
        #expect(throws: CaptureError.self) { try output.begin([jpeg]) }
        let h264 = try Clip.standard.get().track
        #expect(throws: CaptureError.self) { try output.begin([h264, h264]) }
        output.finish()
    }
}
