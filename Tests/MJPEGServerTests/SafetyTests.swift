import MJPEGServer
import Testing
import VideoCapturing

@Suite struct SafetyTests {
    @Test func aHeadThatIsTooLongIsRefused() throws {
        let test = try TestServer()
        let client = try Client(test.port)
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        // The server stops to read at its limit; what it does not take is not its concern.
        for _ in 0..<20 where client.send([UInt8](repeating: 0x61, count: 1000)) {}
        #expect(try client.readHead().status == 431)

        let target = try Client(test.port)
        target.get("/" + String(repeating: "a", count: 15_000))
        #expect(try target.readAnswer().status == 404)
    }

    @Test func aRequestThatDoesNotComeIsNotWaitedFor() throws {
        let test = try TestServer { $0.limits.requestTimeout = .milliseconds(200) }
        let silent = try Client(test.port)
        let slow = try Client(test.port)
        slow.send("GET / HTTP/1.1\r\nHost: loc")
        #expect(try silent.readToEnd().hasPrefix("HTTP/1.1 408 "))
        #expect(try slow.readToEnd().hasPrefix("HTTP/1.1 408 "))
        #expect(eventually { test.statistics.connections == 0 })
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 413),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 7\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}", 400),
    ])
    func aRequestThatCanBeReadInTwoWaysIsRefused(_ request: String, _ status: Int) throws {
        let test = try TestServer()
        let client = try Client(test.port)
        client.send(request + "GET /state HTTP/1.1\r\nHost: a\r\n\r\n")
        let text = try client.readToEnd()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(text.prefix(100))")
        // Nothing of what follows is taken for a request.
        #expect(!text.contains("instance_id"))
    }

    @Test func rubbishDoesNoHarm() throws {
        let test = try TestServer()
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            let client = try Client(test.port)
            client.send((0..<Int.random(in: 1...4000)).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
        // Heads with a byte changed here and there.
        for _ in 0..<200 {
            var bytes = Array("GET /state?a=b HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n".utf8)
            bytes[Int.random(in: 0..<bytes.count)] = UInt8.random(in: 0...255, using: &generator)
            let client = try Client(test.port)
            client.send(bytes)
        }
        #expect(eventually { test.statistics.connections == 0 })
        #expect(try Client.fetch("/state", port: test.port).status == 200)
    }

    @Test func whatAViewerSendsIsThrownAway() throws {
        let test = try TestServer()
        let reader = try StreamReader(test.port)
        #expect(reader.client.send([UInt8](repeating: 0x41, count: 4_000_000)))
        try test.show(1)
        #expect(try reader.next(from: 1).number == 1)
    }

    @Test func connectionsOverTheLimitAreToldSo() throws {
        let test = try TestServer { $0.limits.connections = 3 }
        var held = try (0..<3).map { _ in try Client(test.port) }
        #expect(eventually { test.statistics.connections == 3 })
        let refused = try Client(test.port)
        let answer = try refused.readAnswer()
        #expect(answer.status == 503)
        #expect(answer.text.contains("3 connections"))
        // Far beyond the limit there is no answer, and no memory used for one.
        let flood = try (0..<100).map { _ in try Client(test.port) }
        #expect(eventually { test.statistics.connectionsRefused >= 70 })
        #expect(test.statistics.connections <= 3 + 32)
        withExtendedLifetime(flood) {}
        held.removeAll()
        #expect(eventually { (try? Client.fetch("/state", port: test.port))?.status == 200 })
    }

    @Test func thousandsOfConnectionsLeaveNothingBehind() throws {
        let test = try TestServer()
        try test.show(1)
        _ = try Client.fetch("/state", port: test.port)
        #expect(eventually { test.statistics.connections == 0 })
        let before = openDescriptorCount()
        for round in 0..<2000 {
            let client = try Client(test.port)
            switch round % 5 {
            case 0: break
            case 1: client.send("GET / HT")
            case 2: client.get("/stream")
            case 3: client.get("/state")
            default:
                client.get("/snapshot")
                #expect(try client.readAnswer().status == 200)
            }
        }
        #expect(eventually { test.statistics.connections == 0 })
        #expect(test.statistics.viewers.isEmpty)
        // Fewer where tests before this one had left something to be closed.
        #expect(eventually { openDescriptorCount() <= before })
        #expect(test.statistics.connectionsAccepted == 2001)
    }
}
