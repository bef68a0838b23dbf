import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Other programs' streams.
@Suite struct PeerTests {
    /// The first frames of a stream that begins at some time after now.
    private func frames(_ count: Int, of url: String) -> [VideoFrame] {
        let consumer = RecordingConsumer(limit: count)
        let capture = MJPEGCapturer(url: url, configuration: .test())
        capture.videoCaptureConsumer = consumer
        var error: CaptureError?
        let isPlaying = eventually(within: .seconds(30)) {
            do throws(CaptureError) {
                try capture.play()
                return true
            } catch let failure {
                error = failure
                return false
            }
        }
        #expect(isPlaying, "\(error as Any)")
        #expect(consumer.waitForFrames(count))
        capture.releaseCapture()
        return consumer.frames
    }

    /// In all samplings that FFmpeg's encoder has, with and without a content type.
    @Test(arguments: ["yuvj420p", "yuvj422p", "yuvj444p"])
    func readsFFmpeg(_ format: String) throws {
        let port = try freePort()
        let type = format == "yuvj420p" ? ["-content_type", "multipart/x-mixed-replace;boundary=ffmpeg"] : []
        let peer = try #require(
            Peer(
                "ffmpeg",
                [
                    "-v", "quiet", "-re", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=50", "-pix_fmt", format,
                    "-c:v", "mjpeg",
                ]
                    + ["-huffman", "default", "-f", "mpjpeg", "-listen", "1"] + type + ["http://127.0.0.1:\(port)/"]))
        defer { peer.stop() }
        let frames = frames(30, of: "http://127.0.0.1:\(port)/")
        #expect(frames.allSatisfy { $0.width == 160 && $0.height == 120 && $0.pixelFormat == .nv12 })
        #expect(frames.last?.sequenceNumber == 29)
    }

    /// Bare JPEGs, one after the other.
    @Test func readsFFmpegWithoutParts() throws {
        let port = try freePort()
        let peer = try #require(
            Peer(
                "ffmpeg",
                [
                    "-v", "quiet", "-re", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=50", "-c:v", "mjpeg", "-f",
                    "mjpeg",
                    "-listen", "1", "http://127.0.0.1:\(port)/",
                ]))
        defer { peer.stop() }
        #expect(frames(30, of: "http://127.0.0.1:\(port)/").last?.sequenceNumber == 29)
    }

    /// `multipartmux` over `tcpserversink` sends no head at all.
    @Test func readsGStreamer() throws {
        let port = try freePort()
        let peer = try #require(
            Peer(
                "gst-launch-1.0",
                [
                    "-q", "videotestsrc", "is-live=true", "!", "video/x-raw,width=160,height=120,framerate=50/1", "!",
                    "jpegenc",
                    "!", "multipartmux", "!", "tcpserversink", "host=127.0.0.1", "port=\(port)",
                ]))
        defer { peer.stop() }
        #expect(frames(30, of: "http://127.0.0.1:\(port)/").allSatisfy { $0.width == 160 && $0.height == 120 })
    }

    /// The example of a thousand tutorials.
    @Test func readsPython() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(picture(5, padding: 20_000), to: "picture.jpg")
        let script = """
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
            from sys import argv
            from time import sleep
            picture = open(argv[1], 'rb').read()
            class Handler(BaseHTTPRequestHandler):
                def log_message(self, *arguments): pass
                def do_GET(self):
                    self.send_response(200)
                    self.send_header('Age', 0)
                    self.send_header('Cache-Control', 'no-cache, private')
                    self.send_header('Content-Type', 'multipart/x-mixed-replace; boundary=FRAME')
                    self.end_headers()
                    while True:
                        self.wfile.write(b'--FRAME\\r\\n')
                        self.send_header('Content-Type', 'image/jpeg')
                        self.send_header('Content-Length', len(picture))
                        self.end_headers()
                        self.wfile.write(picture)
                        self.wfile.write(b'\\r\\n')
                        sleep(0.01)
            class Server(ThreadingHTTPServer):
                def handle_error(self, *arguments): pass
            server = Server(('127.0.0.1', 0), Handler)
            print(server.server_address[1])
            server.serve_forever()
            """
        let peer = try #require(Peer("python3", ["-u", "-c", script, path]))
        defer { peer.stop() }
        let port = try #require(peer.line())
        #expect(frames(20, of: "http://127.0.0.1:\(port)/").allSatisfy { $0.number == 5 })
    }
}
