import MP3Codec
import Testing

@Suite struct MP3FrameParserTests {
    @Test(arguments: [1, 7, 100, 1000, 5000])
    func `Every frame is given whole and with its position, however the stream is cut`(piece: Int) throws {
        let clip = try mp3Clip()
        let parsed = Parsed(clip, piece: piece)
        #expect(parsed.bytes.flatMap { $0 } == clip)
        #expect(parsed.positions.first == 0)
        #expect(zip(parsed.positions, parsed.positions.dropFirst()).allSatisfy { $0 < $1 })
        #expect(parsed.gaps.filter { $0 }.count == 1 && parsed.gaps[0])
        #expect(parsed.findings.garbageBytes == 0)
    }

    @Test(arguments: [(44_100, 2, 128), (48_000, 1, 64), (22_050, 2, 64), (11_025, 1, 24), (32_000, 2, 320)])
    func `Headers of all versions are read`(stream: (rate: Int, channels: Int, bitrate: Int)) throws {
        let parsed = Parsed(try mp3Clip(rate: stream.rate, channels: stream.channels, bitrate: stream.bitrate))
        let header = try #require(parsed.headers.first)
        #expect(header.sampleRate == stream.rate)
        #expect(header.channelCount == stream.channels)
        #expect(header.bitrate == stream.bitrate * 1000)
        #expect(parsed.headers.count > 30)
    }

    @Test(arguments: [1, 64, 500, 5000, 60_000])
    func `Garbage is passed over, and costs at most one whole frame`(count: Int) throws {
        let whole = frames(try mp3Clip())
        let stream = whole[..<30].flatMap { $0 } + noise(count) + whole[30..<60].flatMap { $0 }
        let parsed = Parsed(stream)
        #expect(parsed.bytes.allSatisfy { whole.contains($0) }, "a phantom frame")
        #expect(parsed.bytes.count >= 59)
        #expect(parsed.gaps.filter { $0 }.count == 2)
        let behind = try #require(parsed.gaps.lastIndex(of: true))
        #expect(parsed.positions[behind] == Int64(whole[..<30].joined().count + count))
        #expect(parsed.findings.resynchronizations == 1)
    }

    /// Some encoders write the reserved emphasis, which no decoder minds (l3-hecommon of ISO's vectors).
    @Test func `Frames with the reserved emphasis are frames in step with the stream`() throws {
        var whole = Array(frames(try mp3Clip()).prefix(40))
        for number in [10, 11, 25] { whole[number][3] |= 2 }
        let parsed = Parsed(Array(whole.joined()))
        #expect(parsed.bytes == whole)
        #expect(parsed.findings.resynchronizations == 0)
        // One alone begins nothing.
        whole[0][3] |= 2
        #expect(Parsed(Array(whole.joined())).bytes == Array(whole[1...]))
    }

    @Test func `Noise, zeros and web pages hold no frame`() {
        for stream in [
            noise(1_000_000), [UInt8](repeating: 0, count: 100_000), [UInt8](repeating: 0xFF, count: 100_000),
        ] {
            #expect(Parsed(stream).bytes.isEmpty)
        }
        let page = Array(String(repeating: "<html><body>404 not found</body></html>\n", count: 3000).utf8)
        #expect(Parsed(page).bytes.isEmpty)
    }

    @Test func `A cut frame is left out, and the next ones are whole`() throws {
        let whole = frames(try mp3Clip())
        let stream = whole[..<20].flatMap { $0 } + whole[20][..<200] + whole[21..<40].flatMap { $0 }
        let parsed = Parsed(stream)
        #expect(parsed.bytes == Array(whole[..<20] + whole[21..<40]))
    }

    @Test func `A stream may begin in the middle of a frame`() throws {
        let whole = frames(try mp3Clip())
        let parsed = Parsed(Array(whole[0][200...]) + whole[1..<40].flatMap { $0 })
        #expect(parsed.bytes == Array(whole[1..<40]))
        #expect(parsed.positions.first == Int64(whole[0].count - 200))
    }

