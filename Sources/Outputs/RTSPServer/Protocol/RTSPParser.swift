/// Reads the requests and the interleaved packets of a connection, as their bytes arrive.
///
/// A value without a socket. It holds at most the head of one request, or one small packet; a body, and a packet that is
/// larger, are skipped as they arrive.
struct RTSPParser {
    /// What the client has sent.
    enum Event: Sendable, Hashable {
        case request(RTSPRequest)
        /// A packet on a channel (RFC 2326, 10.12).
        case packet(channel: UInt8, [UInt8])
    }

    /// Why nothing further of the connection can be read.
    enum Failure: Error, Hashable {
        /// It is not RTSP, or a line is malformed.
        case malformed
        case otherVersion
        case headTooLong
        case bodyTooLong

        var status: Int {
            switch self {
            case .malformed: 400
            case .otherVersion: 505
            case .headTooLong, .bodyTooLong: 413
            }
        }
    }

    /// The maximum number of lines of a head.
    static let maximumHeaders = 64
    /// The maximum size of a body.
    static let maximumBody = 65_536
    /// The maximum size of a packet that is handed out; no report is larger.
    static let maximumPacket = 1500
    /// The maximum length of a URL.
    static let maximumTarget = 2048

    private let headLimit: Int
    private var bytes: [UInt8] = []
    /// Where the next event begins.
    private var start = 0
    /// Up to where the end of the head was looked for.
    private var scanned = 0
    private var isFirstLineChecked = false
    /// The bytes that are left out.
    private var skipping = 0

    /// - Parameter headLimit: the maximum number of bytes of a head.
    init(headLimit: Int) { self.headLimit = headLimit }

    /// Whether a part of an event has arrived.
    var hasPart: Bool { start < bytes.count || skipping > 0 }

    /// The bytes that were taken and not read yet.
    var waitingBytes: Int { bytes.count - start }

    /// Takes bytes of the connection.
    mutating func append(_ new: some Collection<UInt8>) {
        var new = new[...]
        if start == bytes.count {
            clear()
            let count = min(skipping, new.count)
            skipping -= count
            new = new.dropFirst(count)
        }
        bytes.append(contentsOf: new)
    }

    /// The next event; nil when more bytes are needed.
    mutating func next() throws(Failure) -> Event? {
        while true {
            skip()
            guard start < bytes.count else {
                clear()
                return nil
            }
            guard bytes[start] == UInt8(ascii: "$") else { return try nextRequest() }
            guard bytes.count - start >= 4 else { return nil }
            let size = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
            guard size <= RTSPParser.maximumPacket else {
                start += 4
                skipping = size
                continue
            }
            guard bytes.count - start >= 4 + size else { return nil }
            let (channel, content) = (bytes[start + 1], Array(bytes[start + 4..<start + 4 + size]))
            start += 4 + size
            return .packet(channel: channel, content)
        }
    }

    /// Leaves out a body or a packet, and empty lines between requests.
    private mutating func skip() {
        let count = min(skipping, bytes.count - start)
        start += count
        skipping -= count
        guard skipping == 0, scanned <= start else { return }
        while start < bytes.count, bytes[start] == 13 || bytes[start] == 10 { start += 1 }
    }

    private mutating func clear() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 65_536)
        start = 0
        scanned = 0
    }

    private mutating func nextRequest() throws(Failure) -> Event? {
        guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[start]) else { throw .malformed }
        guard let end = try endOfHead() else { return nil }
        let request = try RTSPParser.readHead(bytes[start..<end])
        skipping = request.bodySize
        start = end
        scanned = start
        isFirstLineChecked = false
        return .request(request)
    }

    /// The index after the empty line; nil when it has not arrived.
    private mutating func endOfHead() throws(Failure) -> Int? {
        var index = max(start, scanned)
        let limit = min(bytes.count, start + headLimit)
        while index < limit {
            guard bytes[index] == 10 else {
                index += 1
                continue
            }
            if !isFirstLineChecked {
                // At once, since a client of another protocol may wait for the response.
                _ = try RTSPParser.readFirstLine(bytes[start..<index])
                isFirstLineChecked = true
            }
            let next = index + 1
            guard next < limit else { break }
            if bytes[next] == 10 { return next + 1 }
            if bytes[next] == 13 {
                guard next + 1 < limit else { break }
                if bytes[next + 1] == 10 { return next + 2 }
            }
            index += 1
        }
        scanned = index
        if bytes.count - start >= headLimit { throw .headTooLong }
        return nil
    }

    private static func readFirstLine(_ line: ArraySlice<UInt8>) throws(Failure) -> RTSPRequest {
        let words = trimmed(line).split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, (1...32).contains(words[0].count), (1...maximumTarget).contains(words[1].count),
            words[0].allSatisfy({ isToken($0) }), words[1].allSatisfy({ 0x21...0x7E ~= $0 })
        else { throw .malformed }
        let version = String(decoding: words[2], as: UTF8.self)
        guard version.hasPrefix("RTSP/") else { throw .malformed }
        guard version == "RTSP/1.0" else { throw .otherVersion }
        return RTSPRequest(
            method: String(decoding: words[0], as: UTF8.self), target: String(decoding: words[1], as: UTF8.self))
    }

    private static func readHead(_ head: ArraySlice<UInt8>) throws(Failure) -> RTSPRequest {
        let lines = head.split(separator: 10)
        guard let first = lines.first else { throw .malformed }
        var request = try readFirstLine(first)
        for line in lines.dropFirst() {
            let line = trimmed(line)
            guard !line.isEmpty else { continue }
            guard request.headers.count < maximumHeaders else { throw .headTooLong }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy({ isToken($0) }), line.allSatisfy({ $0 >= 0x20 || $0 == 9 })
            else { throw .malformed }
            let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 9 }
            request.headers.append(
                RTSPRequest.Header(
                    name: String(decoding: line[..<colon], as: UTF8.self),
                    value: String(decoding: trimmed(value), as: UTF8.self)))
        }
        let lengths = Set(request.headers.filter { $0.name.lowercased() == "content-length" }.map(\.value))
        guard let length = lengths.first else { return request }
        guard lengths.count == 1, length.utf8.allSatisfy({ 48...57 ~= $0 }), !length.isEmpty else { throw .malformed }
        guard let size = Int(length), size <= maximumBody else { throw .bodyTooLong }
        request.bodySize = size
        return request
    }

    /// Without spaces and a carriage return at its end.
    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        while let last = line.last, last == 13 || last == 0x20 || last == 9 { line.removeLast() }
        return line
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
