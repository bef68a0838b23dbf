import FFmpegContainers
import FFmpegMuxing
import FileOutput
import Glibc
import MediaContainers
import MediaPublishing
import OpusCodec
import TestTools
import Testing
import VideoCapturing

extension PacketFileReader: RecordingReader {}

/// Clips of files that follow each other: packets as they are, over the borders of files.
@Suite struct RecordingClipTests {
    private let folder = TemporaryFolder()

    private struct Failure: Error {}

    private static let access = RecordingAccess(
        open: { try PacketFileReader(path: $0) },
        makeWriter: { try FFmpegMuxer($0, .init(format: $1, makesIndex: false)) })

    /// Four seconds of pictures, with a key frame three times per second, in files of a second, with sound.
    ///
    /// - Returns: when they begin.
    private func record(_ ending: String, _ clip: Clip, _ index: RecordingIndex) throws -> Duration {
        let (track, sound) = try SoundFileTests.encode(try OpusEncoder(), frames: 4 * 48_000) { _ in 0.1 }
        let split = try SplitOutput(folder.file("a-%03d.\(ending)"), every: .duration(.seconds(1))) { path in
            if let format = try? OutputFormat(path: path) { return FileOutput(path, format: format) }
            return try FFmpegOutput(path)
        }
        var context = OutputContext(format: VideoFormat(.i420, width: 64, height: 48), warn: { Issue.record("\($0)") })
        context.recording = RecordingTrigger()
        context.recording.setIndex(index)
        guard case .sink(let sink) = try split.open(context) else { throw Failure() }
        try sink.begin([clip.track, track])
        for packet in (clip.packets + sound).sorted(by: { $0.timestamp < $1.timestamp }) { try sink.write(packet) }
        try sink.finish()
        try split.close(at: nil)
        return try #require(index.recordings().first).start
    }

    /// The packets of the pictures of a file, with their times since the first.
    private func pictures(_ path: String) throws -> [(time: Duration, bytes: [UInt8], isKeyFrame: Bool)] {
        let reader = try PacketFileReader(path: path)
        let leading = try #require(reader.tracks.first).id
        var packets: [(Duration, [UInt8], Bool)] = []
        while let packet = try reader.next() {
            guard packet.track == leading else { continue }
            var bytes = packet.data.withUnsafeBytes { Array($0) }
            // Slices alone: containers differ in delimiters, parameter sets and start codes.
            if reader.tracks.first?.codec == .h264 {
                bytes = Array(nalUnits(bytes).filter { [1, 5].contains($0[0] & 0x1F) }.joined())
            }
            packets.append((packet.timestamp - reader.start, bytes, packet.isKeyFrame))
        }
        return packets
    }

    /// The times of the packets of a codec since the first picture.
    private func times(_ path: String, _ codec: Codec) throws -> [Duration] {
        let reader = try PacketFileReader(path: path)
        let track = try #require(reader.tracks.first { $0.codec == codec }).id
        var times: [Duration] = []
        while let packet = try reader.next() {
            if packet.track == track { times.append(packet.timestamp - reader.start) }
        }
        return times
    }

    private static let clips = [("webm", Clip.vp8), ("mp4", Clip.h264), ("ts", Clip.h264)]

