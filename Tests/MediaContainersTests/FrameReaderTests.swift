import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// A codec of the simplest kind, to test the reader around it: a packet is a mark, the size, and the
/// samples of an I420 picture.
private final class PlainDecoder: VideoDecoder {
    static let factory = VideoDecoderFactory(fourCC: "I420") { PlainDecoder() }

    static func encode(_ width: Int, _ height: Int, seed: Int) -> [UInt8] {
        [0x50, UInt8(width), UInt8(height)] + packedSamples(.i420, width, height, seed: seed)
    }

    func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        guard packet.count > 3, packet[0] == 0x50 else {
            // A packet with this mark shows nothing, which is no damage.
            if packet.first == 0x51 { return }
            throw CodecError(.corruptData, operation: "decode", message: "The mark is missing.")
        }
        var next = 3
        let picture = try PixelBuffer.make(.i420, width: Int(packet[1]), height: Int(packet[2])) { pixels in
            for plane in pixels.planes.indices {
                pixels.fill(plane: plane) { _, _ in
                    defer { next += 1 }
                    return packet[next]
                }
            }
        }
        try output(picture)
    }
}

@Suite struct FrameReaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try writeBytes(bytes, to: folder.file(name))
        return folder.file(name)
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .yuy2, .rgb24])
    func rawFramesAreRead(_ pixelFormat: PixelFormat) throws {
        let path = try file("a.raw", (0..<2).flatMap { packedSamples(pixelFormat, seed: $0) } + [1])
        var format = VideoFormat(pixelFormat, width: 5, height: 3)
        format.estimatedFramesPerSecond = 50
        let reader = try RawFrameReader(InputFile(path: path), format: format)
        #expect(reader.estimatedFrameCount == 2)
        for _ in 0..<2 {
            for seed in 0..<2 {
                let frame = try #require(try reader.nextFrame())
                #expect(samples(of: frame.buffer) == packedSamples(pixelFormat, seed: seed))
                #expect(frame.timestamp == .milliseconds(20 * seed))
            }
            #expect(mediaFileError { try reader.nextFrame() }?.code == .corruptData)
            #expect(try reader.nextFrame() == nil)
            try reader.rewind()
        }
    }

    /// The system is not asked for the size of a file before each frame.
    @Test func aFileThatChangesWhileItIsReadIsReadAsItIs() throws {
        // Larger than what is read ahead.
        let frame = packedSamples(.i420, 320, 240, seed: 1)
        let path = try file("a.raw", frame + frame)
        let reader = try RawFrameReader(
            InputFile(path: path), format: VideoFormat(.i420, width: 320, height: 240))
        #expect(try reader.nextFrame() != nil)
        try writeBytes(frame + frame + frame, to: path)
        for _ in 0..<2 {
            let next = try #require(try reader.nextFrame())
            #expect(samples(of: next.buffer) == frame)
        }
        #expect(try reader.nextFrame() == nil)
        try reader.rewind()
        #expect(try reader.nextFrame() != nil)
        try writeBytes(frame + frame.prefix(5), to: path)
        #expect(mediaFileError { try reader.nextFrame() }?.code == .corruptData)
        #expect(try reader.nextFrame() == nil)
    }

    @Test(arguments: [
        VideoFormat(.mjpeg, width: 5, height: 3), VideoFormat(.i420, width: 0, height: 3),
        VideoFormat(.i420, width: 5, height: 16384), VideoFormat(.i420, width: -1, height: 1),
    ])
    func whatIsNoRawFormatIsTold(_ format: VideoFormat) throws {
        let path = try file("a.yuv", [1])
        let error = mediaFileError { try RawFrameReader(InputFile(path: path), format: format) }
        #expect(error?.code == .formatUnsupported)
    }

    @Test func damagedPacketsAreLeftOutAndCounted() throws {
        let good = PlainDecoder.encode(4, 2, seed: 0)
        let other = PlainDecoder.encode(6, 4, seed: 9)
        let path = try file(
            "a.ivf",
            ivf(
                fourCC: "I420", width: 99, height: 99,
                packets: [(0, [1]), (1, good), (2, [0x51]), (3, [2, 3]), (4, [0, 0, 0, 0]), (5, other)]))
        let reader = try MediaFileReader.open(path: path, decoders: [PlainDecoder.factory])
        #expect(reader.format.imageWidth == 4)
        #expect(reader.damagedPackets == 1)
        for round in 1...2 {
            let first = try #require(try reader.nextFrame())
            #expect(samples(of: first.buffer) == packedSamples(.i420, 4, 2))
            #expect(first.timestamp.nanoseconds == 33_333_333)
            let second = try #require(try reader.nextFrame())
            #expect(samples(of: second.buffer) == packedSamples(.i420, 6, 4, seed: 9))
            #expect(try reader.nextFrame() == nil)
            #expect(reader.damagedPackets == UInt64(round) * 3)
            try reader.rewind()
        }
    }

    @Test func aMissingDecoderAndAFileWithoutPicturesAreTold() throws {
        let path = try file("a.ivf", ivf(fourCC: "VP90", packets: [(0, [1])]))
        let missing = mediaFileError { try MediaFileReader.open(path: path, decoders: [PlainDecoder.factory]) }
        #expect(missing?.code == .formatUnsupported)
        #expect(missing?.message.contains("VP90") == true)
        #expect(missing?.message.contains("I420") == true)
        let empty = try file("b.ivf", ivf(fourCC: "I420", packets: [(0, [1]), (1, [2])]))
        let damaged = mediaFileError { try MediaFileReader.open(path: empty, decoders: [PlainDecoder.factory]) }
        #expect(damaged?.code == .corruptData)
    }

    @Test func theContentChoosesTheReader() throws {
        // Y4M under a wrong name.
        let y4m = try file("a.ivf", Array("YUV4MPEG2 W4 H2\n".utf8))
        #expect(try MediaFileReader.open(path: y4m, decoders: []) is Y4MReader)
        let raw = try file("a.bin", packedSamples())
        let format = VideoFormat.i420(width: 5, height: 3)
        #expect(try MediaFileReader.open(path: raw, decoders: [], rawFormat: format) is RawFrameReader)
        #expect(mediaFileError { try MediaFileReader.open(path: raw, decoders: []) }?.code == .formatUnsupported)
        let yuv = try file("a.YUV", packedSamples())
        let error = mediaFileError { try MediaFileReader.open(path: yuv, decoders: []) }
        #expect(error?.message.contains("does not state its size") == true)
        let webm = try file("a.webm", [0x1A, 0x45, 0xDF, 0xA3, 0])
        #expect(
            mediaFileError { try MediaFileReader.open(path: webm, decoders: []) }?.message.contains("-c copy out.ivf")
                == true)
        let empty = try file("empty.y4m", [])
        #expect(mediaFileError { try MediaFileReader.open(path: empty, decoders: []) }?.code == .corruptData)
        let none = mediaFileError { try MediaFileReader.open(path: folder.file("none"), decoders: []) }
        #expect(none?.code == .notFound)
        #expect(none?.description.contains("No such file") == true)
        #expect(mediaFileError { try MediaFileReader.open(path: folder.path, decoders: []) }?.code == .system)
    }
}
