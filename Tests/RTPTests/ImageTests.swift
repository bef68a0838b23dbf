import CaptureCore
import Testing

@_spi(Fuzzing) @testable import RTP

/// JPEG images as RFC 2435 carries them, and those that it cannot.
@Suite struct ImageTests {
    private let clock = NTPClock(wallClock: .seconds(1_000_000), at: .zero)

    /// An image of segments with any scan.
    private struct Image {
        var frame: [UInt8] = [8, 0, 120, 0, 161, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
        var marker: UInt8 = 0xC0
        var selection: [UInt8] = [3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]
        var tables: [UInt8] = [0] + numbered(64) + [1] + numbered(64).reversed()
        var others: [UInt8] = []
        var scan = numbered(2500)
        var rest: [UInt8] = [0xFF, 0xD9, 0, 0]

        static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
            [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
        }

        var bytes: [UInt8] {
            [0xFF, 0xD8] + Image.segment(0xE0, [1, 2, 3]) + Image.segment(0xDB, tables) + others
                + Image.segment(marker, frame) + [0xFF] + Image.segment(0xDA, selection) + scan + rest
        }
    }

    private func problem(_ change: (inout Image) -> Void) -> RTPImage.Problem? {
        var image = Image()
        change(&image)
        return image.bytes.withUnsafeBytes { bytes in
            do throws(RTPImage.Problem) {
                _ = try RTPImage(bytes)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test func partsOfAnImage() throws {
        let image = Image()
        let sender = RTPSender(.known(.jpeg, payloadType: 26), clock: clock)
        let packets = sender.packets(of: frame(image.bytes))
        #expect(packets.map { $0[1] } == [26, 26, 0x80 | 26])
        let payloads = packets.map { Array($0[12...]) }
        // The offset, the type, Q, and 161x120 in blocks; tables of 8 bits in the first one.
        #expect(payloads[0][..<12] == [0, 0, 0, 0, 1, 255, 21, 15, 0, 0, 0, 128])
        #expect(Array(payloads[0][12..<140]) == numbered(64) + numbered(64).reversed())
        let offset = payloads[0].count - 140
        #expect(payloads[1][..<8] == [0, 0, UInt8(offset >> 8), UInt8(offset & 255), 1, 255, 21, 15])
        #expect(payloads[0][140...] + payloads[1][8...] + payloads[2][8...] == image.scan[...])
        #expect(packets.dropLast().allSatisfy { $0.count == 1200 } && sender.imageProblem == nil)
    }

    @Test func restartMarkers() throws {
        var image = Image()
        image.others = Image.segment(0xDD, [1, 2])
        image.frame[7] = 0x21
        let packets = RTPSender(.known(.jpeg), clock: clock).packets(of: frame(image.bytes))
        #expect(packets.allSatisfy { $0[16] == 64 && $0[20..<24] == [1, 2, 0xFF, 0xFF] })
        #expect(
            packets[0][24..<28] == [0, 0, 0, 128]
                && packets[0][156...] + packets[1][24...] + packets[2][24...] == image.scan[...])
    }

    @Test func tablesOfCameras() throws {
        // One table for all components, and no end.
        var image = Image()
        image.tables = [3] + numbered(64)
        for index in [8, 11, 14] { image.frame[index] = 3 }
        image.rest = []
        let packets = RTPSender(.known(.jpeg), clock: clock).packets(of: frame(image.bytes))
        #expect(Array(packets[0][24..<152]) == numbered(64) + numbered(64))
        #expect(problem { $0.tables = [0] + numbered(64) } == .damaged)
        #expect(problem { $0.frame[14] = 0 } == .damaged)
    }

    @Test func whatIsNotCarried() {
        let usual: [UInt8] = [0x00, 0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0] + (0...11)
        #expect(problem { _ in } == nil)
        #expect(problem { $0.others = Image.segment(0xC4, usual) } == nil)
        #expect(problem { $0.others = Image.segment(0xC4, [1] + usual.dropFirst()) } == .otherHuffmanTables)
        #expect(problem { $0.others = Image.segment(0xC4, usual.dropLast() + [12]) } == .otherHuffmanTables)
        #expect(problem { $0.others = Image.segment(0xC4, usual.dropLast()) } == .damaged)
        #expect(problem { $0.selection[2] = 0x11 } == .otherHuffmanTables)
        #expect(problem { $0.marker = 0xC2 } == .isNotBaseline && problem { $0.frame[0] = 12 } == .isNotBaseline)
        #expect(problem { $0.tables[0] = 0x10 } == .isNotBaseline && problem { $0.selection[8] = 5 } == .isNotBaseline)
        for sampling: UInt8 in [0x11, 0x12, 0x41] { #expect(problem { $0.frame[7] = sampling } == .otherSampling) }
        #expect(problem { $0.frame = [8, 0, 9, 0, 9, 1, 1, 0x11, 0] } == .otherSampling)
        // 2040 pixels are 255 blocks.
        #expect(
            problem { $0.frame[3...4] = [0x07, 0xF8] } == nil
                && problem { $0.frame[3...4] = [0x07, 0xF9] } == .tooLarge)
        #expect(problem { $0.scan = [] } == .damaged && problem { $0.frame[1...2] = [0, 0] } == .damaged)
    }

    @Test func whatIsCutOff() {
        let bytes = Image().bytes
        for count in 0..<bytes.count - 2504 {
            let found = bytes[..<count].withUnsafeBytes { bytes in
                Result { () throws(RTPImage.Problem) in try RTPImage(bytes) }
            }
            if case .success = found { Issue.record("\(count) bytes are no image") }
        }
        let sender = RTPSender(.known(.jpeg), clock: clock)
        #expect(
            sender.packets(of: frame(Array(bytes[..<100]))).isEmpty && sender.imageProblem?.contains("damaged") == true)
        #expect(!sender.packets(of: frame(bytes)).isEmpty && sender.imageProblem == nil)
    }

    /// Damaged images as packets of every codec, as the fuzzer cuts them.
    @Test func anyBytesAreCut() {
        var random = Repeatable(state: 11)
        let usual: [UInt8] = [0, 0, 1, 0x26, 1, 0, 0, 0, 1, 0x67, 0x42, 0, 0, 1, 0x44, 1, 7] + numbered(300)
        for round in 0..<600 {
            var bytes = round % 2 == 0 ? Image().bytes : usual
            for _ in 0..<round % 7 {
                bytes[.random(in: 0..<min(bytes.count, 330), using: &random)] = .random(in: 0...255, using: &random)
            }
            bytes.removeLast(.random(in: 0..<bytes.count, using: &random))
            bytes.withUnsafeBytes { RTPParsing.cut($0) }
        }
    }

    @Test func description() {
        let track = TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 64, height: 48)))
        let format = RTPFormat(track)
        #expect(format == .jpeg && format?.fixedPayloadType == 26 && RTPFormat.maximumImageSide == 2040)
        // WebRTC has none.
        #expect(RTPFormat(Codec.jpeg) == nil)
    }
}
