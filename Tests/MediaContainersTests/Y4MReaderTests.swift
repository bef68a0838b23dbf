import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct Y4MReaderTests {
    private func reader(_ header: String, _ frames: [[UInt8]] = [], marker: String = "FRAME\n") throws -> Y4MReader {
        let bytes = Array(header.utf8) + frames.flatMap { Array(marker.utf8) + $0 }
        return try Y4MReader(InputFile(descriptor: pipeHolding(bytes), name: "pipe", closing: true))
    }

    @Test func whatIsWrittenIsRead() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.y4m")
        let writer = Y4MWriter(try OutputFile(path: path), rate: try #require(FrameRate("29.97")))
        for seed in 0..<3 { try writer.writeFrame(makeFrame(seed: seed, color: .jpeg)) }
        try writer.finish()
        let reader = try Y4MReader(InputFile(path: path))
        #expect(reader.format.pixelFormat == .i420)
        #expect(reader.format.imageWidth == 5)
        #expect(reader.format.imageHeight == 3)
        #expect(reader.format.estimatedFramesPerSecond == FrameRate(30000, per: 1001))
        #expect(reader.color == .jpeg)
        #expect(reader.estimatedFrameCount == 3)
        for _ in 0..<2 {
            for seed in 0..<3 {
                let frame = try #require(try reader.nextFrame())
                #expect(samples(of: frame.buffer) == packedSamples(seed: seed))
                #expect(frame.timestamp == FrameRate(30000, per: 1001)?.time(ofFrame: Int64(seed)))
            }
            #expect(try reader.nextFrame() == nil)
            try reader.rewind()
        }
    }

    @Test(arguments: ["", " C420", " C420jpeg", " C420paldv", " C420mpeg2"])
    func every420IsRead(_ chroma: String) throws {
        let reader = try reader("YUV4MPEG2 W4 H2\(chroma) It A0:0 Xsomething Zunknown\n", [packedSamples(.i420, 4, 2)])
        #expect(samples(of: try #require(try reader.nextFrame()).buffer) == packedSamples(.i420, 4, 2))
        #expect(reader.format.estimatedFramesPerSecond == 25)
        #expect(reader.color == .bt601)
    }

    @Test(arguments: [
        ("It A64:45", PixelAspect(width: 64, height: 45), true),
        ("Ib A128:90", PixelAspect(width: 64, height: 45), true),
        ("Ip A0:0", .square, false), ("Im A4", .square, false), ("I? A4:", .square, false), ("A1:99", .square, false),
        ("A1:99999999999", .square, false), ("", .square, false),
    ]) func aspectAndFieldsAreRead(_ parameters: String, _ aspect: PixelAspect?, isInterlaced: Bool) throws {
        let reader = try reader("YUV4MPEG2 W4 H2 \(parameters)\n", [packedSamples(.i420, 4, 2)])
        #expect(reader.format.pixelAspect == aspect && reader.pixelAspect == aspect)
        #expect(reader.isInterlaced == isInterlaced)
    }

    @Test func rowsWithoutPaddingAreRead() throws {
        let reader = try reader("YUV4MPEG2 W128 H2 F5:1\n", [packedSamples(.i420, 128, 2)], marker: "FRAME It Xa\n")
        #expect(samples(of: try #require(try reader.nextFrame()).buffer) == packedSamples(.i420, 128, 2))
        #expect(try reader.nextFrame() == nil)
    }

    @Test func monoGetsNeutralChroma() throws {
        let reader = try reader("YUV4MPEG2 W2 H2 Cmono\n", [[1, 2, 3, 4], [5, 6, 7, 8]])
        #expect(samples(of: try #require(try reader.nextFrame()).buffer) == [1, 2, 3, 4, 128, 128])
        #expect(samples(of: try #require(try reader.nextFrame()).buffer) == [5, 6, 7, 8, 128, 128])
        #expect(try reader.nextFrame() == nil)
    }

    @Test(arguments: ["422", "444", "411", "444alpha", "420p10", "mono12", "420p", ""])
    func otherSamplingsAreTold(_ chroma: String) {
        let error = mediaFileError { try reader("YUV4MPEG2 W4 H2 C\(chroma)\n") }
        #expect(error?.code == .formatUnsupported)
    }

    @Test(arguments: [
        "", "\n", "YUV4MPEG2", "YUV4MPEG2\n", "YUV4MPEG3 W4 H2\n", "YUV4MPEG2 W4\n", "YUV4MPEG2 H4\n",
        "YUV4MPEG2 W0 H2\n", "YUV4MPEG2 W-4 H2\n", "YUV4MPEG2 W+4 H2\n", "YUV4MPEG2 Wx H2\n", "YUV4MPEG2 W H2\n",
        "YUV4MPEG2 W99999999999999999999 H2\n", "YUV4MPEG2 W4 H2 F0:1\n", "YUV4MPEG2 W4 H2 F25:0\n",
        "YUV4MPEG2 W4 H2 F25\n", "YUV4MPEG2 W4 H2 F2147483648:1\n", "YUV4MPEG2 W4 H2 F1:2:3\n",
        "YUV4MPEG2 W4 H2", "YUV4MPEG2 W4 H2 X" + String(repeating: "a", count: 5000) + "\n",
    ])
    func damagedHeadersAreTold(_ header: String) {
        #expect(mediaFileError { try reader(header) }?.code == .corruptData)
    }

    @Test func tooLargeASideIsTold() {
        #expect(mediaFileError { try reader("YUV4MPEG2 W16384 H2\n") }?.code == .limitExceeded)
    }

    /// 16383 × 16383 pixels claimed, 3 bytes there.
    @Test func aSizeThatLiesTakesNoMemory() throws {
        let folder = TemporaryFolder()
        try writeBytes(Array("YUV4MPEG2 W16383 H16383\nFRAME\nabc".utf8), to: folder.file("a.y4m"))
        let reader = try Y4MReader(InputFile(path: folder.file("a.y4m")))
        #expect(reader.estimatedFrameCount == 0)
        #expect(mediaFileError { try reader.nextFrame() }?.code == .corruptData)
        #expect(try reader.nextFrame() == nil)
    }

    @Test func aTruncatedFrameIsToldAfterTheWholeOnes() throws {
        let header = "YUV4MPEG2 W4 H2 F25:1\n"
        let frame = Array("FRAME\n".utf8) + packedSamples(.i420, 4, 2)
        let bytes = Array(header.utf8) + frame + frame
        let folder = TemporaryFolder()
        for length in (header.utf8.count + frame.count + 1)..<bytes.count {
            let cut = Array(bytes[..<length])
            try writeBytes(cut, to: folder.file("a.y4m"))
            for file in [
                try InputFile(path: folder.file("a.y4m")),
                InputFile(descriptor: try pipeHolding(cut), name: "pipe", closing: true),
            ] {
                let reader = try Y4MReader(file)
                #expect(try reader.nextFrame() != nil)
                #expect(mediaFileError { try reader.nextFrame() }?.code == .corruptData)
                #expect(try reader.nextFrame() == nil)
            }
        }
    }

    @Test(arguments: ["FRAMES\n", "FRAM\n", "frame\n", "\n", "FRAME" + String(repeating: " X", count: 3000) + "\n"])
    func whatIsNoFrameIsTold(_ marker: String) throws {
        let reader = try reader("YUV4MPEG2 W4 H2\n", [packedSamples(.i420, 4, 2)], marker: marker)
        #expect(mediaFileError { try reader.nextFrame() }?.code == .corruptData)
    }
}
