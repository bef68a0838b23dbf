import FFmpegContainers
import H264Bitstream
import H264Codec
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct H264DecoderTests {
    /// Packets with a key frame each twelve frames; each picture's mean brightness tells its number.
    private static func stream(_ count: Int, size: Int = 64, nalSize: Int? = nil) throws -> [[UInt8]] {
        var configuration = H264Encoder.Configuration(bitrate: 400_000)
        configuration.keyFrameInterval = .milliseconds(400)
        configuration.maximumNALUnitSize = nalSize
        let encoder = try H264Encoder(configuration)
        var packets: [[UInt8]] = []
        for number in 0..<count {
            let buffer = try PixelBuffer.make(.i420, width: size, height: size) { pixels in
                pixels.fill(plane: 0) { x, y in UInt8(20 + number * 4 + (x ^ y) % 8) }
                pixels.fill(plane: 1) { x, _ in UInt8(100 + (x + number) % 60) }
                pixels.fill(plane: 2, with: 128)
            }
            let time = MediaTime.zero.advanced(by: FrameRate(30).time(ofFrame: Int64(number)))
            try encoder.encode(VideoFrame(buffer: buffer, timestamp: time)) { packet in
                packets.append(packet.data.withUnsafeBytes { Array($0) })
            }
        }
        return packets
    }

    private func number(_ picture: PixelBuffer) -> Int {
        var sum = 0
        for row in 0..<picture.height { picture.withRow(row, ofPlane: 0) { sum += $0.reduce(0) { $0 + Int($1) } } }
        return Int((Double(sum) / Double(picture.width * picture.height) - 23.5) / 4 + 0.5)
    }

    private func decode(_ packets: [[UInt8]], by decoder: H264Decoder) throws -> [Int] {
        var numbers: [Int] = []
        for packet in packets {
            try packet.withUnsafeBytes { try decoder.decode($0) { numbers.append(number($0)) } }
        }
        return numbers
    }

    @Test func numbersSurviveWithTheirTimes() throws {
        let decoder = try H264Decoder()
        for (index, packet) in try H264DecoderTests.stream(30).enumerated() {
            var count = 0
            try packet.withUnsafeBytes {
                try decoder.decode($0, time: .milliseconds(index * 33)) { picture, time in
                    #expect(number(picture) == index)
                    #expect(time == .milliseconds(index * 33))
                    count += 1
                }
            }
            #expect(count == 1)
        }
        #expect(decoder.lostFrameCount == 0)
        #expect(decoder.skippedUnitCount == 0)
    }

    @Test func nothingIsShownUntilAnIDRPicture() throws {
        let packets = try H264DecoderTests.stream(30)
        let decoder = try H264Decoder()
        #expect(try decode(Array(packets[3..<20]), by: decoder) == Array(12..<20))
        #expect(decoder.skippedUnitCount == 9)
        #expect(decoder.lostFrameCount == 0)
        // The same with parameter sets, which alone are not enough.
        let sets = try packets[0].withUnsafeBytes { bytes throws(CodecError) in
            try AVCDecoderConfiguration(annexB: bytes)
        }
        let informed = try H264Decoder(configuration: sets)
        #expect(try decode(Array(packets[3..<20]), by: informed) == Array(12..<20))
        #expect(informed.skippedUnitCount == 9)
    }

    @Test func gapsAreCountedAndNothingWrongIsShown() throws {
        let packets = try H264DecoderTests.stream(30)
        let decoder = try H264Decoder()
        #expect(try decode(Array(packets[..<4] + packets[7...]), by: decoder) == Array(0..<4) + Array(12..<30))
        #expect(decoder.lostFrameCount == 3)
        #expect(decoder.skippedUnitCount == 5)
        let lenient = try H264Decoder(showsDamage: true)
        #expect(try decode(Array(packets[..<4] + packets[7...]), by: lenient).count == 27)
        #expect(lenient.lostFrameCount == 3)
    }

    @Test func damageIsThrownAndForgottenAtTheNextIDRPicture() throws {
        var packets = try H264DecoderTests.stream(30, size: 160)
        packets[5] = Array(packets[5].prefix(packets[5].count / 2))
        let decoder = try H264Decoder()
        var shown: [Int] = []
        var failures: [Int] = []
        for (index, packet) in packets.enumerated() {
            do {
                try packet.withUnsafeBytes { try decoder.decode($0) { shown.append(number($0)) } }
            } catch let error as CodecError {
                #expect(error.code == .corruptData)
                failures.append(index)
            }
        }
        #expect(failures == [5])
        #expect(shown == Array(0..<5) + Array(12..<30))
    }

    @Test func aResetWaitsAgain() throws {
        let packets = try H264DecoderTests.stream(20)
        let decoder = try H264Decoder()
        _ = try decode(Array(packets[..<5]), by: decoder)
        decoder.reset()
        #expect(decoder.isWaitingForKeyFrame)
        #expect(try decode(Array(packets[8...]), by: decoder) == Array(12..<20))
        #expect(decoder.lostFrameCount == 0)
    }

    /// The shown pictures by the index of their packets; what is lost is left out of the stream.
    private func shown(_ packets: [[UInt8]], without lost: Range<Int> = 0..<0) throws -> [Int] {
        let decoder = try H264Decoder()
        var shown: [Int] = []
        for (index, packet) in packets.enumerated() where !lost.contains(index) {
            try packet.withUnsafeBytes {
                try decoder.decode($0, time: .nanoseconds(index)) { shown.append(Int($1.nanoseconds)) }
            }
        }
        try decoder.flush { shown.append(Int($1.nanoseconds)) }
        return shown
    }

    /// Pictures that are held back for reordering are there at the end, and at a loss.
    @Test func heldPicturesAreShown() throws {
        let packets = try MediaFolder().accessUnits("-c:v libx264 -preset veryfast -bf 3 -g 9")
        #expect(try shown(packets).sorted() == Array(0..<18))
        let cut = try shown(packets, without: 4..<9)
        #expect(cut.sorted() == Array(0..<4) + Array(9..<18))
    }

    /// Encoders of cameras often do not state how many pictures they reorder: none is shown too early, and none left out.
    @Test(arguments: [
        "-bf 1", "-bf 3 -x264-params b-pyramid=normal:b-adapt=0", "-bf 7 -x264-params b-adapt=0:b-pyramid=strict",
    ])
    func reorderingThatIsNotStated(_ options: String) throws {
        let packets = try MediaFolder().accessUnits("-c:v libx264 -preset veryfast -g 30 \(options)", frames: 30)
        let stripped = try packets.map { packet -> [UInt8] in
            var made: [UInt8] = []
            try packet.withUnsafeBytes { bytes in
                for unit in AnnexB.units(in: bytes) {
                    guard unit.type == .sps else {
                        AnnexB.append(unit, to: &made)
                        continue
                    }
                    let set = try SequenceParameterSet(unit)
                    var usability = try #require(set.videoUsability)
                    #expect(usability.restriction?.reorderedFrameCount ?? 0 > 0)
                    usability.restriction = nil
                    set.replacingVideoUsability(of: unit, with: usability).withUnsafeBytes {
                        if let unit = NALUnit($0) { AnnexB.append(unit, to: &made) }
                    }
                }
            }
            return made
        }
        #expect(try shown(stripped) == shown(packets))
        #expect(try shown(stripped).sorted() == Array(0..<30))
    }

    /// A stream that is refreshed bit by bit has no IDR picture but the first: it is joined at a recovery point, and
    /// shown once all of a picture is refreshed.
    @Test func decodingBeginsAtARecoveryPoint() throws {
        let packets = try MediaFolder().accessUnits(
            "-c:v libx264 -preset veryfast -bf 0 -x264-params intra-refresh=1:keyint=8:repeat-headers=1", frames: 40)
        let all = try shown(packets)
        #expect(all == Array(0..<40))
        let joined = try shown(packets, without: 0..<3)
        // Points are at 8, 16 and so on, of which the first is complete with the next.
        let first = try #require(joined.first)
        #expect((8...16).contains(first) && joined == Array(first..<40), "\(joined)")
        let cut = try shown(packets, without: 20..<22)
        #expect(cut.prefix(20) == Array(0..<20)[...])
        let next = try #require(cut.dropFirst(20).first)
        #expect((24...32).contains(next) && cut.dropFirst(20) == Array(next..<40)[...], "\(cut)")
    }

    /// In a stream without recovery points decoding begins at a picture that refers to no other, as it does in a file;
    /// pictures before it that come after it in the stream are not shown.
    @Test func decodingBeginsAtAnIntraPicture() throws {
        let packets = try MediaFolder().accessUnits(
            "-c:v libx264 -preset veryfast -bf 2 -x264-params scenecut=0:open-gop=1:keyint=8:b-adapt=0:repeat-headers=1 "
                + "-bsf:v filter_units=remove_types=6", frames: 30)
        let joined = try shown(packets, without: 0..<3)
        // The ninth packet's picture precedes that of the eighth.
        #expect(joined.first == 7 && joined.sorted() == [7] + Array(9..<30), "\(joined)")
    }

    @Test func largePicturesAreRefused() throws {
        let packets = try H264DecoderTests.stream(2, size: 320)
        let decoder = try H264Decoder(maximumPixelCount: 10_000)
        #expect { _ = try decode(packets, by: decoder) } throws: { ($0 as? CodecError)?.code == .corruptData }
    }

    /// 12,000 streams with `H264_MUTATIONS=12000`; a part of them otherwise.
    @Test func mutatedStreamsEndInPicturesOrErrors() async throws {
        let total = getenv("H264_MUTATIONS").flatMap { Int(String(cString: $0)) } ?? 1000
        let folder = try MediaFolder()
        // Besides ours: CABAC with B frames and weighted prediction; fields; gradual refresh with slices.
        let streams = [
            try H264DecoderTests.stream(16), try H264DecoderTests.stream(16, size: 160, nalSize: 500),
            try folder.accessUnits("-c:v libx264 -preset slow -bf 2 -refs 3 -g 8"),
            try folder.accessUnits("-c:v libx264 -flags +ilme+ildct -x264-params tff=1 -g 8"),
            try folder.accessUnits("-c:v libx264 -preset veryfast -x264-params intra-refresh=1:slices=3:keyint=8"),
        ]
        #expect(streams.allSatisfy { $0.count >= 16 })
        // What libraries keep for good is taken once.
        for seed in 0..<50 { _ = play(streams[seed % streams.count], seed: seed) }
        let before = residentMemory()
        let parts = 4
        let outcome = await withTaskGroup(of: (pictures: Int, errors: Int).self) { group in
            for part in 0..<parts {
                group.addTask {
                    var sum = (pictures: 0, errors: 0)
                    for seed in stride(from: part, to: total, by: parts) {
                        let (pictures, errors) = play(streams[seed % streams.count], seed: seed)
                        sum = (sum.pictures + pictures, sum.errors + errors)
                    }
                    return sum
                }
            }
            var sum = (pictures: 0, errors: 0)
            for await part in group { sum = (sum.pictures + part.pictures, sum.errors + part.errors) }
            return sum
        }
        #expect(outcome.pictures > total)
        #expect(outcome.errors > total / 10)
        // A leak of the decoders or of the pictures would be more than 100 MB.
        #expect(residentMemory() - before < 40 << 20)
    }
}

