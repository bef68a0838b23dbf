import Testing

@testable import RTSPServer

/// Requests and packets out of the bytes of a connection.
@Suite struct ParserTests {
    private static let options =
        "OPTIONS rtsp://h:8554/cam RTSP/1.0\r\nCSeq: 2\r\nUser-Agent: a\r\nUser-Agent: b\r\n\r\n"
    private static let setting =
        "SET_PARAMETER rtsp://h/cam RTSP/1.0\nCSeq: 3\nContent-Length: 5\nSession: 12;timeout=60\n\nabc\r\n"

    private func events(_ bytes: [UInt8], step: Int, headLimit: Int = 4096) throws -> [RTSPParser.Event] {
        var parser = RTSPParser(headLimit: headLimit)
        var events: [RTSPParser.Event] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            parser.append(bytes[start..<min(bytes.count, start + step)])
            while let event = try parser.next() { events.append(event) }
        }
        #expect(!parser.hasPart)
        return events
    }

    @Test(arguments: [1, 2, 3, 7, 100_000]) func anyCutGivesTheSame(_ step: Int) throws {
        let packet: [UInt8] = [0x24, 1, 0, 3, 7, 8, 9]
        let large: [UInt8] = [0x24, 0, 0x10, 0] + [UInt8](repeating: 0x24, count: 4096)
        let bytes = packet + Array(Self.options.utf8) + large + Array(Self.setting.utf8) + packet
        let found = try events(bytes, step: step)
        #expect(found.count == 4)
        #expect(found.first == .packet(channel: 1, [7, 8, 9]))
        #expect(found.last == .packet(channel: 1, [7, 8, 9]))
        guard case .request(let first) = found[1], case .request(let second) = found[2] else {
            Issue.record("\(found)")
            return
        }
        #expect(first.method == "OPTIONS" && first.target == "rtsp://h:8554/cam" && first.sequence == 2)
        #expect(first["user-agent"] == "a")
        #expect(second.method == "SET_PARAMETER" && second.bodySize == 5 && second.session == "12")
    }

    @Test(arguments: [
        ("GET /cam HTTP/1.1\r\n", RTSPParser.Failure.malformed), ("\u{16}\u{3}\u{1}", .malformed),
        ("options rtsp://h/ RTSP/1.0\r\n\r\n", .malformed), ("OPTIONS  rtsp://h/ RTSP/1.0\r\n\r\n", .malformed),
        ("OPTIONS rtsp://h/ RTSP/2.0\r\n", .otherVersion), ("OPTIONS rtsp://h/\r\n\r\n", .malformed),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\nno colon\r\n\r\n", .malformed),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\n folded: x\r\n\r\n", .malformed),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\nContent-Length: -1\r\n\r\n", .malformed),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .malformed),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n", .bodyTooLong),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\nContent-Length: 65537\r\n\r\n", .bodyTooLong),
    ]) func malformedRequestsAreRefused(_ text: String, _ failure: RTSPParser.Failure) {
        for step in [1, 1000] { #expect(throws: failure) { try events(Array(text.utf8), step: step) } }
    }

    @Test func aLongHeadIsRefusedBeforeItsEnd() {
        let head = "OPTIONS rtsp://h/ RTSP/1.0\r\n" + String(repeating: "X: y\r\n", count: 100)
        for step in [1, 10_000] {
            #expect(throws: RTSPParser.Failure.headTooLong) { try events(Array(head.utf8), step: step, headLimit: 256) }
        }
        let lines = "OPTIONS rtsp://h/ RTSP/1.0\r\n" + String(repeating: "X: y\r\n", count: 65) + "\r\n"
        #expect(throws: RTSPParser.Failure.headTooLong) { try events(Array(lines.utf8), step: 1) }
    }
}
