import CapturerTestKit
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// A track of Opus with a delay of 6.5 ms.
func makeSoundTrack(id: TrackID = 1, channels: Int = 2, header: [UInt8]? = nil) -> TrackDescription {
    let bytes = header ?? Array("OpusHead".utf8) + [1, UInt8(channels), 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
    return TrackDescription(
        id: id, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: channels)),
        decoderConfiguration: bytes.withUnsafeBytes { PacketBuffer(copying: $0) })
}

/// A packet that says it is 20 ms of full-band stereo.
func makeSound(_ index: Int, track: TrackID = 1, after delay: Duration = .zero, duration: Duration = .milliseconds(20))
    -> MediaPacket
{
    var packet = makePacket(
        [0xFC, UInt8(truncatingIfNeeded: index)], at: .milliseconds(20 * index) + delay, isKeyFrame: true,
        duration: duration, width: 0, height: 0)
    packet.track = track
    return packet
}

/// WebM with VP8 and Opus.
@Suite struct WebMSoundTests {
    private let folder = TemporaryFolder()

    private func write(_ tracks: [TrackDescription], _ packets: [MediaPacket]) throws -> WebMFile {
        let path = folder.file("a.webm")
        let writer = WebMWriter(try OutputFile(path: path, overwrite: true))
        try writer.begin(tracks)
        for packet in packets { try writer.write(packet) }
        try writer.finish()
        return try #require(try WebMFile(readBytes(path)))
    }

    /// Ten seconds of both, the sound handed over late.
    private func film(soundLate delay: Int, seconds: Int = 10) -> [MediaPacket] {
        var packets: [(handed: Int, packet: MediaPacket)] = (0..<seconds * 25).map { index in
            (
                index * 40,
                makePacket(
                    [2, UInt8(truncatingIfNeeded: index)], at: .milliseconds(index * 40), isKeyFrame: index % 50 == 0)
            )
        }
        packets += (0..<seconds * 50).map { ($0 * 20 + delay, makeSound($0)) }
        return packets.sorted { $0.handed < $1.handed }.map(\.packet)
    }

    /// Browsers refuse a block that is earlier than the one before.
    @Test(arguments: [0, 25, 100, 450, 800]) func blocksAreInOrderHoweverLateTheSound(_ delay: Int) throws {
        let file = try write([makeTrack(), makeSoundTrack()], film(soundLate: delay))
        #expect(file.blocks.count == 750)
        #expect(file.blocks.map(\.time) == file.blocks.map(\.time).sorted())
        let sound = file.blocks.filter { $0.track == 2 }
        if delay < 500 {
            // Each at its own time, and before a picture of the same time.
            #expect(sound.map(\.time) == Array(stride(from: Int64(0), to: 10_000, by: 20)))
            for (before, after) in zip(file.blocks, file.blocks.dropFirst()) where before.time == after.time {
                #expect(before.track == 2)
            }
        }
        // A cluster begins with each key picture, but for sound of the same time.
        #expect(file.clusters.count == 5)
        for (number, cluster) in file.clusters.enumerated() {
            // Of the first one sound of the same time is the beginning.
            let first = file.blocks(cluster).first { number > 0 || $0.track == 1 }
            #expect(first?.track == 1 && first?.time == Int64(number * 2000))
        }
        #expect(file.segment.first(0x1C53_BB6B)?.children.count == 5)
    }

    @Test func theTrackOfSoundIsWhatTheStandardDemands() throws {
        let file = try write([makeTrack(), makeSoundTrack()], film(soundLate: 0, seconds: 1))
        let tracks = try #require(file.segment.first(0x1654_AE6B)).all(0xAE)
        let entry = try #require(tracks.last)
        func value(_ id: UInt32) -> UInt64? { entry.first(id).map { file.tree.unsigned($0) } }
        #expect(value(0xD7) == 2 && value(0x83) == 2 && value(0x9C) == 0)
        #expect(value(0x56AA) == 6_500_000 && value(0x56BB) == 80_000_000)
        #expect(file.tree.text(try #require(entry.first(0x86))) == "A_OPUS")
        let audio = try #require(entry.first(0xE1))
        #expect(file.tree.float(try #require(audio.first(0xB5))) == 48_000)
        #expect(audio.first(0x9F).map { file.tree.unsigned($0) } == 2)
        #expect(file.tree.text(try #require(file.tree.roots[0].first(0x4282))) == "webm")
    }