extension MediaFolder {
    /// The access units of what ffmpeg encodes.
    fileprivate func accessUnits(_ options: String, frames: Int = 18) throws -> [[UInt8]] {
        _ = try make("a.h264", frames: frames, options)
        var units: [[UInt8]] = []
        var parser = AccessUnitParser()
        try readBytes(file("a.h264")).withUnsafeBytes { parser.append($0) { units.append(Array($0.bytes)) } }
        parser.flush { units.append(Array($0.bytes)) }
        return units
    }
}

/// Decodes a part of a stream, some of whose packets are mutated.
private func play(_ stream: [[UInt8]], seed: Int) -> (pictures: Int, errors: Int) {
    var state = UInt64(seed + 1) &* 0x9E37_79B9_7F4A_7C15
    func random(_ limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 16) % limit
    }
    guard let decoder = try? H264Decoder(maximumPixelCount: 1 << 16, showsDamage: seed % 2 == 0) else { return (0, 0) }
    var result = (pictures: 0, errors: 0)
    let start = random(4) == 0 ? random(8) : 0
    for var packet in stream[start..<start + 8] {
        switch random(10) {
        case 0...2:
            for _ in 0..<(1 + random(8)) {
                packet[random(random(2) == 0 ? packet.count : min(packet.count, 64))] ^= UInt8(1 << random(8))
            }
        case 3: packet = Array(packet.prefix(1 + random(packet.count)))
        case 4:
            let from = random(packet.count)
            packet.removeSubrange(from..<from + random(packet.count - from))
        case 5:
            let from = random(packet.count)
            for index in from..<min(packet.count, from + random(64)) { packet[index] = UInt8(random(256)) }
        default: break
        }
        do {
            try packet.withUnsafeBytes { bytes in
                try decoder.decode(bytes) { picture in
                    result.pictures += 1
                    precondition(picture.width * picture.height <= 1 << 16)
                    for plane in 0..<3 {
                        let last = picture.planes[plane].rows - 1
                        picture.withRow(last, ofPlane: plane) { precondition($0.last != nil) }
                    }
                }
            }
        } catch {
            result.errors += 1
        }
    }
    return result
}
