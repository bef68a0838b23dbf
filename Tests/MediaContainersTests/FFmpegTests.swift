import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// FFmpeg as the judge of the files. These tests need `ffmpeg` and `ffprobe`, and fail without them.
@Suite struct FFmpegTests {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    /// Two seconds of real VP8 at 30000/1001, with a key frame every 15 frames.
    private func encodedPackets(color: ColorDescription = .bt709) throws -> [MediaPacket] {
        let path = folder.file("source.ivf")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=96x64:rate=30000/1001", "-frames:v", "60",
            "-c:v", "libvpx", "-g", "15", "-b:v", "100k", "-y", path)
        let reader = try IVFReader(InputFile(path: path))
        #expect(reader.fourCC == "VP80")
        #expect(reader.width == 96)
        #expect(reader.height == 64)
        var packets: [MediaPacket] = []
        while let packet = try reader.nextPacket() {
            packets.append(
                MediaPacket(
                    data: packet.data, timestamp: MediaTime(nanoseconds: packet.timestamp.nanoseconds),
                    duration: .nanoseconds(33_366_667), isKeyFrame: packet.isKeyFrame == true, width: 96, height: 64,
                    attributes: FrameAttributes(color: color)))
        }
        #expect(packets.count == 60)
        #expect(packets.count { $0.isKeyFrame } == 4)
        return packets
    }

    private func probe(_ path: String, _ entries: String) throws -> [String] {
        let output = try run(
            "ffprobe", "-v", "error", "-count_packets", "-select_streams", "v:0", "-show_entries", entries, "-of",
            "default=noprint_wrappers=1", path)
        return output.split(separator: "\n").map(String.init)
    }

    @Test func ffprobeAgreesOnTheWebM() throws {
        let packets = try encodedPackets()
        let path = folder.file("a.webm")
        let writer = WebMWriter(try OutputFile(path: path))
        try writer.begin([makeTrack(width: 96, height: 64, color: .bt709)])
        for packet in packets { try writer.write(packet) }
        try writer.finish()
        let facts = try probe(
            path,
            "stream=codec_name,width,height,color_range,color_space,color_transfer,color_primaries,nb_read_packets:"
                + "format=format_name,duration")
        for fact in [
            "codec_name=vp8", "width=96", "height=64", "color_range=tv", "color_space=bt709", "color_transfer=bt709",
            "color_primaries=bt709", "nb_read_packets=60", "format_name=matroska,webm", "duration=2.002000",
        ] {
            #expect(facts.contains(fact), "\(fact) in \(facts)")
        }
        let times = try probe(path, "packet=pts_time").compactMap { Double($0.dropFirst("pts_time=".count)) }
        let expected: [Double] = (0..<60).map { (index: Int) -> Double in
            (Double(index) * 1001 / 30).rounded() / 1000
        }
        #expect(times == expected)
        #expect(try decodedFrames(path) == 60)
        // Going to 1.2 s by the index gives the frame that decoding from the start gives.
        let sought = try run("ffmpeg", "-v", "error", "-ss", "1.2", "-i", path, "-frames:v", "1", "-f", "md5", "-")
        let played = try run("ffmpeg", "-v", "error", "-i", path, "-ss", "1.2", "-frames:v", "1", "-f", "md5", "-")
        #expect(sought == played)
    }

    @Test func ffprobeAgreesOnTheIVF() throws {
        let packets = try encodedPackets()
        let path = folder.file("a.ivf")
        let writer = IVFWriter(try OutputFile(path: path))
        try writer.begin([makeTrack(width: 96, height: 64, color: .bt709)])
        for packet in packets { try writer.write(packet) }
        try writer.finish()
        #expect(
            try probe(path, "stream=nb_read_packets:format=duration") == ["nb_read_packets=60", "duration=2.002000"])
        let times = try probe(path, "packet=pts_time").compactMap { Double($0.dropFirst("pts_time=".count)) }
        let expected: [Double] = (0..<60).map { (index: Int) -> Double in
            (Double(index) * 1_001_000 / 30).rounded() / 1_000_000
        }
        #expect(times == expected)
        #expect(try decodedFrames(path) == 60)
    }

    @Test func theLiveStreamDecodes() throws {
        let packets = try encodedPackets()
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        let writer = WebMWriter(OutputFile(descriptor: ends[1], name: "pipe", closing: true))
        try writer.begin([makeTrack(width: 96, height: 64, color: .bt709)])
        let live = folder.file("live.webm")
        let reading = ends[0]
        let received = Locked<[UInt8]>([])
        let thread = try CaptureThread(name: "reader") {
            var block = [UInt8](repeating: 0, count: 5000)
            while case let count = read(reading, &block, block.count), count > 0 {
                received.withLock { $0 += block[..<count] }
            }
        }
        for packet in packets { try writer.write(packet) }
        try writer.finish()
        thread.join()
        close(reading)
        try writeBytes(received.withLock { $0 }, to: live)
        #expect(try decodedFrames(live) == 60)
    }

    /// A file that was cut off or whose writer was killed: FFmpeg decodes every frame that is whole.
    @Test func ffmpegPlaysWhatIsLeftOfACutFile() throws {
        let packets = try encodedPackets()
        let path = folder.file("a.webm")
        let writer = WebMWriter(try OutputFile(path: path))
        try writer.begin([makeTrack(width: 96, height: 64, color: .bt709)])
        var ends: [Int64] = []
        for packet in packets {
            try writer.write(packet)
            ends.append(writer.bytesWritten)
        }
        try writeBytes(readBytes(path), to: folder.file("killed.webm"))
        #expect(try decodedFrames(folder.file("killed.webm")) == 60)
        try writer.finish()
        let whole = try readBytes(path)
        var random = SeededRandom(state: 1)
        for _ in 0..<12 {
            let length = Int.random(in: Int(ends[0])..<Int(ends[59]), using: &random)
            try writeBytes(Array(whole[..<length]), to: folder.file("cut.webm"))
            // FFmpeg may try the incomplete last frame too.
            let least = ends.count { $0 <= length }
            let frames = try decodedFrames(folder.file("cut.webm"), quiet: true)
            #expect((least...least + 1).contains(frames), "\(frames) frames of \(least), cut at \(length)")
        }
    }

    private func decodedFrames(_ path: String, quiet: Bool = false) throws -> Int {
        let output = try run(
            "ffprobe", "-v", quiet ? "quiet" : "error", "-count_frames", "-select_streams", "v:0", "-show_entries",
            "stream=nb_read_frames", "-of", "csv=p=0", path)
        return try #require(Int(output.filter(\.isNumber)))
    }

    @Test(arguments: ["96x64", "97x63"])
    func y4mAndItsMD5AreFFmpegs(_ size: String) throws {
        let path = folder.file("a.y4m")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=24000/1001", "-frames:v", "5",
            "-pix_fmt", "yuv420p", "-y", path)
        let reader = try Y4MReader(InputFile(path: path))
        #expect(reader.format.estimatedFramesPerSecond == FrameRate(24000, per: 1001))
        let copy = Y4MWriter(
            try OutputFile(path: folder.file("b.y4m")), rate: try #require(FrameRate(24000, per: 1001)))
        let md5 = MD5Writer(try OutputFile(path: folder.file("b.md5")))
        while let frame = try reader.nextFrame() {
            let frame = VideoFrame(buffer: frame.buffer, timestamp: .zero, color: reader.color)
            try copy.writeFrame(frame)
            md5.writeFrame(frame)
        }
        try copy.finish()
        try md5.finish()
        let line = String(decoding: try readBytes(folder.file("b.md5")), as: UTF8.self)
        for file in ["a.y4m", "b.y4m"] {
            #expect(
                try run("ffmpeg", "-v", "error", "-i", folder.file(file), "-c:v", "rawvideo", "-f", "md5", "-") == line)
        }
    }
}