    @Test func whatIsPaddingIsDiscarded() throws {
        var packets = (0..<50).map { makeSound($0) }
        packets.append(makeSound(50, duration: .microseconds(6500)))
        let file = try write([makeSoundTrack()], packets)
        #expect(file.blocks.map(\.padding) == [Int64](repeating: 0, count: 50) + [13_500_000])
        #expect(file.blocks.allSatisfy { $0.isKeyFrame })
        // The delay of the decoder is no part of the duration.
        #expect(file.duration == 1000)
    }

    /// Without pictures each cluster can be gone to.
    @Test func soundAloneHasAnIndex() throws {
        let file = try write([makeSoundTrack()], (0..<1500).map { makeSound($0) })
        #expect(file.clusters.count == 6)
        let points = try #require(file.segment.first(0x1C53_BB6B)).all(0xBB)
        #expect(points.map { file.tree.unsigned($0.first(0xB3)!) } == [0, 5000, 10_000, 15_000, 20_000, 25_000])
        #expect(points.allSatisfy { $0.first(0xB7)?.first(0xF7).map { file.tree.unsigned($0) } == 1 })
    }

    /// The index of a film names the track of the pictures, wherever it is in the list.
    @Test func theIndexIsOfThePictures() throws {
        let file = try write([makeSoundTrack(), makeTrack()], film(soundLate: 0, seconds: 4))
        let points = try #require(file.segment.first(0x1C53_BB6B)).all(0xBB)
        #expect(points.count == 2)
        #expect(points.allSatisfy { $0.first(0xB7)?.first(0xF7).map { file.tree.unsigned($0) } == 2 })
    }

    /// Sound that begins before the pictures, or ends long after them.
    @Test func timesAreNeverNegative() throws {
        var packets = (0..<10).map { makeSound($0, after: .milliseconds(-100)) }
        packets.insert(makePacket([1], at: .zero, isKeyFrame: true), at: 8)
        packets += (10..<400).map { makeSound($0, after: .milliseconds(-100)) }
        let file = try write([makeTrack(), makeSoundTrack()], packets)
        #expect(file.blocks.count == 401)
        #expect(file.blocks.allSatisfy { $0.time >= 0 })
        #expect(file.blocks.map(\.time) == file.blocks.map(\.time).sorted())
    }

    /// What a kill leaves has all but what waits for the other track.
    @Test func withoutFinishTheFileIsSound() throws {
        let path = folder.file("killed.webm")
        let writer = WebMWriter(try OutputFile(path: path, overwrite: true))
        try writer.begin([makeTrack(), makeSoundTrack()])
        let packets = film(soundLate: 60, seconds: 2)
        for (index, packet) in packets.enumerated() {
            try writer.write(packet)
            let file = try WebMFile(readBytes(path))
            let blocks = file?.blocks ?? []
            #expect(blocks.count >= index + 1 - 6)
            #expect(blocks.map(\.time) == blocks.map(\.time).sorted())
        }
        try writer.finish()
    }

    @Test func soundThatWebMCannotHoldIsRefused() throws {
        let broken: [TrackDescription] = [
            makeSoundTrack(header: []), makeSoundTrack(header: Array("OpusHead".utf8)),
            makeSoundTrack(header: [UInt8](repeating: 0, count: 19)), makeSoundTrack(channels: 6),
            TrackDescription(id: 1, codec: .mp3, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
            TrackDescription(id: 1, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
        ]
        for track in broken {
            let writer = WebMWriter(try OutputFile(path: folder.file("b.webm"), overwrite: true))
            #expect(mediaFileError { try writer.begin([makeTrack(), track]) }?.code == .formatUnsupported)
            try writer.finish()
        }
    }

    /// Packets of any bytes and lengths are written without a trap.
    @Test func anyBytesAreTaken() throws {
        var random = SeededRandom(state: 3)
        let packets = (0..<500).map { index in
            var packet = makeSound(
                index, duration: .nanoseconds(Int64.random(in: -1_000_000...300_000_000, using: &random)))
            let bytes = (0..<Int.random(in: 1...4, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            packet.data = bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
            return packet
        }
        let file = try write([makeSoundTrack()], packets)
        #expect(file.blocks.count == 500)
        #expect(file.blocks.allSatisfy { $0.padding >= 0 })
    }

    @Test func theContractIsKept() {
        let path = folder.file("suite.webm")
        let suite = PacketSinkSuite(tracks: [makeTrack(), makeSoundTrack(id: 9)]) {
            PacketSinkSuite.Trial(sink: WebMWriter(try OutputFile(path: path, overwrite: true))) {
                try WebMFile(readBytes(path))?.blocks.count ?? 0
            }
        }
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }
}
