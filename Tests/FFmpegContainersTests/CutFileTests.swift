import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@testable import FFmpegContainers

/// Files that are not whole: what is there is delivered, and what is missing is told, with its number.
@Suite struct CutFileTests {
    private let folder: MediaFolder

    init() throws { folder = try MediaFolder() }

    /// How many pictures there are, and why there are no more.
    private func read(_ reader: FFmpegReader) throws -> (count: Int, error: MediaFileError?) {
        var count = 0
        do {
            while try reader.nextFrame() != nil { count += 1 }
            return (count, nil)
        } catch let error as MediaFileError {
            #expect(try reader.nextFrame() == nil)
            return (count, error)
        }
    }

    @Test(
        arguments: [
            ("a.webm", "-c:v libvpx"), ("a.mkv", "-c:v libx264"), ("a.mkv", "-c:v mjpeg -pix_fmt yuvj420p"),
            ("a.avi", "-c:v mjpeg -pix_fmt yuvj420p"),
        ], [0.7, 0.95])
    func theBytesThatAreMissingAreTold(_ kind: (name: String, options: String), part: Double) throws {
        let path = try folder.make(kind.name, frames: 30, kind.options)
        let whole = try readBytes(path)
        #expect(try read(openReader(path)) == (30, nil))
        let cut = Array(whole.prefix(Int(Double(whole.count) * part)))
        try writeBytes(cut, to: path)
        for reader in [try openReader(path), try openPipe(path)] {
            let (count, error) = try read(reader)
            #expect(count < 30)
            #expect(error?.code == .corruptData)
            let missing = "\(whole.count - cut.count) of its \(whole.count) bytes are missing"
            #expect(error?.message.contains(missing) == true, "\(error?.message ?? "no error")")
        }
    }

    /// A recorder that was killed leaves no size.
    @Test func aLiveRecordingMayEndAnywhere() throws {
        let path = try folder.make("a.webm", frames: 30, "-c:v libvpx -live 1 -f webm")
        let whole = try readBytes(path)
        try writeBytes(Array(whole.prefix(whole.count * 2 / 3)), to: path)
        for reader in [try openReader(path), try openPipe(path)] {
            let (count, error) = try read(reader)
            #expect(count > 0 && count < 30 && error == nil)
        }
    }

    /// Between two pictures, where nothing is damaged.
    @Test(arguments: ["a.mp4", "a.mov"]) func thePicturesThatAreMissingAreTold(name: String) throws {
        let path = try folder.make(name, frames: 20, "-c:v mjpeg -pix_fmt yuvj420p -movflags +faststart")
        let whole = try readBytes(path)
        #expect(try read(openReader(path)) == (20, nil))
        // The end of the twelfth JPEG.
        let ends = whole.indices.dropLast().filter { whole[$0] == 0xFF && whole[$0 + 1] == 0xD9 }
        try #require(ends.count == 20)
        for (end, extra) in [(ends[11] + 2, 0), (ends[11] + 2, 100)] {
            try writeBytes(Array(whole.prefix(end + extra)), to: path)
            for reader in [try openReader(path), try openPipe(path)] {
                let (count, error) = try read(reader)
                #expect(count == 12)
                #expect(error?.code == .corruptData)
                #expect(error?.message.contains("8 of its 20 pictures are missing") == true)
            }
        }
    }

    @Test func aTransportStreamThatEndsWithinAPacketCountsOneAndIsTold() throws {
        let path = try folder.make("a.ts", frames: 30, "-c:v mpeg2video")
        let whole = try readBytes(path)
        let reader = try openReader(path)
        #expect(try read(reader) == (30, nil))
        #expect(reader.damagedPackets == 0)
        for (size, damaged) in [(whole.count / 188 / 2 * 188 + 100, 1), (whole.count - 1, 1)] as [(Int, UInt64)] {
            try writeBytes(Array(whole.prefix(size)), to: path)
            for reader in [try openReader(path), try openPipe(path)] {
                let (count, error) = try read(reader)
                #expect(count > 5 && count <= 30)
                #expect(error?.code == .corruptData)
                #expect(error?.message.hasPrefix("The file ends within a picture") == true)
                #expect(reader.damagedPackets == damaged)
            }
        }
    }

    @Test(arguments: [([3], "img003.png", 2), ([2, 4], "img002.png", 2), ([4], "img004.png", 1)])
    func aHoleInASequenceIsTold(_ holes: [Int], missing: String, after: Int) throws {
        let pattern = try folder.make("img%03d.png", frames: 5)
        for hole in holes { unlink(folder.file("img00\(hole).png")) }
        let (count, error) = try read(FFmpegReader(FrameReaderFactory.Request(path: pattern)))
        #expect(count == holes[0] - 1)
        #expect(error?.code == .corruptData)
        #expect(error?.message.hasPrefix("\(missing) is missing, so \(after) after it") == true)
    }

