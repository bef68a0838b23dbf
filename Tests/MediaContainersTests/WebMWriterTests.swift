import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Frames in irregular steps with key frames now and then; bytes differ in count and content.
func samplePackets(_ count: Int, keyFrameEvery distance: Int = 10, color: ColorDescription = .bt601) throws
    -> [MediaPacket]
{
    (0..<count).map { index in
        let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 20 + index * 7 % 150)
        let time = Duration.microseconds(index * 33_367 + index % 3 * 400)
        return makePacket(bytes, at: time, isKeyFrame: index % distance == 0, color: color)
    }
}

/// What `packets` become in a file.
func webm(_ packets: [MediaPacket], options: WebMWriter.Options = .init()) throws -> [UInt8] {
    let folder = TemporaryFolder()
    let writer = WebMWriter(try OutputFile(path: folder.file("a.webm")), options: options)
    if let first = packets.first {
        try writer.begin([makeTrack(width: first.width, height: first.height, color: first.attributes.color)])
    }
    for packet in packets { try writer.write(packet) }
    try writer.finish()
    let bytes = try readBytes(folder.file("a.webm"))
    #expect(writer.bytesWritten == Int64(bytes.count))
    return bytes
}

@Suite struct WebMWriterTests {
    @Test func theHeaderIsByteExact() throws {
        let bytes = try webm([makePacket([0xAB], at: .zero, isKeyFrame: true, width: 640, height: 480)])
        func hex(_ range: Range<Int>) -> String {
            bytes[range].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        // EBML, version 1, ids of up to 4 bytes, sizes of up to 8, "webm" version 4 readable as 2.
        let ebml = "1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581" + "02"
        #expect(hex(0..<36) == ebml)
        // The Segment ends with the file.
        #expect(hex(36..<40) == "18538067")
        #expect(bytes[40] == 1)
        #expect(bytes[41..<48].reduce(0) { $0 << 8 | Int($1) } == bytes.count - 48)
        #expect(hex(48..<52) == "114d9b74")
        #expect(hex(144..<149) == "1549a966c2")
        // TimestampScale 1,000,000; Duration 33 ms as a 64-bit float.
        #expect(hex(149..<156) == "2ad7b1830f4240")
        let tracks = 149 + 0x42
        #expect(hex(tracks - 11..<tracks) == "4489884040800000000000")
        var track = "1654ae6bb6" + "aeb4" + "d78101" + "73c58101" + "838101" + "9c8100"
        track += "8685565f565038"
        track += "e09e" + "9a8102" + "b0820280" + "ba8201e0"
        track += "55b090" + "55b18106" + "55b98101" + "55ba8106" + "55bb8106"
        #expect(hex(tracks..<tracks + track.count / 2) == track)
        // One cluster at 0 with one block, and its cue.
        let cluster = "1f43b675" + "0100000000000" + "00a" + "e78100" + "a385" + "81000080ab"
        let start = tracks + track.count / 2
        #expect(hex(start..<start + cluster.count / 2) == cluster)
        #expect(hex(start + cluster.count / 2..<bytes.count).hasPrefix("1c53bb6b"))
    }

    @Test func theStructureIsSound() throws {
        let packets = try samplePackets(45)
        let file = try #require(try WebMFile(webm(packets)))
        let tree = file.tree
        let segment = file.segment
        #expect(!segment.hasUnknownSize && !segment.isCut && segment.end == tree.bytes.count)
        #expect(segment.children.map(\.id).prefix(4) == [0x114D_9B74, 0xEC, 0x1549_A966, 0x1654_AE6B])
        #expect(segment.children.last?.id == 0x1C53_BB6B)
        #expect(file.clusters.allSatisfy { !$0.hasUnknownSize })
        #expect(file.clusters.map { file.blocks($0).count } == [10, 10, 10, 10, 5])
        for cluster in file.clusters { #expect(file.blocks(cluster).first?.isKeyFrame == true) }
        let blocks = file.blocks
        #expect(blocks.map(\.bytes) == packets.map { $0.data.withUnsafeBytes { Array($0) } })
        #expect(blocks.map(\.isKeyFrame) == packets.map(\.isKeyFrame))
        for (block, packet) in zip(blocks, packets) {
            let exact = (packet.timestamp - packets[0].timestamp).nanoseconds
            #expect(abs(block.time * 1_000_000 - exact) <= 500_000)
        }
        let last = packets[44]
        let end = (last.timestamp - packets[0].timestamp).nanoseconds + last.duration.nanoseconds
        let difference = try #require(file.duration) - Double(end) / 1e6
        #expect(abs(difference) < 1e-6)
    }

    @Test func seekHeadAndCuesPointWhereTheySay() throws {
        let file = try #require(try WebMFile(webm(samplePackets(45, keyFrameEvery: 20))))
        let tree = file.tree
        let start = file.segment.content
        let head = try #require(file.segment.first(0x114D_9B74))
        let seeks = try head.all(0x4DBB).map { seek in
            (
                UInt32(tree.unsigned(try #require(seek.first(0x53AB)))),
                Int(tree.unsigned(try #require(seek.first(0x53AC))))
            )
        }
        #expect(seeks.map(\.0) == [0x1549_A966, 0x1654_AE6B, 0x1C53_BB6B])
        for (id, position) in seeks {
            #expect(file.segment.children.contains { $0.id == id && $0.start == start + position })
        }
        let points = try #require(file.segment.first(0x1C53_BB6B)).all(0xBB)
        #expect(points.count == 3)
        for (point, cluster) in zip(points, file.clusters) {
            let place = try #require(point.first(0xB7))
            #expect(Int(tree.unsigned(try #require(place.first(0xF1)))) == cluster.start - start)
            #expect(tree.unsigned(try #require(place.first(0xF7))) == 1)
            #expect(Int64(tree.unsigned(try #require(point.first(0xB3)))) == file.blocks(cluster).first?.time)
        }
    }

    @Test(arguments: [ColorDescription.bt601, .bt709, .jpeg, ColorDescription(matrix: .bt709, range: .full)])
    func theColourIsAlwaysWritten(_ color: ColorDescription) throws {
        let file = try #require(try WebMFile(webm(samplePackets(1, color: color))))
        let video = try #require(file.segment.first(0x1654_AE6B)?.first(0xAE)?.first(0xE0))
        let colour = try #require(video.first(0x55B0))
        func value(_ id: UInt32) -> UInt64? { colour.first(id).map { file.tree.unsigned($0) } }
        #expect(value(0x55B1) == UInt64(color.matrix.h273Code))
        #expect(value(0x55BA) == UInt64(color.matrix.h273Code))
        #expect(value(0x55BB) == UInt64(color.matrix.h273Code))
        #expect(value(0x55B9) == (color.range == .limited ? 1 : 2))
    }

    @Test func theSizeInSquarePixelsIsWrittenForOthers() throws {
        let folder = TemporaryFolder()
        for aspect in [PixelAspect.square, PixelAspect(width: 64, height: 45)!] {
            let path = folder.file("a.webm")
            let writer = WebMWriter(try OutputFile(path: path, overwrite: true))
            try writer.begin([
                TrackDescription(
                    id: 0, codec: .vp8, media: .video(.init(width: 180, height: 144, pixelAspect: aspect)))
            ])
            for packet in try samplePackets(1) { try writer.write(packet) }
            try writer.finish()
            let file = try #require(try WebMFile(readBytes(path)))
            let video = try #require(file.segment.first(0x1654_AE6B)?.first(0xAE)?.first(0xE0))
            func value(_ id: UInt32) -> UInt64? { video.first(id).map { file.tree.unsigned($0) } }
            #expect(value(0xB0) == 180 && value(0xBA) == 144)
            #expect(value(0x54B0) == (aspect.isSquare ? nil : 256) && value(0x54BA) == (aspect.isSquare ? nil : 144))
        }
    }

    @Test func clustersEndAtTheirLimits() throws {
        // One key frame in 100 seconds: 20 clusters of 5 s.
        let long = (0..<100).map { makePacket([1], at: .seconds($0), isKeyFrame: $0 == 0) }
        let byTime = try #require(try WebMFile(webm(long)))
        #expect(byTime.clusters.count == 20)
        let seconds: [Int64] = (0..<100).map { $0 * 1000 }
        #expect(byTime.blocks.map(\.time) == seconds)
        // Only the cluster with the key frame can be gone to.
        #expect(byTime.segment.first(0x1C53_BB6B)?.children.count == 1)
        // The longest that 16 bits can hold, with times just below and at the edge.
        let edge = [0, 32_766, 32_767, 65_533, 200_000].map {
            makePacket([1], at: .milliseconds($0), isKeyFrame: $0 == 0)
        }
        let byOffset = try #require(try WebMFile(webm(edge, options: .init(maximumClusterDuration: .seconds(3600)))))
        #expect(byOffset.blocks.map(\.time) == [0, 32_766, 32_767, 65_533, 200_000])
        #expect(byOffset.clusters.count == 3)
        let big = (0..<10).map { makePacket([UInt8](repeating: 1, count: 400), at: .milliseconds($0)) }
        let bySize = try #require(try WebMFile(webm(big, options: .init(maximumClusterBytes: 1000))))
        #expect(bySize.clusters.map { bySize.blocks($0).count } == [3, 3, 3, 1])
    }

    @Test func timesNeverGoBackAndAreSetApartWherePossible() throws {
        let microseconds = [0, 600, 1400, 1450, 1460, 1500, 900, 10_000, 10_000]
        let packets = microseconds.map { makePacket([1], at: .microseconds($0), duration: .zero) }
        let file = try #require(try WebMFile(webm(packets)))
        #expect(file.blocks.map(\.time) == [0, 1, 2, 2, 2, 3, 3, 10, 11])
    }

    /// A camera that was gone and is back within a millisecond.
    @Test(arguments: [(33_400, 33_401), (33_499, 33_500), (33_500, 33_501), (33_600, 33_700), (33_000, 33_499)])
    func twoWithinAMillisecondHaveTimesOfTheirOwn(first: Int, second: Int) throws {
        let packets = [0, first, second, 66_700].map {
            makePacket([1], at: .microseconds($0), duration: .zero)
        }
        let times = try #require(try WebMFile(webm(packets))).blocks.map(\.time)
        #expect(times == Set(times).sorted() && times.count == 4)
        #expect(abs(Double(times[2]) - Double(second) / 1000) <= 1.5)
    }

    /// However many there are for how long, the times do not run away from the captures'.
    @Test func manyInAMillisecondStayNearTheTruth() throws {
        let microseconds = (0..<5000).map { $0 * 270 }
        let packets = microseconds.map { makePacket([1], at: .microseconds($0), duration: .zero) }
        let times = try #require(try WebMFile(webm(packets))).blocks.map(\.time)
        #expect(times == times.sorted())
        #expect(zip(times, microseconds).allSatisfy { abs(Double($0) - Double($1) / 1000) <= 1.5 })
    }

    @Test func extremeTimesDoNotTrap() throws {
        let times: [Duration] = [.zero, .nanoseconds(Int64.max / 2), .nanoseconds(-1_000_000_000_000)]
        let packets = times.map { makePacket([1], at: $0, isKeyFrame: true, duration: .seconds(Int64.max)) }
        let file = try #require(try WebMFile(webm(packets)))
        #expect(file.blocks.count == 3)
    }

    @Test func intoAPipeNothingIsRewritten() throws {
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        let writer = WebMWriter(OutputFile(descriptor: ends[1], name: "pipe", closing: true))
        try writer.begin([makeTrack()])
        let packets = try samplePackets(30)
        for packet in packets { try writer.write(packet) }
        try writer.finish()
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(ends[0], &bytes, bytes.count)
        close(ends[0])
        #expect(Int64(count) == writer.bytesWritten)
        let file = try #require(try WebMFile(Array(bytes[..<count])))
        #expect(file.segment.hasUnknownSize)
        #expect(file.clusters.count == 3)
        #expect(file.clusters.allSatisfy { $0.hasUnknownSize })
        #expect(file.blocks.count == 30)
        #expect(file.segment.children.map(\.id).prefix(2) == [0x1549_A966, 0x1654_AE6B])
        #expect(file.duration == nil)
    }

    /// What a kill leaves at any moment: every packet that went in, and Duration up to the last closed cluster.
    @Test func withoutFinishTheFileIsSound() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.webm")
        let writer = WebMWriter(try OutputFile(path: path))
        try writer.begin([makeTrack()])
        let packets = try samplePackets(25)
        for (index, packet) in packets.enumerated() {
            try writer.write(packet)
            let file = try #require(try WebMFile(readBytes(path)))
            #expect(file.blocks.count == index + 1)
            #expect(file.segment.hasUnknownSize)
            #expect(file.clusters.dropLast().allSatisfy { !$0.hasUnknownSize })
            let closed = index / 10 * 10
            guard closed > 0 else {
                #expect(file.duration == nil)
                continue
            }
            let end = (packets[closed - 1].timestamp - packets[0].timestamp).nanoseconds
            let difference = try #require(file.duration) - Double(end) / 1e6
            #expect(abs(difference - 33) < 1)
        }
    }

    @Test func withoutPacketsTheFileIsEmpty() throws {
        #expect(try webm([]).isEmpty)
    }

    /// Cut at every byte, finished or killed, the file still gives all its whole blocks.
    @Test func aFileCutAnywhereGivesWhatIsWhole() throws {
        let packets = try samplePackets(13, keyFrameEvery: 4)
        let whole = try webm(packets)
        let folder = TemporaryFolder()
        let writer = WebMWriter(try OutputFile(path: folder.file("a.webm")))
        try writer.begin([makeTrack()])
        for packet in packets { try writer.write(packet) }
        let killed = try readBytes(folder.file("a.webm"))
        for bytes in [whole, killed] {
            let all = try #require(try WebMFile(bytes))
            let ends = all.clusters.flatMap { $0.all(0xA3) }.map(\.end)
            let blocks = all.blocks
            #expect(ends.count == 13)
            for length in 0...bytes.count {
                let file = try WebMFile(Array(bytes[..<length]))
                let expected = ends.count { $0 <= length }
                #expect((file?.blocks ?? []) == Array(blocks[..<expected]), "cut at \(length)")
            }
        }
    }
}
