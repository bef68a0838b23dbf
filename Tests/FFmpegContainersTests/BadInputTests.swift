import FFmpegContainers
import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Each kind of bad input has its error, with a sentence.
@Suite struct BadInputTests {
    private let folder: MediaFolder

    init() throws { folder = try MediaFolder() }

    private func error(_ bytes: [UInt8], _ name: String = "a") throws -> MediaFileError? {
        try writeBytes(bytes, to: folder.file(name))
        return mediaFileError { try openReader(folder.file(name)) }
    }

    @Test func isNoMediaFile() throws {
        let empty = try error([])
        #expect(empty?.code == .corruptData && empty?.message.contains("empty") == true)
        let text = try error(Array("Dear diary,\ntoday I wrote nothing.\n".utf8))
        #expect(text?.code == .formatUnsupported)
        #expect(text?.subject == folder.file("a"))
        let zeros = try error([UInt8](repeating: 0, count: 100_000))
        #expect(zeros != nil)
    }

    @Test func theFactoryLeavesUnknownBytesToOthers() throws {
        let bytes = Array("Dear diary,\n".utf8)
        let file = InputFile(descriptor: try pipeHolding(bytes), name: "pipe", closing: true)
        #expect(try FrameReaderFactory.ffmpeg.open(FrameReaderFactory.Request(path: "-", file: file)) == nil)
        #expect(try file.peek(100) { Array($0) } == bytes)
        let path = try folder.make("a.mp4", "-c:v libx264")
        let known = FrameReaderFactory.Request(path: path, file: try InputFile(path: path))
        #expect(try FrameReaderFactory.ffmpeg.open(known) is FFmpegReader)
    }

    /// What is named lies there and could be opened.
    @Test func opensNoOtherFile() throws {
        let video = try folder.make("a.ts", "-c:v libx264")
        for text in [
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(video)\n#EXT-X-ENDLIST\n",
            "ffconcat version 1.0\nfile \(video)\n",
            "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=a\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n",
            "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile\"></MPD>",
        ] {
            #expect(try error(Array(text.utf8))?.code == .formatUnsupported)
        }
        let pattern = FrameReaderFactory.Request(path: "http://127.0.0.1:9/img%03d.png", file: nil)
        #expect(mediaFileError { try FFmpegReader(pattern) }?.code == .notFound)
    }

    @Test func holdsSoundOnly() throws {
        let path = folder.file("a.mp3")
        try folder.ffmpeg(["-f", "lavfi", "-i", "sine=d=0.2", path])
        let error = mediaFileError { try openReader(path) }
        #expect(error?.code == .formatUnsupported && error?.message.contains("sound") == true)
        // A cover is no video.
        let cover = try folder.make("cover.png", frames: 1)
        let song = folder.file("song.mp3")
        try folder.ffmpeg(["-i", path, "-i", cover, "-map", "0", "-map", "1", "-c", "copy", song])
        #expect(mediaFileError { try openReader(song) }?.message.contains("sound") == true)
    }

    @Test func isEncrypted() throws {
        let path = try folder.make(
            "a.mp4",
            "-c:v libx264 -encryption_scheme cenc-aes-ctr -encryption_key 76a6c65c5ea762046bd749a2e632ccbb "
                + "-encryption_kid a7e61c373e219033c21091fa607bf3b8")
        let error = mediaFileError { try readAll(try openReader(path)) }
        #expect(error?.code == .formatUnsupported && error?.message.contains("encrypted") == true)
    }

    @Test func hasNoDecoder() throws {
        let path = try folder.make("a.avi", "-c:v mpeg4 -vtag FMP4")
        var bytes = try readBytes(path)
        for place in bytes.indices.dropLast(4) where Array(bytes[place..<place + 4]) == Array("FMP4".utf8) {
            bytes.replaceSubrange(place..<place + 4, with: Array("QQQQ".utf8))
        }
        #expect(try error(bytes)?.code == .formatUnsupported)
    }

