import CapturerTestKit
import FrameProcessing
import JPEGCodec
import TestTools
import Testing
import VideoCapturing

@testable import StillCapture

/// What is in a still: read back by our own decoder and by other programs.
@Suite struct EncodingTests {
    private let folder = TemporaryFolder()

    /// The only frame of a rig as a still.
    private func still(_ frame: VideoFrame, _ settings: Still.Settings) async throws -> Still {
        let rig = Rig()
        var frame = frame
        frame.timestamp = rig.clock.now
        _ = rig.stills.consumeInline(frame)
        return try await rig.stills.capture(settings)
    }

    private func frame(_ buffer: PixelBuffer, orientation: VideoOrientation = .up) -> VideoFrame {
        VideoFrame(buffer: buffer, timestamp: .zero, orientation: orientation)
    }

    private func jpegFrame(_ bytes: [UInt8], width: Int, height: Int) throws -> VideoFrame {
        frame(try bytes.withUnsafeBytes { try PixelBuffer.compressed($0, as: .mjpeg, width: width, height: height) })
    }

    /// A JPEG with colors and edges.
    private func madeJPEG(width: Int = 64, height: Int = 48) throws -> [UInt8] {
        let path = folder.file("made.jpg")
        try run(
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=\(width)x\(height)", "-frames:v", "1",
            path)
        return try readBytes(path)
    }

    private func decoded(_ jpeg: [UInt8]) throws -> [UInt8] {
        try run("djpeg", ["-pnm", try folder.write(jpeg, to: "a.jpg")])
    }

    /// The RGB samples of a picture file.
    private func samples(_ bytes: [UInt8], _ name: String) throws -> [UInt8] {
        try run(
            "ffmpeg",
            [
                "-v", "error", "-noautorotate", "-i", try folder.write(bytes, to: name), "-f", "rawvideo", "-pix_fmt",
                "rgb24", "-",
            ])
    }

    // MARK: JPEG

    @Test func betterIsLarger() async throws {
        let buffer = try PixelBuffer.make(.nv12, width: 64, height: 48) { TestPicture.fill($0, index: 1) }
        var sizes: [Int] = []
        for quality in [10, 50, 90, 100] {
            let still = try await still(frame(buffer), Still.Settings(quality: quality))
            #expect(still.quality == quality && !still.isQualityReduced && !still.isPassedThrough)
            sizes.append(still.bytes.count)
        }
        #expect(sizes == sizes.sorted() && Set(sizes).count == 4)
    }

    /// Every format that a capture may deliver.
    @Test(arguments: PixelFormat.allCases.filter { !$0.isCompressed }, Still.Settings.Format.allCases)
    func allFormatsAreEncoded(pixelFormat: PixelFormat, format: Still.Settings.Format) async throws {
        let buffer = try PixelBuffer.black(pixelFormat, width: 34, height: 18, color: .assumed(for: pixelFormat))
        let still = try await still(frame(buffer), Still.Settings(format: format))
        #expect(still.size == PixelSize(width: 34, height: 18))
        guard format != .nv12 else {
            #expect(still.bytes.count == PixelFormat.nv12.packedByteCount(width: 34, height: 18))
            return
        }
        let pixels = try samples(still.bytes, "a.\(format)")
        #expect(pixels.count == 34 * 18 * 3 && pixels.allSatisfy { $0 <= 2 })
    }

    @Test func aCamerasOwnJPEGIsUntouched() async throws {
        let jpeg = try madeJPEG()
        let untouched = try await still(
            jpegFrame(jpeg, width: 64, height: 48), Still.Settings(writesEXIF: false))
        #expect(untouched.bytes == jpeg && untouched.isPassedThrough && untouched.quality == nil)
        // Also where it comes next to the samples.
        var both = frame(try flatPicture(7, width: 64, height: 48))
        both.compressed = try jpegFrame(jpeg, width: 64, height: 48).buffer
        #expect(try await still(both, Still.Settings(writesEXIF: false)).bytes == jpeg)
        #expect(try await still(both, Still.Settings(passesThrough: false)).isPassedThrough == false)
        let reencoded = try await still(
            jpegFrame(jpeg, width: 64, height: 48), Still.Settings(quality: 30, passesThrough: false))
        #expect(reencoded.quality == 30 && !reencoded.isPassedThrough)
        #expect(try decoded(reencoded.bytes).count == decoded(jpeg).count)
    }

