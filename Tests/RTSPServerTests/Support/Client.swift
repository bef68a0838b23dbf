import RTP
import TestTools
import Testing
import VideoCapturing

@testable import RTSPServer

#if canImport(Glibc)
    import Glibc
#endif

/// A client of a server, on a separate socket.
final class Client {
    /// A response: its status, its lines in lower case with their values, and its body.
    struct Answer {
        var status: Int
        var lines: [String]
        var body: String

        subscript(name: String) -> String? {
            lines.first { $0.lowercased().hasPrefix("\(name.lowercased()):") }.map {
                String($0.dropFirst(name.count + 1).drop { $0 == " " })
            }
        }
    }

    let socket: Int32
    private let url: String
    private let server: RTSPServer
    /// The answers to PLAY, which come with the first packets.
    private var begun: [Answer] = []
    private var awaited = 0
    private var bytes: [UInt8] = []
    private var sequence = 0
    private(set) var session: String?
    /// The interleaved packets that have arrived, with their channels.
    private(set) var packets: [(channel: UInt8, bytes: [UInt8])] = []
    private(set) var isEnded = false

    init(_ server: RTSPServer, bufferSize: Int32? = nil) throws {
        let address = try #require(server.address)
        url = address.url
        self.server = server
        socket = try connectTo(address.port, bufferSize: bufferSize)
    }

    deinit { close(socket) }

    func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Sends a request and waits for its response.
    func ask(_ method: String, track: Int? = nil, _ headers: [String: String] = [:]) throws -> Answer {
        request(method, track: track, headers)
        var answer = try #require(try answer())
        while awaited > 0, answer["CSeq"] != "\(sequence)" {
            record(answer)
            answer = try #require(try self.answer())
        }
        #expect(answer["CSeq"] == "\(sequence)")
        if let named = answer["Session"] { session = String(named.prefix { $0 != ";" }) }
        return answer
    }

    private func request(_ method: String, track: Int? = nil, _ headers: [String: String] = [:]) {
        sequence += 1
        let target = track.map { "\(url)/trackID=\($0)" } ?? url
        var text = "\(method) \(target) RTSP/1.0\r\nCSeq: \(sequence)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let session { text += "Session: \(session)\r\n" }
        write(text + "\r\n")
    }

    /// Sets up tracks on the connection and begins. The answer to PLAY comes with the first packet.
    func play(tracks: [Int] = [0]) throws {
        #expect(try ask("DESCRIBE").status == 200)
        for track in tracks {
            let transport = "RTP/AVP/TCP;unicast;interleaved=\(2 * track)-\(2 * track + 1)"
            #expect(try ask("SETUP", track: track, ["Transport": transport]).status == 200)
        }
        let sessions = server.statistics.sessions
        request("PLAY")
        awaited += 1
        #expect(eventually { server.statistics.sessions > sessions })
    }

    private func record(_ answer: Answer) {
        if awaited == 0 || answer.status != 200 { Issue.record("an answer to nothing: \(answer)") }
        awaited -= 1
        begun.append(answer)
    }

    /// The parameters of `RTP-Info` of the last answer to PLAY: for each track its number and time.
    var starts: [[String: String]] {
        (begun.last?["RTP-Info"] ?? "").split(separator: ",").map { text in
            let pairs = text.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            return Dictionary(pairs.map { ($0[0], $0[1]) }) { first, _ in first }
        }
    }

    /// The next response; nil at the end of the connection.
    func answer() throws -> Answer? {
        while true {
            if let answer = takeAnswer() { return answer }
            guard try read() else { return nil }
        }
    }

    /// Reads until something is so.
    func read(until condition: (Client) -> Bool) throws -> Bool {
        while true {
            while let answer = takeAnswer() { record(answer) }
            if condition(self) { return true }
            guard try read() else { return false }
        }
    }

    /// Reads up to the end of the connection.
    func readToEnd() throws -> Bool {
        _ = try read(until: { _ in false })
        return isEnded
    }

    private func read() throws -> Bool {
        var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, 60_000) > 0 else { throw NoConnection(code: ETIMEDOUT) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count > 0 else {
            isEnded = true
            return false
        }
        bytes.append(contentsOf: buffer[..<count])
        return true
    }

    /// Takes packets, and the first response.
    private func takeAnswer() -> Answer? {
        while let first = bytes.first {
            if first == UInt8(ascii: "$") {
                guard bytes.count >= 4 else { return nil }
                let size = Int(bytes[2]) << 8 | Int(bytes[3])
                guard bytes.count >= 4 + size else { return nil }
                packets.append((bytes[1], Array(bytes[4..<4 + size])))
                bytes.removeFirst(4 + size)
                continue
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
            let lines = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
            var answer = Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0, lines: lines, body: "")
            let head = text[..<end.upperBound].utf8.count
            let size = answer["Content-Length"].flatMap { Int($0) } ?? 0
            guard bytes.count >= head + size else { return nil }
            answer.body = String(decoding: bytes[head..<head + size], as: UTF8.self)
            bytes.removeFirst(head + size)
            return answer
        }
        return nil
    }
}

/// Packets of arbitrary bytes, and their tracks.
enum Sample {
    static let video = TrackDescription(id: 0, codec: .vp8, media: .video(.init(width: 64, height: 48)))
    static let audio = TrackDescription(
        id: 1, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2)))

    static func packet(_ number: Int, key: Bool, size: Int = 3000, track: TrackID = 0) -> MediaPacket {
        let bytes = [UInt8](repeating: UInt8(number % 250), count: size)
        return MediaPacket(
            data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, track: track,
            timestamp: MediaTime(nanoseconds: Int64(number) * 40_000_000), isKeyFrame: key)
    }
}

extension Client {
    /// The number in the first byte of each frame on channel 0, behind header and descriptor: those of whole frames.
    var frames: [Int] {
        var found: [Int] = []
        var parts = 0
        for (channel, packet) in packets where channel == 0 && packet.count > 18 {
            parts = packet[12] & 0x10 != 0 ? 1 : parts + 1
            if packet[1] & 0x80 != 0 { found.append(Int(packet[18])) }
        }
        return found
    }

    /// The address, the number and the time of the first packet of each track, as `RTP-Info` should have them.
    var beginnings: [[String: String]] {
        Set(packets.map(\.channel)).filter { $0 % 2 == 0 }.sorted().compactMap { channel in
            packets.first { $0.channel == channel }.map { first in
                let number = { (range: Range<Int>) in first.bytes[range].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
                return [
                    "url": "\(url)trackID=\(channel / 2)", "seq": "\(number(2..<4))", "rtptime": "\(number(4..<8))",
                ]
            }
        }
    }

    /// The RTCP packet types of the compounds on a channel.
    func reports(on channel: UInt8) -> [UInt8] {
        packets.filter { $0.channel == channel }.flatMap { report -> [UInt8] in
            var (types, index) = ([UInt8](), 0)
            while index + 4 <= report.bytes.count {
                types.append(report.bytes[index + 1])
                index += 4 * (Int(report.bytes[index + 2]) << 8 | Int(report.bytes[index + 3])) + 4
            }
            return types
        }
    }
}
