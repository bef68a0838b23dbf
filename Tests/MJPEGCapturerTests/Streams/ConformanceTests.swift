import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

@Suite struct MJPEGConformanceTests {
    @Test func keepsTheContract() async {
        let server = QuirkServer { _, connection in stream(to: connection) }
        defer { server.stop() }
        let report = await ConformanceSuite(name: "MJPEG stream") {
            MJPEGCapturer(url: server.url, configuration: .test())
        }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// With losses all the time, and one that fails at its first start.
    @Test func keepsTheContractWithLosses() async {
        let server = QuirkServer { _, connection in stream(to: connection, count: 3) }
        let all = Locked([server])
        defer { for server in all.withLock({ $0 }) { server.stop() } }
        let report = await ConformanceSuite(
            name: "MJPEG stream with losses",
            makeFailingCapture: {
                let failing = QuirkServer { request, connection in
                    guard request.index == 0 else { return stream(to: connection) }
                    stream(to: connection, count: 2)
                    connection.write("--frame\r\nContent-Length: 999\r\n\r\n\u{FF}")
                    connection.reset()
                }
                all.withLock { $0.append(failing) }
                return MJPEGCapturer(url: failing.url, configuration: .test { $0.reconnect = .never })
            }
        ) {
            MJPEGCapturer(url: server.url, configuration: .test { $0.reconnect = .every(.milliseconds(1)) })
        }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func keepsTheContractPolling() async {
        let server = QuirkServer { request, connection in
            let jpeg = picture(request.index)
            connection.isKept = true
            let head = "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
            connection.write(Array(head.utf8) + jpeg)
        }
        defer { server.stop() }
        let report = await ConformanceSuite(name: "JPEG pictures") {
            MJPEGCapturer(url: server.url, configuration: .test())
        }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }
}