    /// EXIF is all that is inserted, and takes the place of what was there.
    @Test func onlyEXIFIsInserted() async throws {
        let jpeg = try madeJPEG()
        let tagged = try await still(jpegFrame(jpeg, width: 64, height: 48), Still.Settings())
        let length = tagged.bytes.count - jpeg.count
        let start = 2 + 18
        // After JFIF's segment of 18 bytes.
        #expect(Array(jpeg[2...3]) == [0xFF, 0xE0] && jpeg[4...5].elementsEqual([0, 16]))
        #expect(Array(tagged.bytes[start..<start + 2]) == [0xFF, 0xE1])
        #expect(tagged.bytes[..<start] + tagged.bytes[(start + length)...] == jpeg[...])
        #expect(try decoded(tagged.bytes) == decoded(jpeg))
        let again = try await still(jpegFrame(tagged.bytes, width: 64, height: 48), Still.Settings())
        #expect(again.bytes.count == tagged.bytes.count)
    }

    /// Many webcams leave out the Huffman tables, without which most programs read nothing.
    @Test func missingTablesAreInserted() async throws {
        // ffmpeg's tables are its own, libjpeg's the standard ones.
        let buffer = try PixelBuffer.make(.nv12, width: 64, height: 48) { TestPicture.fill($0, index: 3) }
        let whole = try await still(frame(buffer), Still.Settings(writesEXIF: false)).bytes
        var bare: [UInt8] = []
        var position = 2
        bare += whole[..<2]
        while whole[position + 1] != 0xDA {
            let end = position + 2 + Int(whole[position + 2]) << 8 + Int(whole[position + 3])
            if whole[position + 1] != 0xC4 { bare += whole[position..<end] }
            position = end
        }
        bare += whole[position...]
        #expect(bare.count == whole.count - 432)
        let completed = try await still(jpegFrame(bare, width: 64, height: 48), Still.Settings(writesEXIF: false))
        #expect(completed.isPassedThrough && completed.bytes.count == whole.count)
        #expect(try decoded(completed.bytes) == decoded(whole))
    }

    // MARK: PNG and samples

    /// RGB comes back to the last bit.
    @Test(arguments: [(33, 17), (1, 1), (640, 480)]) func aPNGIsExact(width: Int, height: Int) async throws {
        let buffer = try PixelBuffer.make(.rgb24, width: width, height: height) { TestPicture.fill($0, index: 5) }
        let still = try await still(frame(buffer), Still.Settings(format: .png))
        var given: [UInt8] = []
        for row in 0..<height { buffer.withRow(row, ofPlane: 0) { given += $0 } }
        #expect(try samples(still.bytes, "a.png") == given)
        #expect(still.quality == nil)
    }

    /// No chunk but IDAT may be there twice (PNG, 5.6), and strict readers refuse such a file.
    @Test(arguments: [true, false]) func aPNGHasEachChunkOnce(writesEXIF: Bool) async throws {
        let buffer = try PixelBuffer.make(.rgb24, width: 33, height: 17) { TestPicture.fill($0, index: 5) }
        let bytes = try await still(frame(buffer), Still.Settings(format: .png, writesEXIF: writesEXIF)).bytes
        var chunks: [String] = []
        var position = 8
        while position + 12 <= bytes.count {
            let length = bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            chunks.append(String(decoding: bytes[position + 4..<position + 8], as: UTF8.self))
            position += length + 12
        }
        #expect(position == bytes.count)
        #expect(chunks.filter { $0 != "IDAT" } == ["IHDR"] + (writesEXIF ? ["eXIf"] : []) + ["IEND"])
    }

