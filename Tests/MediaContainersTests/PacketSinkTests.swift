import CapturerTestKit
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// The writers of packets keep the contract of `PacketSink`.
@Suite struct PacketSinkTests {
    private let folder = TemporaryFolder()
    private static let others: [TrackDescription] = [
        makeTrack(.jpeg), makeTrack(.h264), makeTrack(Codec(rawValue: "of a stranger")),
        TrackDescription(id: 0, codec: .vp8, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
    ]

    @Test(arguments: 1...3) func webM(trackCount: Int) {
        let path = folder.file("a.webm")
        let tracks = (0..<trackCount).map { makeTrack(id: TrackID(rawValue: UInt32($0) * 7)) }
        let suite = PacketSinkSuite(tracks: tracks, refused: Self.others) {
            PacketSinkSuite.Trial(sink: WebMWriter(try OutputFile(path: path, overwrite: true))) {
                try WebMFile(readBytes(path))?.blocks.count ?? 0
            }
        }
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test func ivf() {
        let path = folder.file("a.ivf")
        let suite = PacketSinkSuite(tracks: [makeTrack()], refused: Self.others) {
            PacketSinkSuite.Trial(sink: IVFWriter(try OutputFile(path: path, overwrite: true))) {
                guard try !readBytes(path).isEmpty else { return 0 }
                let reader = try IVFReader(InputFile(path: path))
                var count = 0
                while try reader.nextPacket() != nil { count += 1 }
                return count
            }
        }
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }

    /// JPEG packets once became a file that claimed to be VP8.
    @Test(arguments: [Codec.jpeg, .h264, .opus])
    func aCodecThatCannotBeHeldIsRefused(_ codec: Codec) throws {
        for (name, make) in [
            ("a.webm", { WebMWriter($0) as any PacketWriter }), ("a.ivf", { IVFWriter($0) as any PacketWriter }),
        ] {
            let path = folder.file(name)
            let writer = make(try OutputFile(path: path, overwrite: true))
            #expect(mediaFileError { try writer.begin([makeTrack(codec)]) }?.code == .formatUnsupported)
            try writer.finish()
            #expect(try readBytes(path).isEmpty)
        }
    }

    @Test func ivfHoldsOneTrack() throws {
        let writer = IVFWriter(try OutputFile(path: folder.file("a.ivf")))
        let tracks = [makeTrack(), makeTrack(id: 1)]
        #expect(mediaFileError { try writer.begin(tracks) }?.code == .formatUnsupported)
    }

    @Test func tracksWithTheSameIdentifierAreRefused() throws {
        let writer = WebMWriter(try OutputFile(path: folder.file("a.webm")))
        #expect(mediaFileError { try writer.begin([makeTrack(), makeTrack()]) }?.code == .formatUnsupported)
    }

    /// Two cameras into one file: one of 25 and one of 10 frames per second, the second handed over half a second late.
    @Test func severalTracksAreInterleavedByTime() throws {
        let path = folder.file("two.webm")
        let writer = WebMWriter(try OutputFile(path: path))
        try writer.begin([makeTrack(id: 5), makeTrack(id: 9, width: 32, height: 24)])
        var packets: [(handed: Int, packet: MediaPacket)] = []
        for index in 0..<100 {
            let time = index * 40
            var packet = makePacket([1, UInt8(index)], at: .milliseconds(time), isKeyFrame: index % 25 == 0)
            packet.track = 5
            packets.append((time, packet))
        }
        for index in 0..<40 {
            let time = index * 100 + 7
            var packet = makePacket([2, UInt8(index)], at: .milliseconds(time), isKeyFrame: index % 10 == 0)
            packet.track = 9
            packets.append((time + 500, packet))
        }
        for (_, packet) in packets.sorted(by: { $0.handed < $1.handed }) { try writer.write(packet) }
        try writer.finish()
        let file = try #require(try WebMFile(readBytes(path)))
        #expect(file.blocks.count == 140)
        #expect(file.blocks.map(\.time) == file.blocks.map(\.time).sorted())
        #expect(file.blocks.count { $0.track == 1 } == 100 && file.blocks.count { $0.track == 2 } == 40)
        // Each cluster begins with a key frame of the first track, which the index points to.
        #expect(file.clusters.count == 4)
        let streams = try run(
            "ffprobe", "-v", "error", "-show_entries", "stream=codec_name,width,height,nb_read_packets",
            "-count_packets", "-of", "csv=p=0", path)
        #expect(streams == "vp8,64,48,100\nvp8,32,24,40\n")
    }

    /// A track that falls silent holds the other up by a second of its time, not for good.
    @Test func aSilentTrackHoldsNothingUpForGood() throws {
        let path = folder.file("silent.webm")
        let writer = WebMWriter(try OutputFile(path: path))
        try writer.begin([makeTrack(), makeTrack(id: 1)])
        for index in 0..<100 {
            try writer.write(makePacket([1], at: .milliseconds(index * 40), isKeyFrame: index == 0))
        }
        // The last second of them waits.
        #expect(try WebMFile(readBytes(path))?.blocks.count == 74)
        try writer.finish()
        #expect(try WebMFile(readBytes(path))?.blocks.count == 100)
    }
}
