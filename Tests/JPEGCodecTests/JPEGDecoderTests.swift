import FrameProcessing
import JPEGCodec
import TestTools
import Testing
import VideoCapturing

/// Pixels beside those of libjpeg's own `djpeg` and of ffmpeg.
@Suite struct JPEGDecoderTests {
    struct Sampling: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        /// What ffmpeg calls it.
        var pixelFormat: String
        /// How many times as wide and as high as chroma luma is.
        var across: Int
        var down: Int
        var testDescription: String { arguments.joined(separator: " ") }

        init(_ arguments: String, _ pixelFormat: String, _ across: Int, _ down: Int) {
            self.arguments = arguments.split(separator: " ").map { String($0) }
            self.pixelFormat = pixelFormat
            self.across = across
            self.down = down
        }
    }

    static let samplings = [
        Sampling("-sample 2x2", "yuvj420p", 2, 2),
        Sampling("-sample 2x1", "yuvj422p", 2, 1),
        Sampling("-sample 1x1", "yuvj444p", 1, 1),
        Sampling("-sample 1x2", "yuvj440p", 1, 2),
        Sampling("-sample 4x1", "yuvj411p", 4, 1),
        // The same, in FFmpeg's and other odd ways.
        Sampling("-sample 2x2,1x2,1x2", "yuvj422p", 2, 1),
        Sampling("-sample 1x2,1x2,1x2", "yuvj444p", 1, 1),
        Sampling("-sample 2x1,2x1,2x1", "yuvj444p", 1, 1),
        Sampling("-sample 2x2 -progressive", "yuvj420p", 2, 2),
        Sampling("-sample 2x1 -progressive", "yuvj422p", 2, 1),
        Sampling("-sample 2x2 -optimize -restart 1", "yuvj420p", 2, 2),
    ]

    @Test(arguments: samplings, [(53, 37), (48, 32)])
    func pixelsAreThoseOfOthers(sampling: Sampling, size: (Int, Int)) throws {
        let tools = TemporaryFolder()
        let (width, height) = size
        let jpeg = try tools.makeJPEG(width: width, height: height, sampling.arguments)
        let planar = try JPEGDecoder(pixelFormat: .i420).samples(jpeg)
        #expect(try JPEGDecoder(pixelFormat: .nv12).samples(jpeg) == planar)
        #expect(try planar.planes[0] == tools.luma(of: jpeg, width: width, height: height))
        let theirs = Samples(
            try tools.planes(of: jpeg, pixelFormat: sampling.pixelFormat), width: width, height: height,
            across: sampling.across, down: sampling.down)
        for plane in 0..<3 { #expect(planar.difference(to: theirs, plane: plane) <= 1, "plane \(plane)") }
    }

    /// All of these are pictures to the processor, too, in each order of chroma and down to one row of it.
    @Test(arguments: samplings, [(53, 37), (5, 2), (3, 1)])
    func theProcessorDecodesTheSame(sampling: Sampling, size: (Int, Int)) throws {
        let tools = TemporaryFolder()
        let jpeg = try tools.makeJPEG(width: size.0, height: size.1, sampling.arguments)
        let expected = try JPEGDecoder().samples(jpeg)
        let picture = try jpeg.withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: size.0, height: size.1)
        }
        let processor = FrameProcessor()
        for target in [PixelFormat.nv12, .nv21, .i420, .yv12] {
            let made = try processor.apply(FrameTransform(pixelFormat: target), to: picture)
            #expect(Samples(made.buffer) == expected && made.color == .jpeg, "\(target)")
        }
    }

    @Test(arguments: [(1, 1), (2, 2), (1, 9), (17, 1), (16, 16), (353, 287)])
    func takesEverySize(width: Int, height: Int) throws {
        let tools = TemporaryFolder()
        let decoder = JPEGDecoder()
        for sampling in ["2x2", "2x1", "1x1", "4x1"] {
            let jpeg = try tools.makeJPEG(width: width, height: height, ["-sample", sampling])
            let ours = try decoder.samples(jpeg)
            #expect(ours.width == width && ours.height == height)
            #expect(try ours.planes[0] == tools.luma(of: jpeg, width: width, height: height))
            #expect(ours.planes[2].count == (width + 1) / 2 * ((height + 1) / 2))
        }
    }

    @Test func takesAQuarterOfTheChromaEitherWay() throws {
        let tools = TemporaryFolder()
        // A single colour, so that every way to average is the same.
        let red = [UInt8]((0..<(41 * 23)).flatMap { _ in [200, 30, 40] as [UInt8] })
        try tools.write(Array("P6\n41 23\n255\n".utf8) + red, to: "red.ppm")
        var results: [Samples] = []
        for sampling in ["2x2", "4x2", "1x4", "2x4,1x1,1x1", "4x1,1x1,2x1"] {
            try tools.run("cjpeg", ["-quality", "100", "-sample", sampling, "-outfile", "red.jpg", "red.ppm"])
            results.append(try JPEGDecoder(pixelFormat: .i420).samples(try tools.read("red.jpg")))
        }
        #expect(results.allSatisfy { $0 == results[0] })
        #expect(Set(results[0].planes[2]).count == 1)
    }

    @Test(arguments: [PixelFormat.nv12, .i420], [[], ["-sample", "2x2"], ["-progressive"]])
    func greyHasNeutralChroma(pixelFormat: PixelFormat, arguments: [String]) throws {
        let tools = TemporaryFolder()
        let jpeg = try tools.makeJPEG(width: 35, height: 19, ["-grayscale"] + arguments)
        let ours = try JPEGDecoder(pixelFormat: pixelFormat).samples(jpeg)
        #expect(try ours.planes[0] == tools.luma(of: jpeg, width: 35, height: 19))
        #expect(ours.planes[1...].allSatisfy { $0.count == 18 * 10 && $0.allSatisfy { $0 == 128 } })
    }

    @Test func addsTheStandardHuffmanTables() throws {
        let tools = TemporaryFolder()
        let whole = try tools.makeJPEG(width: 40, height: 30)
        let optimized = try tools.makeJPEG(width: 40, height: 30, ["-optimize"])
        let bare = removing(0xC4, from: whole)
        #expect(bare.count < whole.count)
        let expected = try JPEGDecoder().samples(whole)
        let decoder = JPEGDecoder()
        #expect(try decoder.samples(bare) == expected)
        // The tables of the picture before are not taken for the standard ones.
        #expect(try decoder.samples(optimized) == expected)
        #expect(try decoder.samples(bare) == expected)
    }

    @Test func takesNoTableFromThePictureBefore() throws {
        let tools = TemporaryFolder()
        let whole = try tools.makeJPEG(width: 40, height: 30)
        let decoder = JPEGDecoder()
        let expected = try decoder.samples(whole)
        #expect { try decoder.samples(removing(0xDB, from: whole)) } throws: {
            ($0 as? CodecError)?.code == .corruptData && "\($0)".contains("quantization table")
        }
        #expect(try decoder.samples(whole) == expected)
    }

    @Test func changesItsSize() throws {
        let tools = TemporaryFolder()
        let decoder = JPEGDecoder()
        for (width, height) in [(16, 16), (130, 5), (3, 70), (64, 48)] {
            let jpeg = try tools.makeJPEG(width: width, height: height, ["-sample", "2x1"])
            #expect(try decoder.samples(jpeg) == JPEGDecoder(pixelFormat: .i420).samples(jpeg))
        }
    }

    @Test func decodersWorkSideBySide() async throws {
        let tools = TemporaryFolder()
        let jpegs = try ["2x2", "2x1"].map { try tools.makeJPEG(width: 64, height: 48, ["-sample", $0]) }
        let expected = try jpegs.map { try JPEGDecoder().samples($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<2 {
                let (jpeg, expected) = (jpegs[index], expected[index])
                group.addTask { () throws in
                    let decoder = JPEGDecoder()
                    for round in 0..<100 {
                        // The damage of one is not the other's.
                        if round % 3 == index {
                            #expect(throws: CodecError.self) { _ = try decoder.samples(jpeg.dropLast(40)) }
                        }
                        #expect(try decoder.samples(jpeg) == expected)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func servesReaders() throws {
        let tools = TemporaryFolder()
        let jpeg = try tools.makeJPEG(width: 20, height: 10)
        #expect(JPEGDecoder.factory.fourCC == "MJPG")
        let decoder = try JPEGDecoder.factory.makeDecoder()
        var shown: [PixelBuffer] = []
        try jpeg.withUnsafeBytes { try decoder.decode($0) { shown.append($0) } }
        #expect(shown.count == 1 && shown[0].width == 20 && shown[0].pixelFormat == .nv12)
    }
}

extension JPEGDecoder {
    fileprivate func samples(_ bytes: ArraySlice<UInt8>) throws -> Samples { try samples(Array(bytes)) }
}
