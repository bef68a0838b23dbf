import FFmpegContainers
import FFmpegMuxing
import Glibc
import MediaContainers
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

/// Files hold what was written, also those that were not finished.
@Suite struct FileTests {
    private let folder = TemporaryFolder()

    private func write(
        _ clip: Clip, to path: String, _ configuration: FFmpegMuxer.Configuration = FFmpegMuxer.Configuration()
    ) throws -> FFmpegMuxer {
        let muxer = try FFmpegMuxer(path, configuration)
        try muxer.begin([clip.track])
        for packet in clip.packets { try muxer.write(packet) }
        try muxer.finish()
        return muxer
    }

    /// Each NAL unit, each time and each key frame, for both forms of packets.
    @Test(arguments: ["mp4", "mov", "mkv", "ts", "flv", "m3u8"], [false, true])
    func nothingIsChanged(_ ending: String, hasLengths: Bool) throws {
        let clip = try Clip.h264.get()
        let path = folder.file("a.\(ending)")
        let muxer = try write(hasLengths ? clip.lengthPrefixed() : clip, to: path)
        #expect(muxer.indexFailure == nil)
        #expect(muxer.state == .ended(nil))
        #expect(muxer.statistics.packets == 120)
        #expect(muxer.statistics.packetsDropped == 0)
        // Delimiters and parameter sets are the container's.
        func pictures(_ units: [[UInt8]]) -> [[UInt8]] { units.filter { (1...6).contains($0[0] & 0x1F) } }
        let expected = pictures(clip.packets.flatMap { nalUnits(bytes(of: $0)) })
        let found = pictures(try nalUnits(ofFile: path))
        let areEqual = found == expected
        #expect(areEqual, "\(found.count) of \(expected.count) units")
        let rows = try probe(path, "pts_time,flags")
        #expect(rows.count == 120)
        let first = try #require(Double(rows[0][0]))
        for (index, row) in rows.enumerated() {
            let time = try #require(Double(row[0]))
            #expect(abs(time - first - Double(index) / 30) < 0.00101, "\(index): \(row)")
            #expect(row[1].hasPrefix("K") == (index % 10 == 0))
        }
    }

    /// A camera that is off overnight, or for days: the length of a sample has 31 bits. As fragments too, and with pictures
    /// that are decoded two others before they are shown.
    @Test(arguments: ["mp4", "mov", "mkv", "ts"], [7, 70, 700])
    func aLongPauseStays(_ ending: String, hours: Int) throws {
        // MPEG-TS counts 26 hours.
        guard ending != "ts" || hours < 26 else { return }
        let whole = try Clip.h264.get()
        var packets = whole.packets
        for index in 60..<120 {
            packets[index].timestamp = packets[index].timestamp.advanced(by: .seconds(3600 * hours))
        }
        for (isFinished, delay) in [(true, 0), (false, 0), (true, 2), (false, 2)] {
            for index in packets.indices where delay > 0 {
                let early = Duration.milliseconds(33 * max(0, delay - index))
                packets[index].decodeTimestamp = packets[max(0, index - delay)].timestamp - early
            }
            let clip = Clip(track: whole.track, packets: packets)
            let path = folder.file("\(isFinished) \(delay).\(ending)")
            let muxer = try write(clip, to: path, FFmpegMuxer.Configuration(makesIndex: isFinished))
            #expect(muxer.indexFailure == nil)
            let times = try probe(path, "pts_time").compactMap { Double($0[0]) }
            try #require(times.count == 120)
            for (index, time) in times.enumerated() {
                let expected = Double(index) / 30 + (index < 60 ? 0 : 3600 * Double(hours))
                #expect(abs(time - times[0] - expected) < (hours > 600 ? 0.0101 : 0.00101), "\(index)")
            }
        }
    }

