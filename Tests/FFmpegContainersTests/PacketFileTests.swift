import CapturerTestKit
import FFmpegContainers
import H264Bitstream
import PacketCapturing
import TestTools
import Testing

/// The packets of files, as ffprobe lists them.
@Suite struct PacketFileTests {
    private let folder: MediaFolder

    init() throws { folder = try MediaFolder() }

    private func film(_ name: String, _ options: String = "", seconds: Int = 2) throws -> String {
        let path = folder.file(name)
        let sources = ["testsrc2=s=64x48:r=25:d=\(seconds)", "sine=d=\(seconds):r=48000"]
        let input = sources.flatMap { ["-f", "lavfi", "-i", $0] }
        try folder.ffmpeg(
            input + ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "10", "-c:a", "aac"]
                + options.split(separator: " ").map(String.init) + [path])
        return path
    }

    private final class Recorder: PacketCaptureConsumer {
        let packets = Locked<[MediaPacket]>([])
        func consumePacket(_ packet: MediaPacket) { packets.withLock { $0.append(packet) } }
    }

    private func packets(of path: String) async throws -> (packets: [MediaPacket], tracks: [TrackDescription]) {
        let capture = PacketFileCapturer(path: path)
        let recorder = Recorder()
        capture.packetCaptureConsumer = recorder
        let changes = capture.stateChanges()
        try capture.initCapture()
        let tracks = capture.captureSettings().tracks
        try capture.startCapture()
        for await change in changes {
            guard case .stopped(let reason) = change.new else { continue }
            #expect(reason == .endOfStream)
            break
        }
        capture.releaseCapture()
        return (recorder.packets.withLock { $0 }, tracks)
    }

    @Test(arguments: ["a.mp4", "a.mkv", "a.ts", "a.flv"])
    func packetsAreThoseOfTheFile(name: String) async throws {
        let path = try film(name)
        let (packets, tracks) = try await packets(of: path)
        #expect(tracks.map(\.codec) == [.h264, .aac])
        #expect(tracks[0].decoderConfiguration?.withUnsafeBytes { $0[0] } == 1)
        #expect(tracks[1].decoderConfiguration.map { $0.count >= 2 } == true)
        let pictures = packets.filter { $0.track == tracks[0].id }
        #expect(pictures.count == 50)
        #expect(pictures.contains { $0.decodeTimestamp != nil }, "There are B-frames.")
        // Shown in 25 different intervals of 40 ms, whatever the order in which they are decoded.
        let times = pictures.map(\.timestamp).sorted()
        for (earlier, later) in zip(times, times.dropFirst()) {
            let step = (later - earlier).seconds
            #expect(abs(step - 0.04) < 0.0015, "\(step)")
        }
        for picture in pictures where picture.isKeyFrame {
            let kinds = picture.data.withUnsafeBytes { bytes in AnnexB.units(in: bytes).map(\.type) }
            #expect(kinds.contains(.sps) && kinds.contains(.pps), "\(kinds)")
        }
        // Sound begins with the pictures, but for what the decoder gives first.
        let sound = try #require(packets.first { $0.track == tracks[1].id })
        #expect(abs((sound.timestamp - times[0]).seconds) < 0.03, "\(sound.timestamp) and \(times[0])")
        #expect(sound.data.withUnsafeBytes { $0[0] } != 0xFF, "It has no header of ADTS.")
    }

    @Test func othersHaveTheLibrarysNames() async throws {
        let path = folder.file("a.webm")
        try folder.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=1", "-f", "lavfi", "-i", "sine=d=1", "-c:v", "libvpx-vp9",
            "-deadline", "realtime", "-c:a", "libopus", path,
        ])
        let (packets, tracks) = try await packets(of: path)
        #expect(tracks.map(\.codec) == [Codec(rawValue: "vp9"), .opus])
        #expect(packets.contains { $0.track == tracks[1].id })
    }

    @Test func aFilmKeepsTheContract() async throws {
        let path = try film("long.mp4", "-g 25", seconds: 60)
        for pacing in [PacketPacing.unpaced, .clock] {
            var suite = PacketConformanceSuite(name: "film, \(pacing)", timestampsMayRunAhead: true) {
                PacketFileCapturer(path: path, pacing: pacing)
            }
            // One that is played does not end within the test.
            suite.ownEndTimeout = pacing == .unpaced ? .seconds(2) : .milliseconds(100)
            let rules: [PacketConformanceSuite.Rule] =
                pacing == .unpaced
                ? PacketConformanceSuite.Rule.allCases
                : [.monotonicClock, .stopIsPrompt, .decodeTimesIncrease, .byteStreams]
            for rule in rules {
                let check = await suite.checkDetached(rule)
                #expect(!check.isFailure, "\(check)")
            }
        }
    }

    @Test func badFilesAreErrors() throws {
        let text = folder.file("a.txt")
        try writeBytes(Array("Dear diary,\n".utf8), to: text)
        for (path, code) in [(folder.file("none.mp4"), CaptureError.Code.deviceNotFound), (text, .formatUnsupported)] {
            let error = #expect(throws: CaptureError.self) { try PacketFileCapturer(path: path).initCapture() }
            #expect(error?.code == code)
        }
    }

    @Test func aDamagedPacketIsALoss() async throws {
        let path = try film("a.mp4")
        let whole = try await packets(of: path)
        let listed = try run(
            "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pos", "-of", "csv=p=0", path)
        // The sixth picture states a length beyond its packet.
        let position = try #require(Int(listed.split(whereSeparator: \.isNewline)[5].prefix { $0.isNumber }))
        var bytes = try readBytes(path)
        bytes.replaceSubrange(position..<position + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
        try writeBytes(bytes, to: path)
        let (left, tracks) = try await packets(of: path)
        let pictures = left.filter { $0.track == tracks[0].id }
        // The first five, then from the second key frame on.
        let expected = whole.packets.filter { $0.track == tracks[0].id }
        let numbers = Array(0..<5) + Array(10..<expected.count)
        #expect(
            pictures.map { $0.timestamp - pictures[0].timestamp }
                == numbers.map { expected[$0].timestamp - expected[0].timestamp })
        #expect(pictures[5].isKeyFrame)
        #expect(left.count - pictures.count == whole.packets.count - expected.count)
    }

    @Test func aCutFileGivesItsPacketsAndThenAnError() async throws {
        let whole = try readBytes(try film("a.mkv"))
        let path = folder.file("cut.mkv")
        try writeBytes(Array(whole.prefix(whole.count / 2)), to: path)
        let capture = PacketFileCapturer(path: path)
        let recorder = Recorder()
        capture.packetCaptureConsumer = recorder
        let changes = capture.stateChanges()
        try capture.initCapture()
        try capture.startCapture()
        for await change in changes {
            guard case .stopped(let reason) = change.new else { continue }
            #expect(reason.error?.code == .corruptData)
            break
        }
        #expect(recorder.packets.withLock { $0.count } > 10)
    }
}
