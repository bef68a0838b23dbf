import CapturerTestKit
import TestTools
import Testing

@testable import HTTPTransport
@testable import MJPEGCapturer

/// How the parser gets its bytes.
enum Intake: CaseIterable {
    /// They are handed to it.
    case fed
    /// It receives them where they are to stay.
    case received
}

/// Bytes in, pictures out.
func parse(
    _ body: [UInt8], _ content: MultipartParser.Content, chunks: [Int] = [], maximum: Int = 1 << 20,
    intake: Intake = .fed
) -> (numbers: [Int], losses: StreamLosses, hasEnded: Bool) {
    var parser = MultipartParser(content, maximumFrameBytes: maximum)
    var numbers: [Int] = []
    var losses = StreamLosses()
    func take(_ picture: ReceivedPicture) {
        numbers.append(number(of: Array(picture.block.bytes)) ?? -1)
        losses += picture.losses
    }
    var rest = body[...]
    var sizes = chunks[...]
    while !rest.isEmpty {
        let size = sizes.popFirst() ?? chunks.last ?? rest.count
        let chunk = Array(rest.prefix(size))
        rest = rest.dropFirst(size)
        chunk.withUnsafeBytes {
            if intake == .fed { parser.feed($0, output: take) } else { parser.receive(from: $0, output: take) }
        }
    }
    losses += parser.takeLosses()
    return (numbers, losses, parser.hasEnded)
}

@Suite struct MultipartParserTests {
    private func content(_ quirk: Quirk) -> MultipartParser.Content {
        .parts(boundary: ContentType(Array(quirk.contentType.utf8)[...]).boundary)
    }

    @Test(arguments: Quirk.all, Intake.allCases)
    func takesWhole(_ quirk: Quirk, _ intake: Intake) {
        let result = parse(quirk.body, content(quirk), intake: intake)
        #expect(result.numbers == quirk.expected)
        #expect(result.losses.damaged == quirk.damaged)
    }

    @Test(arguments: Quirk.all, Intake.allCases)
    func takesByteByByte(_ quirk: Quirk, _ intake: Intake) {
        let result = parse(quirk.body, content(quirk), chunks: [1], intake: intake)
        #expect(result.numbers == quirk.expected)
        #expect(result.losses.damaged == quirk.damaged)
    }

    @Test(arguments: Quirk.all, Intake.allCases)
    func takesSplitAnywhere(_ quirk: Quirk, _ intake: Intake) {
        for offset in stride(from: 1, to: quirk.body.count, by: 5) {
            let result = parse(quirk.body, content(quirk), chunks: [offset, quirk.body.count], intake: intake)
            guard result.numbers == quirk.expected, result.losses.damaged == quirk.damaged else {
                Issue.record("split at \(offset): \(result)")
                return
            }
        }
    }

