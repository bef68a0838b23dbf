import Testing
import VP8Codec
import VideoCapturing

@Suite struct ScreenEncodingTests {
    /// How alike the luma of two pictures is outside of a rectangle, in dB.
    private func likeness(_ first: PixelBuffer, _ second: PixelBuffer, outside rect: PixelRect) -> Double {
        var sum = 0
        for y in 0..<first.height {
            first.withRow(y, ofPlane: 0) { one in
                second.withRow(y, ofPlane: 0) { two in
                    for x in 0..<first.width where one[x] != two[x] {
                        let isInside =
                            x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height
                        let difference = Int(one[x]) - Int(two[x])
                        if !isInside { sum += difference * difference }
                    }
                }
            }
        }
        let count = first.width * first.height - rect.width * rect.height
        return sum == 0 ? 100 : 10 * FloatLogarithm.base10(255 * 255 * Double(count) / Double(sum))
    }

    /// At 100 kbit/s the key frame alone is hardly legible; a live network would not even have carried it by then.
    @Test(arguments: [(100_000, VP8Encoder.Configuration.Purpose.file), (400_000, .file), (400_000, .live)])
    func textIsLegibleWithinASecond(bitrate: Int, purpose: VP8Encoder.Configuration.Purpose) throws {
        let session = try ScreenSession(bitrate: bitrate, purpose: purpose)
        let buffer = try TextScreen(width: 320, height: 240).buffer
        try session.show(buffer, damage: nil, after: .zero)
        let first = lumaPSNR(try #require(session.picture), buffer)
        #expect(session.wantsRepeats)
        try session.refine(buffer, atMost: 11)
        let second = lumaPSNR(try #require(session.picture), buffer)
        #expect(second > 29.5, "\(first) → \(second)")
        #expect(second > first + 2)
        // And it comes to an end.
        #expect(try session.refine(buffer, atMost: 400) < 300)
        #expect(lumaPSNR(try #require(session.picture), buffer) > 36)
    }

    @Test func onlyWhatChangesCosts() throws {
        func run(withDamage: Bool) throws -> (bytes: Int, session: ScreenSession, buffer: PixelBuffer) {
            let session = try ScreenSession(bitrate: 2_000_000)
            var screen = TextScreen(width: 320, height: 240)
            try session.show(try screen.buffer, damage: nil, after: .zero)
            try session.refine(try screen.buffer)
            var bytes = 0
            for step in 0..<15 {
                let damage = screen.moveWindow(toX: 40 + step * 8, y: 60 + step * 3, size: 32)
                bytes += try session.show(
                    try screen.buffer, damage: withDamage ? damage : nil, after: .milliseconds(33))
            }
            return (bytes, session, try screen.buffer)
        }
        let (bytes, session, buffer) = try run(withDamage: true)
        let plain = try run(withDamage: false)
        #expect(bytes * 4 < plain.bytes * 3, "\(bytes) of \(plain.bytes)")
        let moving = try #require(session.picture)
        try session.refine(buffer)
        let still = try #require(session.picture)
        #expect(lumaPSNR(moving, buffer) > 28)
        #expect(lumaPSNR(still, buffer) > 37)
        #expect(!session.wantsRepeats)
    }

    @Test func whatDoesNotChangeStaysTheSame() throws {
        let session = try ScreenSession(bitrate: 700_000)
        var screen = TextScreen(width: 320, height: 240)
        try session.show(try screen.buffer, damage: nil, after: .zero)
        try session.refine(try screen.buffer)
        let before = try #require(session.picture)
        for step in 0..<10 {
            // Within the blocks 7 to 10 across and 5 to 8 down, padding included.
            let damage = screen.moveWindow(toX: 116 + step, y: 84 + step, size: 40)
            try session.show(try screen.buffer, damage: damage, after: .milliseconds(33))
        }
        try session.refine(try screen.buffer)
        let after = try #require(session.picture)
        #expect(lumaPSNR(after, try screen.buffer) > 37)
        // The same but for the edges of blocks, which the decoder smooths a little, and only once.
        let changed = PixelRect(x: 7 * 16, y: 5 * 16, width: 4 * 16, height: 4 * 16)
        #expect(likeness(before, after, outside: changed) > 45)
    }

    @Test func nothingChangedIsNotEncoded() throws {
        let session = try ScreenSession(bitrate: 700_000)
        let buffer = try TextScreen(width: 320, height: 240).buffer
        try session.show(buffer, damage: nil, after: .zero)
        try session.refine(buffer)
        let count = session.packets.count
        for _ in 0..<10 { try session.show(buffer, damage: [], after: .milliseconds(33)) }
        #expect(session.packets.count == count)
        #expect(session.encoder.framesUnchanged == 10)
        // A repeat keeps the connection alive, and a key frame is one whatever has changed.
        let bytes = try session.show(buffer, damage: [], isRepeat: true, after: .seconds(1))
        #expect(session.packets.count == count + 1 && bytes < 150, "\(bytes)")
        try session.show(buffer, damage: [], after: .milliseconds(33), isKey: true)
        #expect(session.packets.last?.isKeyFrame == true)
        try session.refine(buffer)
        #expect(lumaPSNR(try #require(session.picture), buffer) > 37)
    }

    /// Nothing creeps in over many frames in which most of the picture is left as it is.
    @Test func whatIsLeftAloneDoesNotWear() throws {
        let session = try ScreenSession(bitrate: 100_000)
        var screen = TextScreen(width: 160, height: 120)
        let text = try screen.buffer
        try session.show(text, damage: nil, after: .zero)
        try session.refine(text)
        let before = try #require(session.picture)
        for step in 0..<150 {
            let damage = screen.moveWindow(toX: 84 + step * 7 % 32, y: 52 + step * 5 % 32, size: 32)
            try session.show(try screen.buffer, damage: damage, after: .milliseconds(33))
        }
        let after = try #require(session.picture)
        let changed = PixelRect(x: 80, y: 48, width: 80, height: 72)
        #expect(likeness(before, after, outside: changed) > 45)
    }

    /// A frame without changes is still of use while something is to be refined.
    @Test func refinesWithFramesOfNoDamage() throws {
        let session = try ScreenSession(bitrate: 200_000)
        let buffer = try TextScreen(width: 320, height: 240).buffer
        try session.show(buffer, damage: nil, after: .zero)
        #expect(session.wantsRepeats)
        let first = lumaPSNR(try #require(session.picture), buffer)
        for _ in 0..<30 where session.wantsRepeats { try session.show(buffer, damage: [], after: .milliseconds(33)) }
        #expect(lumaPSNR(try #require(session.picture), buffer) > first + 2)
    }

    @Test(arguments: [(353, 287), (2, 2), (33, 17)])
    func oddSizes(width: Int, height: Int) throws {
        let session = try ScreenSession(bitrate: 800_000)
        var screen = TextScreen(width: width, height: height)
        try session.show(try screen.buffer, damage: nil, after: .zero)
        for step in 0..<8 {
            // From outside at the top left to outside at the bottom right.
            let damage = screen.moveWindow(
                toX: -20 + step * (width + 20) / 7, y: -20 + step * (height + 20) / 7, size: 32)
            let empty = PixelRect(x: 5, y: 5, width: 0, height: 4)
            try session.show(try screen.buffer, damage: damage + [empty], after: .milliseconds(33))
        }
        try session.refine(try screen.buffer)
        let picture = try #require(session.picture)
        #expect(picture.width == width && picture.height == height)
        #expect(lumaPSNR(picture, try screen.buffer) > 35)
    }

    /// What is coded finely has no edges to smooth, and to filter it costs as much as to code it.
    @Test func blockEdgesAreSmoothedOnlyWhereItIsCoarse() throws {
        let session = try ScreenSession(bitrate: 100_000)
        var screen = TextScreen(width: 320, height: 240)
        try session.show(try screen.buffer, damage: nil, after: .zero)
        try session.refine(try screen.buffer)
        let off = try #require(session.packets.lastIndex { SegmentHeader($0).filterDeltas?.first == -63 })
        // A picture that is new all over, at little bitrate.
        for step in 0..<12 {
            _ = screen.moveWindow(toX: step % 2 * 97, y: step % 3 * 41, size: 220)
            try session.show(try screen.buffer, damage: nil, after: .milliseconds(33))
        }
        let coarse = session.packets[(off + 1)...]
        #expect(coarse.contains { !SegmentHeader($0).isEnabled })
        try session.refine(try screen.buffer)
        #expect(session.packets[(off + 1)...].contains { SegmentHeader($0).filterDeltas?.first == -63 })
        #expect(lumaPSNR(try #require(session.picture), try screen.buffer) > 40)
    }

    @Test func anotherSizeBeginsAnew() throws {
        let session = try ScreenSession()
        for (width, height) in [(320, 240), (160, 120), (320, 240), (400, 300)] {
            let buffer = try TextScreen(width: width, height: height).buffer
            // Its damage does not tell what a picture of another size was like.
            try session.show(buffer, damage: [], after: .milliseconds(33))
            #expect(session.packets.last?.isKeyFrame == true)
            try session.refine(buffer)
            #expect(lumaPSNR(try #require(session.picture), buffer) > 36)
        }
    }

    @Test func otherContentsAreEncodedWhole() throws {
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000))
        var packets = 0
        for step in 0..<5 {
            var frame = try movingFrame(width: 32, height: 32, step: step)
            frame.damage = []
            try encoder.encode(frame) { _ in packets += 1 }
        }
        #expect(packets == 5 && encoder.framesUnchanged == 0)
    }

    @Test func theCountTellsUnchangedFromDropped() throws {
        final class Sink: PacketSink {
            func begin(_ tracks: [TrackDescription]) {}
            func write(_ packet: MediaPacket) {}
            func finish() {}
        }
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 2_000_000, contentHint: .text)), to: [("sink", Sink())])
        let buffer = try movingPicture(.i420, width: 32, height: 32, step: 0)
        for index in 0..<60 {
            encoding.consumeFrame(
                VideoFrame(
                    buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(index) * 16_000_000),
                    damage: index == 0 ? nil : []))
        }
        let statistics = encoding.statistics
        #expect(statistics.framesUnchanged > 20)
        #expect(statistics.framesDropped == 0)
        #expect(statistics.framesUnchanged + statistics.packets == 60)
    }
}
