import FFmpegMuxing
import Glibc
import MediaContainers
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

/// HLS: a playlist with its segments.
@Suite struct PlaylistTests {
    private let folder = TemporaryFolder()

    private func write(_ clip: Clip, to path: String, _ configuration: FFmpegMuxer.Configuration) throws {
        let muxer = try FFmpegMuxer(path, configuration)
        try muxer.begin([clip.track])
        for packet in clip.packets { try muxer.write(packet) }
        try muxer.finish()
    }

    /// Segments from key frame to key frame, all of them in a playlist that is closed.
    @Test func hls() throws {
        let path = folder.file("a.m3u8")
        try write(try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(options: ["hls_time": "1"]))
        let playlist = String(decoding: try readBytes(path), as: UTF8.self)
        let segments = playlist.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(segments.count == 4)
        #expect(segments.allSatisfy { !$0.contains("/") }, "\(segments)")
        #expect(playlist.contains("#EXT-X-ENDLIST"))
        #expect(try countPackets(path) == 120)
        #expect(mediaFileError { try FFmpegMuxer(path) }?.code == .fileExists)
    }

    /// Clients read it once, and it may not change (RFC 8216, 6.2.1), even if a frame comes late.
    @Test(arguments: [nil, 3]) func theTargetDurationOfAPlaylistStays(_ kept: Int?) throws {
        let path = folder.file("a.m3u8")
        let clip = try Clip.h264.get()
        let muxer = try FFmpegMuxer(path, FFmpegMuxer.Configuration(options: ["hls_time": "1"], keptSegments: kept))
        try muxer.begin([clip.track])
        var targets: Set<Substring> = []
        var longest = 0.0
        for round in 0..<4 {
            for (index, packet) in clip.packets.enumerated() {
                var packet = packet
                // A frame of the third round is late.
                let late = Double(round) * 4 + (round > 2 || round == 2 && index >= 25 ? 0.8 : 0)
                packet.timestamp = packet.timestamp.advanced(by: .seconds(late))
                packet.decodeTimestamp = packet.decodeTimestamp?.advanced(by: .seconds(late))
                try muxer.write(packet)
                guard access(path, F_OK) == 0 else { continue }
                for line in String(decoding: try readBytes(path), as: UTF8.self).split(separator: "\n") {
                    if line.hasPrefix("#EXT-X-TARGETDURATION:") { targets.insert(line.dropFirst(22)) }
                    if line.hasPrefix("#EXTINF:") { longest = max(longest, Double(line.dropFirst(8).dropLast()) ?? 99) }
                }
            }
        }
        try muxer.finish()
        #expect(targets == ["2"])
        #expect(longest > 1.6 && longest.rounded() <= 2, "\(longest)")
    }

    /// The last segments, and those that were left out of the playlist last, for clients that still read them.
    @Test func hlsMayKeepTheLastSegments() throws {
        let path = folder.file("a.m3u8")
        try write(
            try Clip.h264.get(), to: path, FFmpegMuxer.Configuration(options: ["hls_time": "0.3"], keptSegments: 3))
        let playlist = String(decoding: try readBytes(path), as: UTF8.self)
        let segments = playlist.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(segments == ["a9.ts", "a10.ts", "a11.ts"])
        #expect(playlist.contains("#EXT-X-MEDIA-SEQUENCE:9") && !playlist.contains("EVENT"))
        #expect(access(folder.file("a9.ts"), F_OK) == 0)
        for number in 0..<7 { #expect(access(folder.file("a\(number).ts"), F_OK) != 0, "\(number)") }
    }

    /// Before anything is written, and where such a file appears later.
    @Test func hlsReplacesNoFileUnlessToldTo() throws {
        let path = folder.file("a.m3u8")
        for name in ["a0.ts", "a17.ts", "a3.ts.tmp", "a.m3u8.tmp"] {
            try folder.write([1], to: name)
            let error = mediaFileError { try FFmpegMuxer(path) }
            #expect(error?.code == .fileExists && error?.subject == folder.file(name))
            #expect(try FFmpegOutput(path).paths == [path, folder.file(name)], "so that it is not the input")
            unlink(folder.file(name))
        }
        for name in ["a.ts", "ax1.ts", "a1.tsx", "b0.ts"] { try folder.write([1], to: name) }
        let clip = try Clip.h264.get()
        let muxer = try FFmpegMuxer(path, FFmpegMuxer.Configuration(options: ["hls_time": "0.3"]))
        try muxer.begin([clip.track])
        try folder.write([1], to: "a2.ts")
        let error = mediaFileError {
            for packet in clip.packets { try muxer.write(packet) }
            try muxer.finish()
        }
        #expect(error?.code == .fileExists)
        for name in ["a.ts", "ax1.ts", "a1.tsx", "b0.ts", "a2.ts"] { #expect(try folder.read(name) == [1], "\(name)") }
        try write(clip, to: path, FFmpegMuxer.Configuration(overwrites: true, options: ["hls_time": "0.3"]))
        #expect(try countPackets(path) == 120)
        #expect(try folder.read("a2.ts") != [1])
        #expect(mediaFileError { try FFmpegMuxer(folder.file("100%d.m3u8")) }?.code == .formatUnsupported)
    }
}