    /// A camera that fails leaves empty files.
    @Test(arguments: [([1], 4), ([3], 4), ([2, 3], 3), ([5], 4), ([1, 3, 5], 2)])
    func anEmptyPictureInASequenceIsSkippedAndCounted(_ empty: [Int], count: Int) throws {
        let pattern = try folder.make("img%03d.png", frames: 5)
        for number in empty { try writeBytes([], to: folder.file("img00\(number).png")) }
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: pattern))
        for _ in 1...2 {
            let times = try readAll(reader).map(\.timestamp)
            let expected = (1...5).filter { !empty.contains($0) }.map { Duration.milliseconds(40 * ($0 - 1)) }
            #expect(times == expected)
            try reader.rewind()
        }
        #expect(reader.damagedPackets == UInt64(empty.count * 2 + (empty.first == 1 ? 1 : 0)))
    }

    @Test func aWholeMultipartStreamEndsWithoutAnError() throws {
        let path = try folder.make("a.mpjpeg", frames: 5, "-f mpjpeg")
        #expect(try read(openReader(path)) == (5, nil))
        let whole = try readBytes(path)
        try writeBytes(Array(whole.prefix(whole.count * 3 / 5)), to: path)
        let (count, error) = try read(openReader(path))
        #expect(count < 5 && error?.code == .corruptData)
    }

    @Test func otherNamesAreNoPartOfASequence() throws {
        let pattern = try folder.make("img%03d.png", frames: 3)
        // Another width, no number, another ending, and a number that no picture has.
        for name in ["img9.png", "img0009.png", "img.png", "img009.jpg", "img-09.png", "img99999999999.png"] {
            try writeBytes([1], to: folder.file(name))
        }
        #expect(try read(FFmpegReader(FrameReaderFactory.Request(path: pattern))) == (3, nil))
        #expect(PictureSequence(folder.file("100%%-%d.png"))?.firstGap == nil)
        for number in [1, 2, 12] { try writeBytes([1], to: folder.file("100%-\(number).png")) }
        #expect(
            PictureSequence(folder.file("100%%-%d.png"))?.firstGap
                == PictureSequence.Gap(missing: "100%-3.png", countAfter: 1))
        #expect(PictureSequence(folder.file("%d%d.png"))?.firstGap == nil)
        #expect(PictureSequence(folder.file("none/%d.png"))?.firstGap == nil)
    }

    /// The library takes seconds for the units then, and leaves out what is later than the film is long.
    @Test func anMP4WithoutATimeScaleTellsWhatItLeavesOut() throws {
        let path = try folder.make("a.mp4", frames: 30, "-c:v libx264")
        var bytes = try readBytes(path)
        let box = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("mdhd".utf8)) })
        bytes.replaceSubrange(box + 16..<box + 20, with: [0, 0, 0, 0])
        try writeBytes(bytes, to: path)
        let (count, error) = try read(openReader(path))
        #expect(count < 30)
        #expect(error?.code == .corruptData)
        #expect(error?.message.contains("\(30 - count) of its 30 pictures") == true)
    }

    /// Sizes that lie are no reason to fail.
    @Test(
        arguments: [
            ("a.webm", "-c:v libvpx", [0x18, 0x53, 0x80, 0x67], 4, [0, 0, 0, 0, 0, 0, 0, 0]),
            ("a.avi", "-c:v mpeg4", [0x52, 0x49, 0x46, 0x46], 4, [0, 0, 0, 0]),
            ("a.avi", "-c:v mpeg4", [0x52, 0x49, 0x46, 0x46], 4, [0xFF, 0xFF, 0xFF, 0xFF]),
            ("a.avi", "-c:v mpeg4", [0x52, 0x49, 0x46, 0x46], 4, [1, 0, 0, 0]),
        ] as [(String, String, [UInt8], Int, [UInt8])])
    func aSizeThatIsNoneIsNotBelieved(
        _ name: String, _ options: String, mark: [UInt8], offset: Int, size: [UInt8]
    ) throws {
        let path = try folder.make(name, frames: 5, options)
        var bytes = try readBytes(path)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: mark) }) + offset
        bytes.replaceSubrange(place..<place + size.count, with: size)
        try writeBytes(bytes, to: path)
        let result = try? read(openReader(path))
        #expect(result == nil || result! == (result!.count, nil))
    }
}
