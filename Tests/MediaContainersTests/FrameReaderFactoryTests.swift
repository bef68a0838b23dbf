import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// One plain picture.
private final class OnePicture: FrameReader {
    let format = VideoFormat(.i420, width: 4, height: 2, estimatedFramesPerSecond: 10)
    let color = ColorDescription.bt709
    let estimatedFrameCount: Int64? = 1
    let canRewind = true
    let sourceDescription = "one picture"
    func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? { nil }
    func rewind() {}
}

@Suite struct FrameReaderFactoryTests {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    private func file(_ text: String, name: String = "a.bin") throws -> String {
        try writeBytes(Array(text.utf8), to: folder.file(name))
        return folder.file(name)
    }

    /// Knows files that begin with a word; notes what it was asked.
    private func factory(
        _ word: String, asked: Locked<[FrameRate?]> = Locked([])
    ) -> FrameReaderFactory {
        FrameReaderFactory(name: word) { request in
            asked.withLock { $0.append(request.frameRate) }
            guard let file = request.file else { return OnePicture() }
            // Reads on, as a probe does.
            var bytes = [UInt8](repeating: 0, count: 8)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
            return bytes.prefix(count).starts(with: word.utf8) ? OnePicture() : nil
        }
    }

    @Test func theFirstThatKnowsTheFileReadsIt() throws {
        let path = try file("beta: data")
        let reader = try MediaFileReader.open(path: path, decoders: [], readers: [factory("alpha"), factory("beta")])
        #expect(reader.sourceDescription == "one picture")
        let error = mediaFileError {
            try MediaFileReader.open(path: path, decoders: [], readers: [factory("alpha"), factory("gamma")])
        }
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("alpha and gamma") == true)
    }

    @Test func aPipeIsGivenFromItsBeginningToEach() throws {
        let pipe = InputFile(descriptor: try pipeHolding(Array("beta: data".utf8)), name: "pipe", closing: true)
        let reader = try MediaFileReader.open(pipe, decoders: [], readers: [factory("alpha"), factory("beta")])
        #expect(reader is OnePicture)
    }

    @Test func withoutReadersItIsSaidWhatToLink() throws {
        for text in ["beta: data", "\u{1A}E\u{DF}"] {
            let error = mediaFileError { try MediaFileReader.open(path: file(text), decoders: []) }
            #expect(error?.code == .formatUnsupported)
            #expect(error?.message.contains("FFmpegContainers") == true)
        }
    }

    @Test func whatIsReadHereIsNotAskedOf() throws {
        let asked = Locked<[FrameRate?]>([])
        let readers = [factory("YUV4MPEG", asked: asked)]
        let good = try file("YUV4MPEG2 W2 H2\nFRAME\n123456")
        #expect(try MediaFileReader.open(path: good, decoders: [], readers: readers) is Y4MReader)
        #expect(asked.withLock { $0.isEmpty })
        // A kind of Y4M that is not.
        let other = try file("YUV4MPEG2 W2 H2 C422\nFRAME\n12345678")
        #expect(try MediaFileReader.open(path: other, decoders: [], readers: readers) is OnePicture)
        #expect(
            mediaFileError { try MediaFileReader.open(path: other, decoders: []) }?.message.contains("C422") == true)
    }

    @Test func anIVFWithoutADecoder() throws {
        try writeBytes(ivf(fourCC: "AV01", packets: [(0, [1, 2])]), to: folder.file("a.ivf"))
        let path = folder.file("a.ivf")
        #expect(try MediaFileReader.open(path: path, decoders: [], readers: [factory("DKIF")]) is OnePicture)
        #expect(mediaFileError { try MediaFileReader.open(path: path, decoders: []) }?.message.contains("AV01") == true)
    }

    @Test func rawSamplesAreNotTakenForSomethingElse() throws {
        let format = VideoFormat(.i420, width: 2, height: 2)
        let raw = try file("beta..", name: "a.yuv")
        let readers = [factory("beta")]
        #expect(
            try MediaFileReader.open(path: raw, decoders: [], readers: readers, rawFormat: format) is RawFrameReader)
        let named = try file("beta..", name: "a.mp4")
        #expect(try MediaFileReader.open(path: named, decoders: [], readers: readers, rawFormat: format) is OnePicture)
        let unknown = try file("delta.", name: "a.bin")
        let reader = try MediaFileReader.open(path: unknown, decoders: [], readers: readers, rawFormat: format)
        #expect(reader is RawFrameReader)
        #expect(samples(of: try #require(try reader.nextFrame()).buffer) == Array("delta.".utf8))
    }

    @Test(arguments: ["p%d.png", "p%03d.png", "%d%d/%5d"]) func numberedPictures(pattern: String) throws {
        let asked = Locked<[FrameRate?]>([])
        let path = folder.file(pattern)
        let reader = try MediaFileReader.open(
            path: path, decoders: [], readers: [factory("beta", asked: asked)], frameRate: 10)
        #expect(reader is OnePicture)
        #expect(asked.withLock { $0 } == [10])
        #expect(mediaFileError { try MediaFileReader.open(path: path, decoders: []) }?.code == .notFound)
    }

    @Test(arguments: ["100%.png", "a%20b.png", "%", "%s.png"]) func otherPercentSigns(name: String) {
        let error = mediaFileError {
            try MediaFileReader.open(path: folder.file(name), decoders: [], readers: [factory("beta")])
        }
        #expect(error?.code == .notFound)
        #expect(error?.systemError != nil)
    }

    @Test func aFileOfAPatternsNameIsThatFile() throws {
        let path = try file("beta", name: "p%d.png")
        let asked = Locked<[FrameRate?]>([])
        #expect(
            mediaFileError {
                try MediaFileReader.open(path: path, decoders: [], readers: [factory("alpha", asked: asked)])
            }?.code == .formatUnsupported)
    }
}
