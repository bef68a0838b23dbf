import FrameProcessing
import JPEGCodec
import TestTools
import Testing
import VideoCapturing

@Suite struct JPEGEncoderTests {
    @Test(arguments: [(50, 27.0), (80, 30.0), (95, 36.0), (100, 44.0)])
    func comesBackAsTrueAsTheQualitySays(quality: Int, least: Double) throws {
        let encoder = try JPEGEncoder(quality: quality)
        let buffer = try picture(.i420, width: 96, height: 64)
        let jpeg = try encoder.bytes(frame(buffer))
        let back = try JPEGDecoder(pixelFormat: .i420).samples(jpeg)
        let given = Samples(buffer)
        for plane in 0..<3 {
            let psnr = back.psnr(to: given, plane: plane)
            #expect(psnr > least, "plane \(plane): \(psnr) dB")
        }
    }

    @Test func betterIsLarger() throws {
        let buffer = try picture(.nv12, width: 96, height: 64)
        let sizes = try [1, 30, 60, 90, 100].map { try JPEGEncoder(quality: $0).bytes(frame(buffer)).count }
        #expect(sizes == sizes.sorted() && Set(sizes).count == sizes.count)
        let optimized = try JPEGEncoder(quality: 60, optimizesHuffmanTables: true)
        #expect(try optimized.bytes(frame(buffer)).count < sizes[2])
        // The pixels are the same.
        #expect(
            try JPEGDecoder().samples(optimized.bytes(frame(buffer)))
                == JPEGDecoder().samples(JPEGEncoder(quality: 60).bytes(frame(buffer))))
    }

    /// However chroma lies, and whatever lies beside the samples.
    @Test(arguments: [(64, 48), (53, 37), (1, 1), (2, 2), (17, 16), (8, 30), (353, 287)])
    func allLayoutsGiveTheSameBytes(width: Int, height: Int) throws {
        let encoder = try JPEGEncoder()
        for range in [ColorDescription.Range.full, .limited] {
            let color = ColorDescription(matrix: .bt601, range: range)
            let jpegs = try [PixelFormat.i420, .yv12, .nv12, .nv21].map { format in
                try encoder.bytes(frame(try picture(format, width: width, height: height, range: range), color: color))
            }
            #expect(Set(jpegs).count == 1)
            let back = try JPEGDecoder().samples(jpegs[0])
            #expect(back.width == width && back.height == height)
        }
    }

    /// Packed 4:2:2 gives what it gives when it is made 4:2:0 first.
    @Test(
        arguments: [PixelFormat.yuy2, .uyvy],
        [(64, 48), (53, 37), (1, 1), (2, 2), (17, 16), (8, 30), (353, 287), (32, 17)])
    func packedSamplesAreReadWhereTheyLie(format: PixelFormat, size: (width: Int, height: Int)) throws {
        let encoder = try JPEGEncoder()
        let packed = try PixelBuffer.make(format, width: size.width, height: size.height) { pixels in
            for row in 0..<size.height {
                pixels.withRow(row, ofPlane: 0) { bytes in
                    // Every value, and no two rows or neighbours alike.
                    for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: 37 * index + 101 * row) }
                }
            }
        }
        for range in [ColorDescription.Range.full, .limited] {
            let given = frame(packed, color: ColorDescription(matrix: .bt601, range: range))
            #expect(JPEGEncoder.canEncode(given))
            let converted = try FrameProcessor().convert(given, to: .i420, color: given.color)
            #expect(try encoder.bytes(given) == encoder.bytes(converted), "\(range)")
        }
    }

    /// ffmpeg and djpeg agree with our decoder on what we encode.
    @Test func othersReadIt() throws {
        let tools = TemporaryFolder()
        let jpeg = try JPEGEncoder(quality: 90).bytes(frame(try picture(.nv12, width: 53, height: 37)))
        let ours = try JPEGDecoder().samples(jpeg)
        #expect(try ours.planes[0] == tools.luma(of: jpeg, width: 53, height: 37))
        let theirs = Samples(
            try tools.planes(of: jpeg, pixelFormat: "yuvj420p"), width: 53, height: 37, across: 2, down: 2)
        for plane in 0..<3 { #expect(ours.difference(to: theirs, plane: plane) <= 1) }
    }

    @Test func limitedRangeIsStretched() throws {
        let encoder = try JPEGEncoder(quality: 100)
        // Flat pictures, so that quantization takes nothing.
        for value in stride(from: 0, through: 255, by: 5) {
            let buffer = try PixelBuffer.make(.nv12, width: 16, height: 16) { pixels in
                pixels.fill(plane: 0, with: UInt8(value))
                pixels.fill(plane: 1, with: UInt8(value))
            }
            let back = try JPEGDecoder().samples(encoder.bytes(frame(buffer, color: .bt601)))
            let luma = min(255, max(0, (Double(value) - 16) * 255 / 219))
            let chroma = min(255, max(0, (Double(value) - 128) * 255 / 224 + 128))
            #expect((Double(back.planes[0][40]) - luma).magnitude <= 1, "luma \(value)")
            #expect((Double(back.planes[1][20]) - chroma).magnitude <= 1, "chroma \(value)")
            #expect((Double(back.planes[2][20]) - chroma).magnitude <= 1, "chroma \(value)")
        }
    }

    /// As FrameProcessor converts it.
    @Test func limitedRangeIsAsElsewhere() throws {
        let given = frame(try picture(.i420, width: 64, height: 48, range: .limited), color: .bt601)
        let converted = try FrameProcessor().convert(given, to: .i420, color: .jpeg)
        let encoder = try JPEGEncoder(quality: 100)
        let ours = try JPEGDecoder().samples(encoder.bytes(given))
        let theirs = try JPEGDecoder().samples(encoder.bytes(converted))
        for plane in 0..<3 { #expect(ours.difference(to: theirs, plane: plane) <= 4) }
        for plane in 0..<3 { #expect(ours.psnr(to: theirs, plane: plane) > 48) }
    }

    @Test func passesJPEGsOn() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17, ["-progressive"])
        let bytes = jpeg + [1, 2, 3]
        let compressed = try bytes.withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: 33, height: 17)
        }
        let pixels = try picture(.nv12, width: 33, height: 17)
        let encoder = try JPEGEncoder()
        #expect(try encoder.bytes(frame(compressed)) == bytes)
        var both = frame(pixels)
        both.compressed = compressed
        #expect(try encoder.bytes(both) == bytes)
        let anew = try JPEGEncoder(passesThrough: false)
        #expect(try anew.bytes(both) == anew.bytes(frame(pixels)))
        #expect { try anew.bytes(frame(compressed)) } throws: {
            ($0 as? CodecError)?.code == .formatUnsupported && "\($0)".contains("JPEGDecoder")
        }
    }

    @Test func packetsTellWhatTheyAre() throws {
        let encoder = try JPEGEncoder()
        var given = frame(try picture(.nv12, width: 34, height: 18), color: .bt601)
        given.orientation = .left
        given.sequenceNumber = 9
        given.estimatedFrameRate = 25
        var packets: [MediaPacket] = []
        try encoder.encode(given) { packets.append($0) }
        try encoder.flush { packets.append($0) }
        let packet = try #require(packets.first)
        #expect(packets.count == 1 && packet.isKeyFrame && packet.isDroppable)
        #expect(packet.width == 34 && packet.height == 18 && packet.timestamp == given.timestamp)
        #expect(packet.duration == .milliseconds(40))
        #expect(packet.attributes.orientation == .left && packet.sequenceNumber == 9)
        #expect(packet.attributes.color == .jpeg)
    }

    @Test func refusesWhatMustBeConverted() throws {
        let encoder = try JPEGEncoder()
        for format in [PixelFormat.argb, .rgb24] {
            let given = frame(try PixelBuffer.make(format, width: 16, height: 16) { $0.fill(plane: 0, with: 90) })
            #expect(!JPEGEncoder.canEncode(given))
            #expect { try encoder.bytes(given) } throws: {
                ($0 as? CodecError)?.code == .formatUnsupported && "\($0)".contains("FrameProcessor.convert")
            }
        }
        let high = frame(try picture(.nv12, width: 16, height: 16, range: .limited), color: .bt709)
        #expect { try encoder.bytes(high) } throws: {
            ($0 as? CodecError)?.code == .formatUnsupported && "\($0)".contains("FrameProcessor.convert")
        }
        #expect(try !encoder.bytes(try FrameProcessor().convert(high, to: .nv12, color: .jpeg)).isEmpty)
    }

    @Test(arguments: [0, 101, -1]) func refusesAbsurdQualities(quality: Int) {
        #expect { try JPEGEncoder(quality: quality) } throws: { ($0 as? CodecError)?.code == .invalidConfiguration }
    }
}
