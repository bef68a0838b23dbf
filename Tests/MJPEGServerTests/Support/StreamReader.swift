import VideoCapturing

/// A viewer: reads a stream part by part.
struct StreamReader {
    struct Part {
        var headers: [String: String]
        var jpeg: [UInt8]

        /// The number that the test has put into the JPEG; nil for a placeholder.
        var number: Int? { MJPEGServerTests.number(of: jpeg) }
    }

    let client: Client
    let head: Answer

    init(_ port: Int, _ target: String = "/stream", lines: String = "", receiveBuffer: Int32? = nil) throws {
        client = try Client(port, receiveBuffer: receiveBuffer)
        client.get(target, lines)
        head = try client.readHead()
        guard head.status == 200 else { throw Client.Failure(description: "status \(head.status)") }
        guard try client.read(through: "\r\n") == "--boundarydonotcross\r\n" else {
            throw Client.Failure(description: "no boundary")
        }
    }

    /// The next part, and the boundary that follows it at once.
    func next() throws -> Part {
        var headers: [String: String] = [:]
        for line in try client.read(through: "\r\n\r\n").split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        guard let length = headers["content-length"].flatMap({ Int($0) }) else {
            throw Client.Failure(description: "no length in \(headers)")
        }
        let jpeg = try client.read(length)
        guard try client.read(through: "\r\n--boundarydonotcross\r\n").utf8.count == 24 else {
            throw Client.Failure(description: "the boundary does not follow the picture")
        }
        return Part(headers: headers, jpeg: jpeg)
    }

    /// The next part that shows a frame of the test with at least this number.
    func next(from number: Int) throws -> Part {
        while true {
            let part = try next()
            if let found = part.number, found >= number { return part }
        }
    }
}
