import MediaContainers
import TestTools
import Testing
import VideoCapturing

@testable import FFmpegContainers

/// The times of files are those that ffprobe sees, and go on where recordings were joined.
@Suite struct TimeTests {
    private let folder: MediaFolder

    init() throws { folder = try MediaFolder() }

    private func times(_ reader: FFmpegReader) throws -> [Double] { try readAll(reader).map(\.timestamp.seconds) }

    private func expectEqual(_ first: [Double], _ second: [Double], _ name: String) {
        #expect(first.count == second.count, "\(name)")
        for (one, other) in zip(first, second) { #expect(abs(one - other) < 0.0015, "\(name): \(first) \(second)") }
    }

    /// In nine containers, and with times that begin far from zero, below it or just before they wrap, in those that have such.
    @Test(
        arguments: [
            ("a.mp4", "-c:v libx264 -bf 2"), ("a.mp4", "-c:v libx264 -bf 2 -output_ts_offset -0.2"),
            ("a.mov", "-c:v libx264 -bf 2"), ("a.mov", "-c:v mpeg4 -output_ts_offset -0.2"),
            ("a.mkv", "-c:v libx264 -bf 2"), ("a.mkv", "-c:v libx264 -bf 2 -output_ts_offset 5000"),
            ("a.webm", "-c:v libvpx"),
            ("a.ts", "-c:v libx264 -bf 2"), ("a.ts", "-c:v mpeg2video -output_ts_offset 95443.5"),
            ("a.mpg", "-c:v mpeg2video -bf 2"), ("a.mpg", "-c:v mpeg2video -output_ts_offset 5000"),
            ("a.mpg", "-c:v mpeg2video -output_ts_offset 95442.5"),
            ("a.flv", "-c:v flv1"), ("a.flv", "-c:v flv1 -output_ts_offset 5000"),
            ("a.avi", "-c:v mpeg4"), ("a.ogv", "-c:v libtheora"),
        ]) func theTimesAreThoseThatFFprobeSees(_ kind: (name: String, options: String)) throws
    {
        let path = try folder.make(
            kind.name, frames: 25,
            kind.options + " -avoid_negative_ts disabled", "-vf setpts=N*N/(20*25*TB) -vsync vfr")
        let stated = try ffprobeTimes(path)
        let read = try times(openReader(path))
        // FFprobe says nothing of the last frame of MPEG-PS.
        let unstated = kind.name.hasSuffix("mpg") ? 1 : 0
        expectEqual(Array(read.dropLast(unstated)), stated.map { $0 - stated[0] }, "\(kind)")
    }

    /// Joined by `cat`; the times of each part begin again: at zero, hours later, or shortly before they wrap.
    @Test(
        arguments: [
            ("ts", "-c:v libx264 -bf 2 -g 5", [0, 0, 50_000, 7]), ("ts", "-c:v libx264 -bf 0", [0, 0, 50_000, 7]),
            ("ts", "-c:v mpeg2video -bf 2", [95_442.9, 60, 95_443, 80]),
            ("mpg", "-c:v mpeg2video", [0, 0, 50_000, 7]),
            ("mpg", "-c:v mpeg2video -bf 2", [95_442.9, 60, 95_443, 80]),
        ] as [(String, String, [Double])])
    func theTimesOfJoinedFilesGoOn(_ ending: String, _ options: String, _ starts: [Double]) throws {
        let path = folder.file("joined.\(ending)")
        var bytes: [UInt8] = []
        var expected: [Double] = []
        for (number, start) in starts.enumerated() {
            let part = try folder.make(
                "\(number).\(ending)", frames: 15, rate: "10", options, "-output_ts_offset \(start)")
            bytes += try readBytes(part)
            expected += try times(openReader(part)).map { $0 + 1.5 * Double(number) }
        }
        try writeBytes(bytes, to: path)
        let reader = try openReader(path)
        for _ in 1...2 {
            expectEqual(try times(reader), expected, "\(ending) \(options)")
            // Some frames of MPEG-PS have no time.
            #expect(ending == "mpg" || reader.discontinuities == 3)
            #expect(reader.damagedPackets == 0)
            try reader.rewind()
        }
        try reader.seek(to: .milliseconds(3010))
        expectEqual(try times(reader), expected.filter { $0 > 2.95 }, "after a seek")
    }

    /// A camera that was off: MPEG-TS may have such a step for other reasons, Matroska has not.
    @Test func aPauseInMatroskaStays() throws {
        let path = try folder.make(
            "a.mkv", frames: 20, rate: "10", "-c:v libx264 -vf setpts=PTS+gte(N\\,10)*25000/TB -vsync vfr")
        let read = try times(openReader(path))
        #expect(read.count == 20)
        #expect(read.last.map { abs($0 - 25_001.9) < 0.01 } ?? false)
    }

    @Test func theSoundOfJoinedFilesGoesOn() throws {
        var bytes: [UInt8] = []
        for number in 0..<3 {
            let path = folder.file("\(number).ts")
            try folder.ffmpeg([
                "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10", "-f", "lavfi", "-i", "sine=r=48000", "-t", "1", "-c:v",
                "mpeg2video", "-c:a", "mp2", path,
            ])
            bytes += try readBytes(path)
        }
        let path = folder.file("joined.ts")
        try writeBytes(bytes, to: path)
        let sound = try FFmpegSoundReader(FrameReaderFactory.Request(path: path, file: InputFile(path: path)))
        try sound.seek(to: .zero)
        var last: (begin: Duration, end: Duration)?
        while try sound.readSamples({ samples, time in
            if let last { #expect(time > last.begin && abs((time - last.end).seconds) < 0.11) }
            last = (time, time + .nanoseconds(Int64(samples.count) * 1_000_000_000 / 48_000))
        }) {}
        #expect(last.map { abs($0.end.seconds - 3) < 0.2 } ?? false)
    }

    /// A photograph of today's telephones has a second picture: how bright the places of the first are.
    @Test(arguments: [("a.jpg", "32x24", 1), ("a.jpg", "64x48", 1), ("a.mjpg", "64x48", 2)])
    func aSecondPictureOfAPhotographIsNotShown(_ name: String, size: String, count: Int) throws {
        let first = try readBytes(folder.make("first.jpg", frames: 1))
        let second = try readBytes(folder.make("second.jpg", size: size, frames: 1))
        let path = folder.file(name)
        try writeBytes(first + second, to: path)
        #expect(try readAll(openReader(path)).count == count)
    }
}

/// The errors of files that cannot be opened name the kind of file where its first bytes show it.
@Suite struct UnreadableKindTests {
    private let folder: MediaFolder

    init() throws { folder = try MediaFolder() }

    private func message(_ bytes: [UInt8], _ name: String = "a.jpg") throws -> String? {
        let path = folder.file(name)
        try writeBytes(bytes, to: path)
        return mediaFileError {
            try FrameReaderFactory.ffmpeg.open(FrameReaderFactory.Request(path: path, file: InputFile(path: path)))
        }?.message
    }

    @Test(arguments: ["jpg", "png", "webp"]) func aPictureThatIsTooLargeIsTold(_ ending: String) throws {
        let path = folder.file("a.\(ending)")
        try folder.ffmpeg(["-f", "lavfi", "-i", "color=s=8160x6144", "-frames:v", "1", path])
        #expect(try message(readBytes(path), "a.\(ending)")?.hasPrefix("The pictures have 8160x6144 pixels") == true)
    }

    @Test(
        arguments: [
            (0xC9, "an arithmetic-coded JPEG"), (0xC7, "a hierarchical JPEG"),
        ]) func aKindOfJPEGIsNamed(_ marker: UInt8, kind: String) throws
    {
        var bytes = try readBytes(folder.make("whole.jpg", frames: 1))
        let start = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
        bytes[start + 1] = marker
        #expect(try message(bytes)?.hasPrefix("The picture is \(kind), ") == true)
    }

    @Test func anAnimatedWebPIsNamed() throws {
        let path = try folder.make("a.webp", frames: 5)
        #expect(try message(readBytes(path), "a.webp")?.hasPrefix("The picture is an animated WebP, ") == true)
    }

    @Test func aPointerOfGitLFSIsNamed() throws {
        let text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
        #expect(try message(Array(text.utf8), "a.mp4")?.contains("pointer of Git LFS") == true)
    }

    @Test func anyBytesAreLookedAtWithoutATrap() throws {
        let whole = try readBytes(folder.make("whole.jpg", frames: 1))
        for count in 0..<whole.count { Array(whole.prefix(count)).withUnsafeBytes { _ = PictureHead($0) } }
        var random = SeededRandom(state: 1)
        for _ in 0..<2000 {
            var bytes = whole.prefix(400).map { $0 }
            for _ in 0..<8 {
                bytes[Int.random(in: 3..<400, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.withUnsafeBytes { _ = UnreadableKind.error(of: $0, "a") }
        }
    }
}