    /// A part that is shorter than any image, and one whose segment claims more bytes than come, cost themselves only, whether or
    /// not the server states lengths.
    @Test(arguments: [1, 7, 64, 1000, 100_000], Intake.allCases)
    func damagedPartsTakeNoOthersAlong(_ chunk: Int, _ intake: Intake) {
        let short: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF] + [UInt8](repeating: 0x41, count: 58)
        for hasLength in [true, false] {
            for damaged in [
                short, short + [UInt8](repeating: 0x42, count: 500), Array(picture(0).prefix(60)) + short.dropFirst(2),
            ] {
                var body: [UInt8] = []
                for number in 0..<18 {
                    for part in number == 4 ? [damaged, picture(number)] : [picture(number)] {
                        let length = hasLength ? "Content-Length: \(part.count)\r\n" : ""
                        body += Array("--b\r\nContent-Type: image/jpeg\r\n\(length)\r\n".utf8) + part + [13, 10]
                    }
                }
                let result = parse(body, .parts(boundary: Array("b".utf8)), chunks: [chunk], intake: intake)
                #expect(result.numbers == Array(0..<18), "\(hasLength) \(damaged.count)")
                #expect(result.losses.damaged == 1)
            }
        }
    }

    /// However a stream is cut, the same images come of it, also of one with damage everywhere.
    @Test(arguments: 0..<10)
    func theCutsOfADamagedStreamDoNotMatter(_ seed: UInt64) {
        var random = SeededRandom(state: seed)
        var body = Quirk.parts({ _, _ in "--b\r\n\r\n" }, picture: { picture($0, thumbnail: $0 % 2 == 0) })
        body += body + Array("--b--\r\n".utf8)
        for _ in 0..<Int.random(in: 1...30, using: &random) {
            let index = Int.random(in: 0..<body.count - 4, using: &random)
            // Markers with a false length, among other bytes.
            let bytes: [UInt8] = [
                [0xFF, 0xE0, .random(in: 0...8, using: &random), 0xFF], Array("\n--b".utf8),
                [.random(in: 0...255, using: &random)],
            ].randomElement(using: &random)!
            body.replaceSubrange(index..<index + bytes.count, with: bytes)
        }
        let whole = parse(body, .parts(boundary: Array("b".utf8)), maximum: 4096)
        for intake in Intake.allCases {
            for chunk in [1, Int.random(in: 2...999, using: &random)] {
                let cut = parse(body, .parts(boundary: Array("b".utf8)), chunks: [chunk], maximum: 4096, intake: intake)
                let areEqual = cut == whole
                #expect(areEqual, "\(chunk) \(intake)")
            }
        }
    }

    /// Each picture is there as soon as its last byte is, whatever the server says of its length.
    @Test(arguments: ["", "Content-Length: %\r\n", "Content-Length: 0\r\n"])
    func givesAPictureWithItsLastByte(_ length: String) {
        var parser = MultipartParser(.parts(boundary: Array("frame".utf8)), maximumFrameBytes: 1 << 20)
        for index in 0..<6 {
            let jpeg = picture(index)
            let line = length.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "\(jpeg.count)")
            let bytes = Array("--frame\r\n\(line)\r\n".utf8) + jpeg
            var numbers: [Int?] = []
            for byte in bytes.dropLast() {
                withUnsafeBytes(of: byte) { parser.feed($0) { _ in numbers.append(-1) } }
            }
            #expect(numbers == [])
            withUnsafeBytes(of: bytes.last!) {
                parser.feed($0) { numbers.append(number(of: Array($0.block.bytes))) }
            }
            #expect(numbers == [index])
        }
    }

    /// However much of a stream comes at once, each picture is received once it is believed what its length is, and what
    /// came with it is not lost.
    @Test(arguments: [1, 100, 900, 1100, 3000, 100_000])
    func receivesPicturesOfAllSizes(_ chunk: Int) {
        func size(_ number: Int) -> Int { [0, 0, 0, 0, 40_000, 500, 90_000, 0, 3000][number % 9] }
        var body: [UInt8] = []
        for number in 0..<27 {
            let jpeg = picture(number, padding: size(number))
            body += Array("--frame\r\nContent-Length: \(jpeg.count)\r\n\r\n".utf8) + jpeg + [13, 10]
        }
        let result = parse(body, .parts(boundary: nil), chunks: [chunk], intake: .received)
        #expect(result.numbers == Array(0..<27))
        #expect(result.losses == StreamLosses())
    }

    /// The picture stays where it was received, at whatever offset its head has left it.
    @Test func receivesWithoutACopy() throws {
        var parser = MultipartParser(.parts(boundary: nil), maximumFrameBytes: 1 << 20)
        var received: UnsafeRawBufferPointer?
        for number in 0..<6 {
            let jpeg = picture(number)
            let head = Array("--frame\r\nContent-Length: \(jpeg.count)\r\n\r\n".utf8)
            let bytes = head + jpeg + Array("\r\n--frame\r\n".utf8)
            var taken: ReceivedPicture?
            _ = parser.receive(
                { memory in
                    bytes.withUnsafeBytes { memory.copyMemory(from: $0) }
                    received = UnsafeRawBufferPointer(memory)
                    return bytes.count
                }, output: { taken = $0 })
            let block = try #require(taken?.block)
            #expect(Array(block.bytes) == jpeg)
            // The length is believed once it has been right twice.
            let isInPlace = block.bytes.baseAddress == received!.baseAddress! + head.count
            #expect(isInPlace == (number >= 2))
        }
    }

    @Test func leavesOutWhatIsTooLarge() {
        func size(_ number: Int) -> Int { number == 1 ? 50_000 : 0 }
        for head in [{ "--frame\r\nContent-Length: \($1.count)\r\n\r\n" }, { _, _ in "--frame\r\n\r\n" }]
            as [(Int, [UInt8]) -> String]
        {
            let body = Quirk.parts(head, picture: { picture($0, padding: size($0), thumbnail: true) })
            for chunks in [[], [1], [7, 1000]] {
                for intake in Intake.allCases {
                    let result = parse(
                        body, .parts(boundary: nil), chunks: chunks, maximum: 20_000, intake: intake)
                    #expect(result.numbers == [0, 2, 3])
                    #expect(result.losses.oversized == 1)
                    #expect(result.losses.damaged == 0)
                }
            }
        }
    }

    @Test func leavesOutWhatIsTooLargeWithoutBoundaries() {
        let body = Quirk.parts({ _, _ in "" }, after: "", picture: { picture($0, padding: $0 == 1 ? 50_000 : 0) })
        let result = parse(body, .parts(boundary: nil), chunks: [1000], maximum: 20_000)
        #expect(result.numbers == [0, 2, 3])
        #expect(result.losses.oversized == 1)
    }

    @Test func takesASinglePicture() {
        for length in [nil, picture(7).count, 12] {
            let result = parse(Array("\r\n".utf8) + picture(7), .picture(length: length), chunks: [3])
            #expect(result.numbers == [7])
        }
    }

    @Test func countsWhatTheEndCutsOff() {
        var parser = MultipartParser(.picture(length: nil), maximumFrameBytes: 1 << 20)
        picture(1).dropLast(3).withUnsafeBytes { parser.feed($0) { _ in Issue.record("a picture") } }
        parser.finish { _ in Issue.record("a picture") }
        #expect(parser.takeLosses().damaged == 1)
        #expect(parser.hasEnded)
    }

    @Test func readsTheServersTime() {
        var parser = MultipartParser(.parts(boundary: nil), maximumFrameBytes: 1 << 20)
        var times: [Duration?] = []
        for text in ["1700000000.25", "1700000000", "0.1", "now", "1700000000.123456789123"] {
            let bytes = Array("--frame\r\nX-Timestamp: \(text)\r\n\r\n".utf8) + picture(0)
            bytes.withUnsafeBytes { parser.feed($0) { times.append($0.serverTime) } }
        }
        let base = Duration.seconds(1_700_000_000)
        #expect(times == [base + .milliseconds(250), base, nil, nil, base + .nanoseconds(123_456_789)])
    }

    @Test func knowsTheEnd() {
        #expect(parse(Quirk.parts(Quirk.usual()) + Array("--frame--\r\n".utf8), .parts(boundary: nil)).hasEnded)
        #expect(!parse(Quirk.parts(Quirk.usual()) + Array("--frame\r\n".utf8), .parts(boundary: nil)).hasEnded)
    }
}
