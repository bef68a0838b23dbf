import CapturerTestKit
import FFmpegMuxing
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// The muxer keeps the contract of `PacketSink` in each container.
@Suite struct ConformanceTests {
    private let folder = TemporaryFolder()

    @Test(arguments: ["mp4", "mov", "mkv", "ts", "flv", "h264", "m3u8"])
    func h264(_ ending: String) throws {
        let clip = try Clip.h264.get()
        try check(
            clip, "a.\(ending)",
            refused: [
                Clip.describe(Codec(rawValue: "of a stranger")),
                TrackDescription(id: 0, codec: .h264, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
            ] + (["mkv", "mov"].contains(ending) ? [] : [Clip.describe(.vp8)]))
    }

    @Test(arguments: ["mkv", "webm"])
    func vp8(_ ending: String) throws {
        try check(
            try Clip.vp8.get(), "a.\(ending)",
            refused: [Clip.describe(Codec(rawValue: "of a stranger"))]
                + (ending == "webm" ? [Clip.describe(.h264)] : []))
    }

    private func check(_ clip: Clip, _ name: String, refused: [TrackDescription]) throws {
        let path = folder.file(name)
        let makePacket: @Sendable (TrackDescription, Int) -> MediaPacket = { _, number in clip.packets[number] }
        let suite = PacketSinkSuite(tracks: [clip.track], refused: refused, makePacket: makePacket) {
            removeTree(path)
            let muxer = try FFmpegMuxer(path, FFmpegMuxer.Configuration(overwrites: true))
            return PacketSinkSuite.Trial(sink: muxer) { try countPackets(path) }
        }
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }

    /// Two cameras, of which one is handed over late.
    @Test(arguments: ["mkv", "mp4", "ts"]) func severalTracksAreInterleaved(_ ending: String) throws {
        let clip = try Clip.h264.get()
        let path = folder.file("two.\(ending)")
        let muxer = try FFmpegMuxer(path)
        try muxer.begin([Clip.describe(.h264, id: 5), Clip.describe(.h264, id: 9)])
        for index in 0..<110 {
            for (track, late) in [(TrackID(5), 0), (9, 10)] where index >= late && index - late < 100 {
                var packet = clip.packets[index - late]
                packet.track = track
                try muxer.write(packet)
            }
        }
        try muxer.finish()
        let rows = try probe(path, "stream_index,dts_time")
        #expect(rows.count == 200)
        #expect(rows.count { $0[0] == "0" } == 100)
        if ending != "mp4" {
            let times = rows.compactMap { Double($0[1]) }
            #expect(times == times.sorted())
        }
    }

    @Test func tracksThatDoNotGoTogetherAreRefused() throws {
        let two = [Clip.describe(.h264), Clip.describe(.h264, id: 1)]
        for name in ["a.flv", "b.h264"] {
            let muxer = try FFmpegMuxer(folder.file(name))
            #expect(mediaFileError { try muxer.begin(two) }?.code == .formatUnsupported)
            try muxer.finish()
        }
        let muxer = try FFmpegMuxer(folder.file("a.mkv"))
        #expect(mediaFileError { try muxer.begin([two[0], two[0]]) }?.code == .formatUnsupported)
        #expect(mediaFileError { try muxer.begin([]) }?.code == .formatUnsupported)
        // Without a connection.
        for url in ["rtmp://127.0.0.1:1/live/a", "srt://127.0.0.1:1", "udp://127.0.0.1:1", "rtsp://127.0.0.1:1/a"] {
            let muxer = try FFmpegMuxer(url)
            let error = mediaFileError { try muxer.begin([Clip.describe(.jpeg)]) }
            #expect(error?.code == .formatUnsupported, "\(url)")
            #expect(muxer.state == .idle)
            try muxer.finish()
        }
    }
}