    @Test func isTooLarge() throws {
        // A PNG's header says 16000x16000; its check sum must fit.
        let path = folder.file("a.bmp")
        try folder.make("a.bmp", frames: 1)
        var bytes = try readBytes(path)
        bytes.replaceSubrange(18..<26, with: [0x80, 0x3E, 0, 0, 0x80, 0x3E, 0, 0])
        let huge = try error(bytes)
        #expect(huge?.code == .limitExceeded || huge?.code == .corruptData)
        bytes.replaceSubrange(18..<26, with: [0, 0, 0, 0, 0, 0, 0, 0])
        #expect(try error(bytes)?.code == .corruptData)
        // The same in a container, whose size is told before a picture is.
        var movie = try readBytes(try folder.make("a.avi", "-c:v mjpeg -pix_fmt yuvj420p"))
        let header = try #require(
            movie.indices.dropLast(8).first { Array(movie[$0..<$0 + 4]) == Array("strf".utf8) })
        movie.replaceSubrange(header + 12..<header + 20, with: [0x00, 0x40, 0, 0, 0x00, 0x40, 0, 0])
        _ = try error(movie)
        #expect(peakMemory() < 3 << 29)
    }

    @Test(
        arguments: [
            ("a.mp4", "-c:v libx264 -movflags +faststart"), ("a.mkv", "-c:v libx264"), ("a.webm", "-c:v libvpx"),
            ("a.avi", "-c:v mjpeg -pix_fmt yuvj420p"), ("a.mov", "-c:v mjpeg -pix_fmt yuvj420p -movflags +faststart"),
        ])
    func deliversWhatIsWholeOfATruncatedFile(_ name: String, _ options: String) throws {
        let path = try folder.make(name, frames: 30, options + " -g 5")
        let whole = try readAll(try openReader(path))
        let bytes = try readBytes(path)
        try writeBytes(Array(bytes.prefix(bytes.count * 2 / 3)), to: path)
        let reader = try openReader(path)
        var frames: [[UInt8]] = []
        var thrown: MediaFileError?
        do {
            while let next = try reader.nextFrame() { frames.append(samples(of: next.buffer)) }
        } catch { thrown = error as? MediaFileError }
        #expect(frames.count >= 8 && frames.count < 30)
        for (index, frame) in frames.enumerated() { expectEqual(frame, samples(of: whole[index].buffer)) }
        #expect(try reader.nextFrame() == nil)
        #expect(thrown?.code == .corruptData)
    }

    @Test func anMP4WithItsIndexAtTheEndNeedsAFile() throws {
        let path = try folder.make("a.mp4", "-c:v libx264")
        let bytes = try readBytes(path)
        try #require(bytes.count < 60_000)
        #expect(try readAll(try openReader(path)).count == 12)
        let pipe = mediaFileError { try readAll(try openPipe(path)) }
        #expect(pipe == nil || pipe?.message.contains("faststart") == true)
        let fast = try folder.make("b.mp4", "-c:v libx264 -movflags +faststart")
        #expect(try readAll(try openPipe(fast)).count == 12)
        try writeBytes(Array(bytes.prefix(bytes.count / 2)), to: path)
        #expect(mediaFileError { try openReader(path) }?.code == .corruptData)
    }

    @Test func leavesDamagedPicturesOutAndCountsThem() throws {
        let path = try folder.make("a.avi", size: "160x96", frames: 20, "-c:v mjpeg -pix_fmt yuvj420p")
        var bytes = try readBytes(path)
        // A mark that ends the fifth picture in its middle.
        var starts: [Int] = []
        for place in bytes.indices.dropLast(4) where bytes[place...].starts(with: Array("00dc".utf8)) {
            starts.append(place)
        }
        // The first is that of the index in the header.
        let fifth = starts[5]
        bytes.replaceSubrange(fifth + 1500..<fifth + 1502, with: [0xFF, 0xD9])
        try writeBytes(bytes, to: path)
        let reader = try openReader(path)
        let frames = try readAll(reader)
        #expect(reader.damagedPackets == 1)
        #expect(frames.count == 19)
        #expect(!frames.contains { $0.timestamp == .milliseconds(160) })
    }
}

/// The most that this process has ever had in memory, in bytes.
func peakMemory() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
}
