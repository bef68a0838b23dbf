import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct OutputFormatTests {
    @Test(arguments: [
        ("a.webm", OutputFormat.webm), ("/x.y/b.WebM", .webm), ("c.IVF", .ivf), ("d.y4m", .y4m), ("e.tar.yuv", .yuv),
        ("f.i420", .yuv), ("g.nv12", .nv12), ("h.md5", .md5), ("i.264", .h264), ("j.wav", .wav), ("k.weba", .weba),
    ])
    func isChosenByTheExtension(_ path: String, _ format: OutputFormat) throws {
        #expect(try OutputFormat(path: path) == format)
    }

    @Test(arguments: OutputFormat.allCases)
    func isChosenByItsName(_ format: OutputFormat) throws {
        #expect(try OutputFormat(name: format.name.uppercased()) == format)
        #expect(format.acceptsFrames || format.acceptsPackets)
        for ending in format.extensions { #expect(try OutputFormat(path: "a.\(ending)") == format) }
    }

    @Test(arguments: ["a", "-", ".webm", "a.", "a.b/c", ""])
    func aPathWithoutExtensionIsTold(_ path: String) {
        let error = mediaFileError { try OutputFormat(path: path) }
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("no extension") == true)
    }

    @Test func aWrongExtensionGetsASuggestion() {
        #expect(mediaFileError { try OutputFormat(path: "a.wbem") }?.message.contains("Did you mean webm?") == true)
        #expect(mediaFileError { try OutputFormat(name: "y4n") }?.message.contains("Did you mean y4m?") == true)
        #expect(mediaFileError { try OutputFormat(path: "a.mp4") }?.message.contains("Did you mean") == false)
    }

    @Test(arguments: [
        ("nosie", "noise"), ("NOISE", "noise"), ("camra", "camera"), ("scren", "screen"), ("xyz", nil), ("", nil),
        ("q", nil),
    ])
    func theNearestNameIsFound(_ typed: String, _ expected: String?) {
        #expect(nearestName(to: typed, in: ["noise", "camera", "screen"]) == expected)
    }

    @Test func aVeryLongNameCostsLittle() {
        #expect(nearestName(to: String(repeating: "x", count: 10_000_000), in: ["noise"]) == nil)
    }

    @Test func writersFitTheirFormats() throws {
        let folder = TemporaryFolder()
        for format in OutputFormat.allCases {
            let path = folder.file(format.name)
            if format.acceptsFrames {
                let writer = try format.makeFrameWriter(path: path, overwrite: true, timing: .constant(30))
                try writer.writeFrame(makeFrame(format.pixelFormat ?? .rgba))
                try writer.finish()
                #expect(writer.bytesWritten > 0)
            } else {
                let error = mediaFileError { try format.makeFrameWriter(path: path, timing: .constant(30)) }
                #expect(error?.code == .formatUnsupported)
            }
            if format.acceptsPackets {
                let writer = try format.makePacketWriter(path: path, overwrite: true)
                let pcm = TrackDescription(
                    id: 0, codec: .pcm, media: .audio(.init(sampleRate: 48_000, channelCount: 1)))
                switch format {
                case .wav: try writer.begin([pcm])
                case .weba: try writer.begin([makeSoundTrack(id: 0)])
                default: try writer.begin([makeTrack(format == .h264 ? .h264 : .vp8)])
                }
                try writer.write(makePacket([1, 2], at: .zero, isKeyFrame: true))
                try writer.finish()
                #expect(writer.bytesWritten > 0)
            } else {
                #expect(mediaFileError { try format.makePacketWriter(path: path) }?.code == .formatUnsupported)
            }
        }
    }
}