    @Test func `Tags are skipped, whatever their length and wherever they stand`() throws {
        let whole = frames(try mp3Clip())
        let some = Array(whole[..<40].joined())
        let ape =
            Array("APETAGEX".utf8) + [208, 7, 0, 0, 100, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xA0]
            + [UInt8](repeating: 0, count: 8) + noise(100)
        let id3v1 = Array("TAG".utf8) + noise(125)
        for stream in [id3(300_000) + some, some + id3(5000) + some, ape + some, some + id3v1 + some, some + ape] {
            let parsed = Parsed(stream)
            #expect(parsed.bytes.count % 40 == 0 && !parsed.bytes.isEmpty)
            #expect(parsed.bytes.allSatisfy { whole.contains($0) })
            #expect(parsed.findings.tagBytes > 0)
        }
    }

    @Test func `A tag that claims to be endless is searched through`() throws {
        let whole = frames(try mp3Clip())
        let parsed = Parsed(id3(3000, stated: (1 << 28) - 1) + whole[..<40].joined())
        #expect(parsed.bytes == Array(whole[..<40]))
    }

    @Test func `A long tag is believed at the beginning of a file`() throws {
        let whole = frames(try mp3Clip())
        let some = Array(whole[..<40].joined())
        func found(_ stream: [UInt8], _ maximum: Int) -> [[UInt8]] {
            let parser = MP3FrameParser(capacity: stream.count)
            parser.maximumFirstTagBytes = maximum
            _ = stream.withUnsafeBytes { parser.append($0) }
            parser.finish()
            var given: [[UInt8]] = []
            while let frame = parser.next() { given.append(Array(frame.bytes)) }
            return given
        }
        #expect(found(id3(3_000_000) + some, 4_000_000) == Array(whole[..<40]))
        // In mid-stream, and where the file is shorter, it is searched through.
        #expect(found(some + id3(0, stated: 3_000_000) + some, 4_000_000).count >= 78)
        #expect(found(id3(0, stated: 3_000_000) + some, 2_000_000) == Array(whole[..<40]))
    }

    @Test func `A change of format in a clean seam loses no frame`() throws {
        let parts = try [mp3Clip(), mp3Clip(rate: 48_000, channels: 1), mp3Clip(rate: 22_050)].map { frames($0)[..<20] }
        let parsed = Parsed(parts.flatMap { $0 }.flatMap { $0 })
        #expect(parsed.bytes == parts.flatMap { $0 })
        #expect(parsed.gaps.filter { $0 }.count == 1)
    }

    @Test func `Free format is refused and counted`() throws {
        var stream = try mp3Clip()
        let clip = Parsed(stream)
        for position in clip.positions { stream[Int(position) + 2] &= 0x0F }
        let parsed = Parsed(stream)
        #expect(parsed.bytes.isEmpty)
        #expect(parsed.findings.freeFormatHeaders > 10)
    }

    @Test func `The memory is bounded, and what does not fit is not taken`() throws {
        let parser = MP3FrameParser(capacity: 8192)
        let clip = try mp3Clip()
        #expect(clip.withUnsafeBytes { parser.append($0) } == 8192)
        #expect(parser.room == 0)
        #expect(clip.withUnsafeBytes { parser.append($0) } == 0)
        let first = try #require(parser.next())
        #expect(first.position == 0)
        // The bytes of the frame are free once it is done with.
        #expect(parser.room == first.header.byteCount)
    }

    @Test func `A reset goes on at another place`() throws {
        let clip = try mp3Clip()
        let parser = MP3FrameParser()
        _ = clip.withUnsafeBytes { parser.append($0) }
        _ = parser.next()
        parser.reset(position: 1_000_000)
        #expect(parser.count == 0)
        _ = clip.withUnsafeBytes { parser.append($0) }
        let frame = try #require(parser.next())
        #expect(frame.position == 1_000_000 && frame.isAfterGap)
    }

    @Test func `The first frame of a file says how long it is`() throws {
        let clip = try mp3Clip(seconds: 3, hasInformation: true)
        let parser = MP3FrameParser()
        _ = clip.withUnsafeBytes { parser.append($0) }
        parser.finish()
        let first = try #require(parser.next())
        let information = try #require(MP3InformationTag(first))
        #expect(information.byteCount == clip.count)
        #expect(information.frameCount == Parsed(clip).bytes.count - 1)
        // LAME adds 576 samples, and the decoder 529.
        #expect((1100...1200).contains(information.leadingSamples))
        #expect(parser.next().map { MP3InformationTag($0) == nil } == true)
    }
}