    /// A finished MP4 has its index at the beginning and no fragments; only then, and the temporary file is gone.
    @Test(arguments: [true, false]) func theIndex(isWanted: Bool) throws {
        let path = folder.file("a.mp4")
        _ = try write(try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(makesIndex: isWanted))
        let boxes = MP4Boxes(try readBytes(path))
        #expect(boxes.names.contains("moof") != isWanted)
        if isWanted {
            let order = boxes.names.filter { $0 == "moov" || $0 == "mdat" }
            #expect(order == ["moov", "mdat"])
        }
        #expect(access(path + ".indexing", F_OK) != 0)
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: path, file: InputFile(path: path), threads: 1))
        var count = 0
        while let frame = try reader.nextFrame() {
            #expect(abs(frame.timestamp.seconds - Double(count) / 30) < 0.0001)
            count += 1
        }
        #expect(count == 120)
    }

    /// A step that fails leaves the file in fragments, which is whole.
    @Test func anIndexThatFailsLosesNothing() throws {
        let path = folder.file("a.mp4")
        #expect(mkdir(path + ".indexing", 0o700) == 0)
        let muxer = try write(try Clip.h264.get(), to: path)
        #expect(muxer.indexFailure != nil)
        #expect(try countPackets(path) == 120)
        // Cancelled, it does not begin.
        let second = try FFmpegMuxer(folder.file("b.mp4"))
        let clip = try Clip.h264.get()
        try second.begin([clip.track])
        for packet in clip.packets { try second.write(packet) }
        second.cancel()
        try second.finish()
        #expect(second.indexFailure?.code == .interrupted)
        #expect(try countPackets(folder.file("b.mp4")) == 120)
        #expect(access(folder.file("b.mp4.indexing"), F_OK) != 0)
    }

    /// The second file is of one run alone: a link that somebody has put there is not followed, and a file that another run
    /// writes is left to it. One that a killed run has left is used.
    @Test func theTemporaryFileIsOfOneRun() throws {
        let path = folder.file("a.mp4")
        let (temporary, other) = (path + ".indexing", folder.file("other"))
        try writeBytes([1, 2, 3], to: other)
        for makeLink in [symlink, link] {
            #expect(makeLink(other, temporary) == 0)
            let muxer = try write(try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(overwrites: true))
            #expect(muxer.indexFailure != nil)
            #expect(try readBytes(other) == [1, 2, 3])
            #expect(try countPackets(path) == 120)
            #expect(unlink(temporary) == 0)
        }
        try writeBytes([1, 2, 3], to: temporary)
        let descriptor = open(temporary, O_RDONLY)
        #expect(flock(descriptor, LOCK_EX) == 0)
        let second = try write(try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(overwrites: true))
        #expect(second.indexFailure?.code == .fileInUse)
        #expect(try readBytes(temporary) == [1, 2, 3])
        #expect(try countPackets(path) == 120)
        close(descriptor)
        let third = try write(try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(overwrites: true))
        #expect(third.indexFailure == nil)
        #expect(!MP4Boxes(try readBytes(path)).names.contains("moof"))
        #expect(access(temporary, F_OK) != 0)
    }

    @Test(arguments: [VideoOrientation.left, .down, .right]) func orientation(_ orientation: VideoOrientation) throws {
        let clip = try Clip.h264.get()
        let path = folder.file("a.mp4")
        let muxer = try FFmpegMuxer(path)
        try muxer.begin([Clip.describe(.h264, orientation: orientation)])
        for packet in clip.packets { try muxer.write(packet) }
        try muxer.finish()
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: path, file: InputFile(path: path), threads: 1))
        #expect(reader.orientation == orientation)
        #expect(!reader.isMirrored)
    }

    @Test(arguments: ["mp4", "mov", "mkv"]) func theShapeOfPixels(_ ending: String) throws {
        let clip = try Clip.h264.get()
        let path = folder.file("a.\(ending)")
        let muxer = try FFmpegMuxer(path)
        var track = Clip.describe(.h264, orientation: .up)
        guard case .video(var video) = track.media else { return }
        video.pixelAspect = try #require(PixelAspect(width: 64, height: 45))
        track.media = .video(video)
        try muxer.begin([track])
        for packet in clip.packets { try muxer.write(packet) }
        try muxer.finish()
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: path, file: InputFile(path: path), threads: 1))
        #expect(reader.pixelAspect == video.pixelAspect)
    }

    /// What a process that was killed leaves: all complete fragments play, wherever the file is cut.
    @Test func aFragmentedFilePlaysUpToAnyCut() throws {
        let path = folder.file("a.mp4")
        _ = try write(try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(makesIndex: false))
        let whole = try readBytes(path)
        let boxes = MP4Boxes(whole)
        // Ten frames from one key frame to the next.
        #expect(boxes.fragmentEnds.count == 12)
        let cutPath = folder.file("cut.mp4")
        for cut in stride(from: boxes.fragmentEnds[0], through: whole.count, by: 127) {
            try writeBytes(Array(whole[..<cut]), to: cutPath)
            let complete = boxes.fragmentEnds.count { $0 <= cut } * 10
            let count = try boxes.headers.contains { $0.contains(cut - 1) } ? countPiped(cutPath) : countFrames(cutPath)
            #expect(count >= complete, "cut at \(cut): \(count) of \(complete)")
        }
    }

    private func countFrames(_ path: String) throws -> Int {
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: path, file: InputFile(path: path), threads: 1))
        var count = 0
        do {
            while try reader.nextFrame() != nil { count += 1 }
        } catch let error as MediaFileError {
            #expect(error.code == .corruptData)
        }
        return count
    }

    /// FFmpeg opens a file that ends within the header of a fragment only when it cannot look ahead.
    private func countPiped(_ path: String) throws -> Int {
        let command = "cat '\(path)' | ffprobe -v quiet -show_entries packet=pts -of csv=p=0 -i pipe:0 || true"
        return try run("sh", "-c", command).split(separator: "\n").count
    }

    /// While it is written, the file has all but the open fragment, cluster or packet.
    @Test(arguments: [("mp4", 10), ("mkv", 30), ("ts", 1)]) func whatAKillLeaves(_ ending: String, _ open: Int) throws {
        let clip = try Clip.h264.get()
        let path = folder.file("a.\(ending)")
        let muxer = try FFmpegMuxer(path)
        try muxer.begin([clip.track])
        for (index, packet) in clip.packets.enumerated() {
            try muxer.write(packet)
            guard index % 37 == 36 else { continue }
            try writeBytes(try readBytes(path), to: folder.file("copy.\(ending)"))
            let count = try countPackets(folder.file("copy.\(ending)"))
            #expect(count > index - open && count <= index + 1, "\(count) of \(index + 1)")
        }
        try muxer.finish()
    }

    @Test func jpegInMatroska() throws {
        let path = folder.file("a.mkv")
        let image = try run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x96", "-frames:v", "1", "-f", "mjpeg", "-"])
        let clip = Clip(
            track: Clip.describe(.jpeg), packets: (0..<50).map { Clip.packet(image, $0, isKeyFrame: true) })
        _ = try write(clip, to: path)
        #expect(try countPackets(path) == 50)
        #expect(
            try run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", path) == "mjpeg\n"
        )
    }

    /// A header alone is no recording: on a disk that is full within the first second, or without any packet.
    @Test(arguments: ["mp4", "mkv", "ts"]) func nothingIsLeftWhereNothingCanBePlayed(_ ending: String) async {
        await #expect(processExitsWith: .success) { [ending] in
            let folder = TemporaryFolder()
            let path = folder.file("a.\(ending)")
            func record(_ count: Int, overwrites: Bool = false) throws {
                let output = try FFmpegOutput(path, configuration: .init(overwrites: overwrites))
                let context = OutputContext(format: VideoFormat(.i420, width: 64, height: 48))
                guard case .sink(let sink) = try output.open(context) else { return }
                let clip = try Clip.h264.get()
                try sink.begin([clip.track])
                for packet in clip.packets.prefix(count) { try? sink.write(packet) }
                try? sink.finish()
                output.close(at: nil)
                let isNothing = output.outputStatistics.bytes == 0
                try #require(overwrites || isNothing == (access(path, F_OK) != 0), "\(output.outputStatistics)")
            }
            try record(0)
            try #require(access(path, F_OK) != 0, "without packets")
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: ending == "ts" ? 100 : 1000, rlim_max: rlim_t.max)
            try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0, "no limit")
            try record(120)
            try #require(access(path, F_OK) != 0, "full")
            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0, "no limit")
            // A file of the user is not removed.
            try folder.write([1], to: "a.\(ending)")
            try record(0, overwrites: true)
            try #require(access(path, F_OK) == 0, "it existed")
            try record(120, overwrites: true)
            try #require(try countPackets(path) == 120, "all")
        }
    }

    @Test func standardErrors() throws {
        #expect(mediaFileError { try FFmpegMuxer(folder.file("none/a.mp4")) }?.code == .notFound)
        #expect(mediaFileError { try FFmpegMuxer(folder.file("none/a.m3u8")) }?.code == .notFound)
        try folder.write([1], to: "there.mp4")
        #expect(mediaFileError { try FFmpegMuxer(folder.file("there.mp4")) }?.code == .fileExists)
        #expect(try folder.read("there.mp4") == [1])
        #expect(mediaFileError { try FFmpegMuxer(folder.file("a.unknown")) }?.code == .formatUnsupported)
        #expect(mediaFileError { try FFmpegMuxer(folder.file("a")) }?.code == .formatUnsupported)
        #expect(mediaFileError { try FFmpegMuxer("nonsense://host/a.mp4") }?.code == .formatUnsupported)
        #expect(mediaFileError { try FFmpegMuxer("") }?.code == .formatUnsupported)
        #expect(
            mediaFileError { try FFmpegMuxer(folder.file("a"), FFmpegMuxer.Configuration(format: "none")) }?.code
                == .formatUnsupported)
        #expect(access(folder.file("a"), F_OK) != 0)
    }

    @Test func aMisspelledOptionIsNamed() throws {
        let clip = try Clip.h264.get()
        let muxer = try FFmpegMuxer(folder.file("a.mp4"), FFmpegMuxer.Configuration(options: ["movflag": "x"]))
        try muxer.begin([clip.track])
        let error = mediaFileError { try muxer.write(clip.packets[0]) }
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("movflag") == true)
        #expect(mediaFileError { try muxer.finish() } == error)
    }

    @Test func h264WithoutParameterSetsIsRefused() throws {
        let clip = try Clip.h264.get()
        for (bytes, configuration) in [
            (bytes(of: clip.packets[1]), nil as [UInt8]?), ([1, 2, 3], nil),
            (bytes(of: clip.lengthPrefixed().packets[0]), nil),
            (bytes(of: clip.packets[1]), [1, 2, 3]),
        ] {
            var track = clip.track
            track.decoderConfiguration = configuration.map { $0.withUnsafeBytes { PacketBuffer(copying: $0) } }
            let muxer = try FFmpegMuxer(folder.file("a.mp4"), FFmpegMuxer.Configuration(overwrites: true))
            try muxer.begin([track])
            let packet = Clip.packet(bytes, 0, isKeyFrame: true)
            let code = mediaFileError { try muxer.write(packet) }?.code
            #expect(code == .corruptData || (configuration != nil && code == .formatUnsupported))
            try? muxer.finish()
        }
    }

    @Test(arguments: ["matroska", "mpegts", "mp4"]) func aFullDevice(_ format: String) throws {
        let clip = try Clip.h264.get()
        let muxer = try FFmpegMuxer("/dev/full", FFmpegMuxer.Configuration(format: format))
        try muxer.begin([clip.track])
        let error = mediaFileError { for packet in clip.packets { try muxer.write(packet) } }
        #expect(error?.code == .noSpace)
        #expect(mediaFileError { try muxer.finish() } == error)
        #expect(muxer.state == .ended(error))
    }

    /// What is complete stays, and plays.
    @Test(.enabled(if: SmallDisk.isPossible), arguments: [("mp4", 10), ("mkv", 30), ("ts", 3)])
    func aFullDiskKeepsWhatIsThere(_ ending: String, _ open: Int) throws {
        let clip = try Clip.h264.get()
        let size = clip.packets.reduce(0) { $0 + $1.data.count }
        let disk = try SmallDisk(bytes: size / 2)
        let path = "\(disk.path)/a.\(ending)"
        let muxer = try FFmpegMuxer(path)
        try muxer.begin([clip.track])
        var written = 0
        let error = mediaFileError {
            for packet in clip.packets {
                try muxer.write(packet)
                written += 1
            }
        }
        #expect(error?.code == .noSpace)
        #expect(mediaFileError { try muxer.finish() }?.code == .noSpace)
        let count = try countPackets(path)
        #expect(written > 30 && count > written - open - 30 && count <= written, "\(count) of \(written)")
    }
}
