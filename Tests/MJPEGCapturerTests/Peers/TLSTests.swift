import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

/// Python's TLS as the server, with a certificate of its own for `localhost`.
@Suite struct TLSTests {
    private final class Server {
        let folder = TemporaryFolder()
        let certificate: String
        let pin: String
        let port: Int
        private let peer: Peer

        init() throws {
            certificate = folder.file("certificate.pem")
            let key = folder.file("key.pem")
            _ = try #require(
                Peer.run(
                    "openssl",
                    [
                        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                        "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                        certificate,
                    ]))
            let digest = try #require(
                Peer.run(
                    "sh",
                    [
                        "-c",
                        "openssl x509 -in \(certificate) -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -r",
                    ]))
            pin = String(digest[0].prefix(64))
            try folder.write(picture(0, padding: 30_000), to: "picture.jpg")
            peer = try #require(Peer("python3", ["-u", "-c", Server.script, folder.path]))
            port = try #require(peer.line().flatMap { Int($0) })
        }

        func stop() { peer.stop() }

        static let script = """
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
            from ssl import PROTOCOL_TLS_SERVER, SSLContext
            from sys import argv
            from time import sleep
            folder = argv[1]
            picture = open(folder + '/picture.jpg', 'rb').read()
            class Handler(BaseHTTPRequestHandler):
                def log_message(self, *arguments): pass
                def do_GET(self):
                    if self.path == '/open':
                        self.send_response(302)
                        self.send_header('Location', 'http://127.0.0.1:1/')
                        return self.end_headers()
                    self.send_response(200)
                    self.send_header('Content-Type', 'multipart/x-mixed-replace; boundary=x')
                    self.end_headers()
                    while True:
                        self.wfile.write(b'--x\\r\\nContent-Type: image/jpeg\\r\\n\\r\\n' + picture + b'\\r\\n')
                        sleep(0.01)
            class Server(ThreadingHTTPServer):
                def handle_error(self, *arguments): pass
                def finish_request(self, request, address):
                    request.settimeout(10)
                    super().finish_request(context.wrap_socket(request, server_side=True), address)
            context = SSLContext(PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder + '/certificate.pem', folder + '/key.pem')
            server = Server(('127.0.0.1', 0), Handler)
            print(server.server_address[1])
            server.serve_forever()
            """
    }

    @Test func trustsWhatItIsTold() throws {
        let server = try Server()
        defer { server.stop() }
        func play(_ trust: MJPEGCapturer.Configuration.ServerTrust, host: String = "localhost") throws {
            let consumer = RecordingConsumer()
            let capture = MJPEGCapturer(
                url: "https://\(host):\(server.port)/", configuration: .test { $0.trust = trust })
            capture.videoCaptureConsumer = consumer
            defer { capture.releaseCapture() }
            try capture.play()
            #expect(consumer.waitForFrames(5))
        }
        func refusal(_ trust: MJPEGCapturer.Configuration.ServerTrust, host: String = "localhost") -> CaptureError? {
            failure(
                of: MJPEGCapturer(url: "https://\(host):\(server.port)/", configuration: .test { $0.trust = trust }))
        }
        try play(.acceptsSelfSigned)
        try play(.acceptsSelfSigned, host: "127.0.0.1")
        try play(.authorities(path: server.certificate))
        try play(.pinned(publicKeySHA256: server.pin), host: "127.0.0.1")

        let untrusted = refusal(.verified)
        #expect(untrusted?.code == .permissionDenied)
        #expect(untrusted?.message.contains("self") == true, "\(untrusted as Any)")
        // The name is checked as well.
        #expect(refusal(.authorities(path: server.certificate), host: "127.0.0.1")?.code == .permissionDenied)
        let other = refusal(.pinned(publicKeySHA256: String(repeating: "0", count: 64)))
        #expect(other?.code == .permissionDenied)
        #expect(other?.message.contains("pinned") == true, "\(other as Any)")
        #expect(refusal(.authorities(path: "/no/such/file"))?.code == .invalidConfiguration)
    }

    /// The address is an open one, the connection is not.
    @Test func followsToASafeConnection() throws {
        let safe = try Server()
        defer { safe.stop() }
        let port = safe.port
        let open = QuirkServer { _, connection in
            connection.write("HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:\(port)/\r\nContent-Length: 0\r\n\r\n")
        }
        defer { open.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: open.url, configuration: .test { $0.trust = .acceptsSelfSigned })
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(20))
        capture.releaseCapture()
        #expect(consumer.frames.allSatisfy { $0.number == 0 })
        #expect(capture.streamStatistics.connections == 1)
    }

    @Test func saysThatThereIsNoTLS() {
        let server = QuirkServer { _, connection in stream(to: connection) }
        defer { server.stop() }
        let error = failure(
            of: MJPEGCapturer(
                url: "https://127.0.0.1:\(server.port)/", configuration: .test { $0.connectTimeout = .seconds(1) }))
        #expect(error.map { [.formatUnsupported, .stalled, .deviceLost].contains($0.code) } == true, "\(error as Any)")
    }

    /// From a safe connection no redirect leads to an open one.
    @Test func staysSafe() throws {
        let server = try Server()
        defer { server.stop() }
        let error = failure(
            of: MJPEGCapturer(
                url: "https://127.0.0.1:\(server.port)/open", configuration: .test { $0.trust = .acceptsSelfSigned }))
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("not https") == true)
    }
}