    /// Viewers of images do not know of pixels that are not square.
    @Test(arguments: [Still.Settings.Format.jpeg, .png]) func pixelsAreSquare(_ format: Still.Settings.Format)
        async throws
    {
        var frame = frame(try PixelBuffer.make(.nv12, width: 34, height: 18) { TestPicture.fill($0, index: 9) })
        frame.pixelAspect = try #require(PixelAspect(width: 2, height: 1))
        let still = try await still(frame, Still.Settings(format: format))
        #expect(still.size == PixelSize(width: 68, height: 18))
    }

    @Test func samplesAreAsTheyWere() async throws {
        let buffer = try PixelBuffer.make(.nv12, width: 34, height: 18) { TestPicture.fill($0, index: 9) }
        let still = try await still(frame(buffer, orientation: .left), Still.Settings(format: .nv12))
        var given: [UInt8] = []
        for (plane, shape) in buffer.planes.enumerated() {
            for row in 0..<shape.rows { buffer.withRow(row, ofPlane: plane) { given += $0 } }
        }
        #expect(still.bytes == given && still.orientation == .left && still.color == .bt601)
    }

    // MARK: Orientation

    /// Written: the pixels stay. Applied: they are turned.
    @Test(arguments: Still.Settings.Format.allCases) func orientation(format: Still.Settings.Format) async throws {
        // The left half is white.
        let buffer = try PixelBuffer.make(.nv12, width: 32, height: 16) { pixels in
            pixels.fill(plane: 0) { column, _ in column < 16 ? 235 : 16 }
            pixels.fill(plane: 1, with: 128)
        }
        let written = try await still(frame(buffer, orientation: .left), Still.Settings(format: format))
        #expect(written.size == PixelSize(width: 32, height: 16) && written.orientation == .left)
        let applied = try await still(
            frame(buffer, orientation: .left), Still.Settings(format: format, orientation: .applied))
        #expect(applied.size == PixelSize(width: 16, height: 32) && applied.orientation == .up)
        guard format != .nv12 else {
            // Clockwise, so that the left is above.
            #expect(applied.bytes[5] == 235 && applied.bytes[16 * 31 + 5] == 16)
            return
        }
        let pixels = try samples(applied.bytes, "a.\(format)")
        #expect(pixels[3 * 5] > 250 && pixels[3 * (16 * 31 + 5)] < 5)
        for (still, code) in [(written, "6"), (applied, "1")] {
            let path = try folder.write(still.bytes, to: "a.\(format)")
            #expect(try run("exiftool", "-n", "-s3", "-Orientation", path) == code + "\n")
        }
    }

    /// A camera's own JPEG is not turned in its file, but where that is asked for it is decoded.
    @Test func aCamerasJPEGIsTurned() async throws {
        var lying = try jpegFrame(try madeJPEG(), width: 64, height: 48)
        lying.orientation = .right
        let written = try await still(lying, Still.Settings())
        #expect(written.isPassedThrough && written.orientation == .right)
        let applied = try await still(lying, Still.Settings(orientation: .applied))
        #expect(!applied.isPassedThrough && applied.size == PixelSize(width: 48, height: 64))
    }

    // MARK: Quality

    /// It falls by ten for each frame that waits beyond one for each worker, to the minimum.
    @Test func qualityFallsWithTheBacklog() async throws {
        let rig = Rig(StillCapture.Configuration(workerCount: 1))
        var requests: [Task<Still, any Error>] = []
        for _ in 0..<8 { requests.append(await rig.begin(Still.Settings(quality: 90, minimumQuality: 50))) }
        try rig.feed()
        var qualities: [Int] = []
        for request in requests {
            let still = try await request.value
            #expect(still.isQualityReduced == (still.quality! < 90))
            qualities.append(still.quality!)
        }
        #expect(qualities == [50, 50, 50, 60, 70, 80, 90, 90])
    }

    @Test func qualityStaysWhereItMayNotFall() {
        #expect(StillEncoder.quality(Still.Settings(quality: 90), backlog: 100, workers: 1) == 90)
        #expect(StillEncoder.quality(Still.Settings(quality: 90, minimumQuality: 10), backlog: 100, workers: 1) == 10)
    }
}