    @Test(arguments: clips, [false, true])
    func aClipGoesOverTheBordersOfFiles(_ kind: (ending: String, clip: Result<Clip, any Error>), isRebuilt: Bool) throws
    {
        let clip = try kind.clip.get()
        let pattern = folder.file("a-%03d.\(kind.ending)")
        var index = try RecordingIndex(pattern, access: RecordingClipTests.access)
        var begin = try record(kind.ending, clip, index)
        if isRebuilt {
            // As of a recorder that was killed: the times of the files tell their order, a second apart.
            unlink(folder.file(".a-%03d.\(kind.ending).index"))
            for number in 1...4 {
                let time = timespec(tv_sec: 1_700_000_000 + number, tv_nsec: 0)
                _ = [time, time].withUnsafeBufferPointer {
                    utimensat(AT_FDCWD, folder.file("a-00\(number).\(kind.ending)"), $0.baseAddress!, 0)
                }
            }
            index = try RecordingIndex(pattern, access: RecordingClipTests.access)
            begin = try #require(index.recordings().first).start
        }
        #expect(index.recordings().count == 4)
        // From the second picture after a key frame, in the first file, to the third file.
        let cut = try index.clip(from: begin + .milliseconds(720), duration: .milliseconds(1600))
        #expect((cut.start - begin - .nanoseconds(666_666_667)).seconds.magnitude < 0.02, "\(cut.start - begin)")
        let path = folder.file("clip.\(cut.fileExtension)")
        try cut.write(to: path)
        let found = try pictures(path)
        let originals = try (1...4).flatMap { try pictures(folder.file("a-00\($0).\(kind.ending)")) }.map(\.bytes)
        #expect(found.first?.isKeyFrame == true)
        // With times by estimation, some hundredths of a second are uncertain.
        #expect(isRebuilt ? (46...52).contains(found.count) : found.count == 50, "\(found.count)")
        let isSame = found.map(\.bytes) == Array(originals[20..<min(20 + found.count, originals.count)])
        #expect(isSame, "none twice, none lost")
        for (number, packet) in found.enumerated() {
            let distance = packet.time.seconds - Double(number) / 30
            #expect(distance.magnitude < (isRebuilt ? 0.2 : 0.004), "\(number): \(packet.time)")
        }
        #expect(try PacketFileReader(path: path).tracks.map(\.codec) == [clip.track.codec, .opus])
        let sound = try times(path, .opus)
        #expect(sound.count > 70 && sound[0] < .milliseconds(30), "\(sound.count)")
        for (one, other) in zip(sound, sound.dropFirst()) {
            #expect(other > one && other - one < .milliseconds(isRebuilt ? 200 : 30), "\(one) \(other)")
        }
        // As players decode it, nothing is damaged.
        try run("ffmpeg", ["-v", "error", "-xerror", "-nostdin", "-i", path, "-f", "null", "-"])
    }

    /// A file that was deleted after it was listed, one that is cut off, and one of other pictures end a clip.
    @Test func whatCannotBeReadEndsAClip() throws {
        let clip = try Clip.vp8.get()
        let index = try RecordingIndex(folder.file("a-%03d.webm"), access: RecordingClipTests.access)
        let begin = try record("webm", clip, index)
        let whole = try index.clip(from: begin, duration: .seconds(60))
        try whole.write(to: folder.file("whole.webm"))
        #expect(try pictures(folder.file("whole.webm")).count == 120)
        let late = try index.clip(from: begin, duration: .seconds(60))
        unlink(folder.file("a-002.webm"))
        try late.write(to: folder.file("late.webm"))
        #expect(try pictures(folder.file("late.webm")).count == 30)
        // In the pause it begins with the next recording.
        let next = try index.clip(from: begin + .milliseconds(1500), duration: .seconds(60))
        #expect((next.start - begin).seconds > 1.9)
        try next.write(to: folder.file("next.webm"))
        #expect(try pictures(folder.file("next.webm")).count == 60)
        // Cut off in the middle of a file.
        let last = try readBytes(folder.file("a-004.webm"))
        try folder.write(Array(last.prefix(last.count / 2)), to: "a-004.webm")
        let cut = try index.clip(from: begin + .milliseconds(2000), duration: .seconds(60))
        try cut.write(to: folder.file("cut.webm"))
        let count = try pictures(folder.file("cut.webm")).count
        #expect((30..<60).contains(count), "\(count)")
        // Nothing but broken files.
        for number in [1, 3, 4] { try folder.write([1, 2, 3], to: "a-00\(number).webm") }
        #expect(throws: RecordingError.self) { try index.clip(from: begin, duration: .seconds(60)) }
        let stopped = Locked(0)
        try whole.write(to: folder.file("none.webm")) {
            stopped.withLock { $0 += 1 }
            return false
        }
        #expect(stopped.withLock { $0 } > 0)
    }
}
