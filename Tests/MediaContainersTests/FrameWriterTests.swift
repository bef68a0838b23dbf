import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct FrameWriterTests {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    @Test(arguments: [PixelFormat.i420, .nv12])
    func rawFilesHoldSamplesWithoutPadding(_ pixelFormat: PixelFormat) throws {
        let path = folder.file("a.yuv")
        let writer = RawFrameWriter(try OutputFile(path: path), pixelFormat: pixelFormat)
        for seed in 0..<3 { try writer.writeFrame(makeFrame(pixelFormat, seed: seed)) }
        try writer.finish()
        #expect(try readBytes(path) == (0..<3).flatMap { packedSamples(pixelFormat, seed: $0) })
        #expect(writer.bytesWritten == 3 * Int64(pixelFormat.packedByteCount(width: 5, height: 3)))
    }

    @Test func rowsAsLongAsTheirStrideAreWrittenWhole() throws {
        let path = folder.file("a.yuv")
        let writer = RawFrameWriter(try OutputFile(path: path), pixelFormat: .i420)
        try writer.writeFrame(makeFrame(.i420, 128, 4))
        try writer.finish()
        #expect(try readBytes(path) == packedSamples(.i420, 128, 4))
    }

    @Test func rawFilesRefuseOtherFormatsAndSizes() throws {
        let path = folder.file("a.yuv")
        let writer = RawFrameWriter(try OutputFile(path: path), pixelFormat: .i420)
        try writer.writeFrame(makeFrame())
        let format = mediaFileError { try writer.writeFrame(makeFrame(.nv12)) }
        #expect(format?.code == .formatUnsupported)
        #expect(format?.message == "The file holds I420, but the frame is NV12; convert it first.")
        let size = mediaFileError { try writer.writeFrame(makeFrame(.i420, 6, 3)) }
        #expect(size?.code == .formatUnsupported)
        #expect(size?.message.contains("began with 5x3, but the frame is 6x3") == true)
        try writer.finish()
        #expect(try readBytes(path) == packedSamples())
    }

    @Test(arguments: [ColorDescription.bt601, .jpeg])
    func y4mHasItsHeaderAndFrames(_ color: ColorDescription) throws {
        let path = folder.file("a.y4m")
        let writer = Y4MWriter(try OutputFile(path: path), rate: try #require(FrameRate(30000, per: 1001)))
        try writer.writeFrame(makeFrame(color: color))
        try writer.writeFrame(makeFrame(seed: 1, at: .seconds(9), color: color))
        try writer.finish()
        let range = color.range == .full ? "FULL" : "LIMITED"
        let header = "YUV4MPEG2 W5 H3 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=\(range)\n"
        let frame = Array("FRAME\n".utf8)
        #expect(
            try readBytes(path)
                == Array(header.utf8) + frame + packedSamples() + frame + packedSamples(seed: 1))
    }

    @Test func y4mStatesTheShapeOfPixels() throws {
        let path = folder.file("a.y4m")
        let writer = Y4MWriter(try OutputFile(path: path), rate: 25)
        var frame = try makeFrame()
        frame.pixelAspect = try #require(PixelAspect(width: 64, height: 45))
        try writer.writeFrame(frame)
        try writer.finish()
        #expect(try Y4MReader(InputFile(path: path)).pixelAspect == frame.pixelAspect)
    }

    @Test func theMD5IsThatOfTheSamples() throws {
        let path = folder.file("a.md5")
        let writer = MD5Writer(try OutputFile(path: path))
        #expect(writer.digest == nil)
        try writer.finish()
        try writer.finish()
        // RFC 1321, A.5: the MD5 of nothing.
        #expect(writer.digest == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(try readBytes(path) == Array("MD5=d41d8cd98f00b204e9800998ecf8427e\n".utf8))
    }

    @Test func theMD5DoesNotDependOnStrides() throws {
        let bytes = packedSamples(.rgb24, 4, 2)
        let padded = try makeFrame(.rgb24, 4, 2)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
        nonisolated(unsafe) let owned = memory
        let tight = try PixelBuffer(
            wrapping: [PixelBuffer.PlaneMemory(base: memory.baseAddress!, byteCount: bytes.count, bytesPerRow: 12)],
            as: .rgb24,
            width: 4, height: 2
        ) { owned.deallocate() }
        let digests = try [padded.buffer, tight].map { buffer in
            let writer = MD5Writer()
            writer.writeFrame(VideoFrame(buffer: buffer, timestamp: .zero))
            try writer.finish()
            #expect(writer.bytesWritten == 24)
            return writer.digest
        }
        // python3: hashlib.md5(bytes(range(24)))
        #expect(digests == ["8bd9c8efbbac58748951ca5a45cfd386", "8bd9c8efbbac58748951ca5a45cfd386"])
    }

    @Test func theNullWriterCounts() throws {
        let writer = NullWriter()
        writer.writeFrame(try makeFrame())
        #expect(writer.bytesWritten == 27)
        let packets = NullPacketWriter()
        packets.write(makePacket([1, 2, 3], at: .zero))
        #expect(packets.bytesWritten == 3)
    }

    @Test func theMD5OfPacketsIsThatOfTheirBytes() throws {
        let writer = MD5PacketWriter()
        for text in ["mess", "age ", "digest"] {
            writer.write(makePacket(Array(text.utf8), at: .zero))
        }
        try writer.finish()
        // RFC 1321, A.5.
        #expect(writer.digest == "f96b697d7cb7938d525a2f31aaf161d0")
    }
}
