import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct SeekTests {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    private func file(_ bytes: [UInt8]) throws -> InputFile {
        try writeBytes(bytes, to: folder.file("a"))
        return try InputFile(path: folder.file("a"))
    }

    /// Which picture each time shows, of six at 10 a second, and that reading goes on from there.
    private func check(_ reader: any FrameReader) throws {
        #expect(reader.canSeek)
        #expect(reader.duration == .milliseconds(600))
        for (time, shown) in [(0, 0), (99, 0), (100, 1), (350, 3), (500, 5), (599, 5), (5000, 5), (250, 2), (-5, 0)] {
            try reader.seek(to: .milliseconds(time))
            for seed in shown..<6 {
                let frame = try #require(try reader.nextFrame(), "\(time) ms")
                #expect(samples(of: frame.buffer) == packedSamples(.i420, 4, 2, seed: seed))
                #expect(frame.timestamp == .milliseconds(100 * seed))
            }
            #expect(try reader.nextFrame() == nil)
        }
    }

    @Test(arguments: ["FRAME\n", "FRAME It\n"]) func y4m(marker: String) throws {
        let frames = (0..<6).flatMap { Array(marker.utf8) + packedSamples(.i420, 4, 2, seed: $0) }
        let reader = try Y4MReader(file(Array("YUV4MPEG2 W4 H2 F10:1\n".utf8) + frames))
        if marker == "FRAME\n" { return try check(reader) }
        // With parameters the count is an estimate.
        try reader.seek(to: .milliseconds(350))
        #expect(try reader.nextFrame()?.timestamp == .milliseconds(300))
    }

    @Test func framesOfSeveralLengths() throws {
        var bytes = Array("YUV4MPEG2 W4 H2 F10:1\n".utf8)
        for seed in 0..<6 {
            bytes += Array((seed % 2 == 0 ? "FRAME\n" : "FRAME Ip\n").utf8) + packedSamples(.i420, 4, 2, seed: seed)
        }
        try check(Y4MReader(file(bytes)))
    }

    @Test func raw() throws {
        let format = VideoFormat(.i420, width: 4, height: 2, estimatedFramesPerSecond: 10)
        try check(RawFrameReader(file((0..<6).flatMap { packedSamples(.i420, 4, 2, seed: $0) }), format: format))
    }

    /// A key frame has an even first byte.
    private func packet(_ isKeyFrame: Bool) -> [UInt8] { [isKeyFrame ? 0 : 1, 2, 3] }

    @Test func packetsGoToTheKeyFrameBefore() throws {
        let packets = (0..<9).map { (timestamp: Int64($0), bytes: packet($0 % 4 == 0)) }
        let reader = try IVFReader(file(ivf(denominator: 10, packets: packets)))
        for (time, first) in [(0, 0), (399, 0), (400, 4), (799, 4), (800, 8), (9999, 8), (-1, 0)] {
            try reader.seekToKeyFrame(before: .milliseconds(time))
            #expect(try reader.nextPacket()?.timestamp == .milliseconds(100 * first))
        }
    }

    @Test func aCutFileSeeksInWhatIsWhole() throws {
        let packets = (0..<3).map { (timestamp: Int64($0), bytes: packet(true)) }
        let reader = try IVFReader(file(Array(ivf(denominator: 10, packets: packets).dropLast(2))))
        try reader.seekToKeyFrame(before: .seconds(9))
        #expect(try reader.nextPacket()?.timestamp == .milliseconds(100))
        #expect(mediaFileError { try reader.nextPacket() }?.code == .corruptData)
    }

    @Test func aPipeDoesNotSeek() throws {
        let header = Array("YUV4MPEG2 W4 H2 F10:1\n".utf8)
        let reader = try Y4MReader(InputFile(descriptor: pipeHolding(header), name: "pipe", closing: true))
        #expect(!reader.canSeek)
        #expect(mediaFileError { try reader.seek(to: .zero) }?.code == .formatUnsupported)
    }
}
