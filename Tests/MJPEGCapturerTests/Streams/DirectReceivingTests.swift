import TestTools
import Testing
import VideoCapturing

@testable import HTTPTransport
@testable import MJPEGCapturer

#if canImport(Glibc)
    import Glibc
#endif

/// What goes past curl, and what does not.
@Suite struct DirectReceivingTests {
    /// Reads until so many bytes of the body have come; where they were received directly then, and what they were.
    private func read(
        _ count: Int, of server: QuirkServer, _ configuration: MJPEGCapturer.Configuration = .test(),
        isPicture: Bool = false
    ) throws -> (isDirect: Bool, body: [UInt8], transfer: HTTPTransfer) {
        let transfer = try HTTPTransfer()
        var body: [UInt8] = []
        transfer.onBody = { bytes in
            body += bytes
            return true
        }
        var request = HTTPRequest(address: try HTTPAddress(server.url))
        request.connectTimeout = configuration.connectTimeout
        request.proxy = configuration.proxy
        request.ignoresLength = !isPicture
        try transfer.begin(request)
        #expect(
            eventually {
                transfer.wait(atMost: .milliseconds(100), stop: -1)
                if transfer.bodySocket < 0 {
                    transfer.work()
                    if !body.isEmpty { transfer.receiveDirectly() }
                } else {
                    withUnsafeTemporaryAllocation(byteCount: 100, alignment: 1) { memory in
                        body += memory[..<transfer.receiveBody(into: memory)]
                    }
                }
                return body.count >= count || transfer.result != nil
            })
        return (transfer.bodySocket >= 0, body, transfer)
    }

    private func server(
        _ head: String, _ more: @escaping @Sendable (Connection) -> Void = { $0.awaitEnd() }
    ) -> QuirkServer {
        QuirkServer { _, connection in
            connection.write("HTTP/1.1 200 OK\r\n\(head)\r\nfirst")
            usleep(20_000)
            connection.write("second")
            more(connection)
        }
    }

    @Test(arguments: ["", "Content-Type: image/jpeg\r\n", "Content-Length: 3\r\n", "Connection: keep-alive\r\n"])
    func receivesWhatComesAsItIs(_ head: String) throws {
        let server = server(head)
        defer { server.stop() }
        let (isDirect, body, transfer) = try read(11, of: server)
        #expect(isDirect && body == Array("firstsecond".utf8))
        transfer.end()
        #expect(transfer.bodySocket < 0)
    }

    @Test(arguments: ["Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n"])
    func leavesToCurlWhatDoesNot(_ head: String) throws {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.1 200 OK\r\n\(head)\r\n5\r\nfirst\r\n")
            connection.awaitEnd()
        }
        defer { server.stop() }
        #expect(try !read(5, of: server).isDirect)
    }

    /// A picture ends with its length, not with the connection.
    @Test func leavesPicturesToCurl() throws {
        let server = server("Content-Length: 11\r\n")
        defer { server.stop() }
        let (isDirect, body, _) = try read(11, of: server, isPicture: true)
        #expect(!isDirect && body == Array("firstsecond".utf8))
    }

    /// curl speaks with it, maybe by TLS.
    @Test func leavesAProxyToCurl() throws {
        let server = server("")
        defer { server.stop() }
        let configuration = MJPEGCapturer.Configuration.test { $0.proxy = server.url }
        let (isDirect, body, _) = try read(11, of: server, configuration)
        #expect(!isDirect && body == Array("firstsecond".utf8))
    }

    @Test func tellsHowItEnds() throws {
        let closing = server("") { _ in }
        defer { closing.stop() }
        let closed = try read(100, of: closing).transfer
        #expect(closed.result != nil && closed.failureText == "No error")
        let resetting = server("") { $0.reset() }
        defer { resetting.stop() }
        let transfer = try read(100, of: resetting).transfer
        let reason = try #require(transfer.result)
        #expect(transfer.failureText == "Recv failure: Connection reset by peer")
        // The system tells it once only.
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { #expect(transfer.receiveBody(into: $0) == 0) }
        #expect(transfer.result == reason)
    }
}
