import CapturerTestKit
import StreamCapturer
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct StreamConformanceTests {
    /// The pictures of a stream again and again, until the receiver hangs up or there are enough.
    private static func play(_ stream: Stream, to connection: SenderConnection, count: Int = .max) {
        var number = 0
        while number < count, connection.write(stream.units[number % stream.units.count] + [0, 0, 0, 1, 9, 0xF0]) {
            number += 1
            usleep(5000)
        }
    }

    @Test func keepsTheContract() async throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { Self.play(stream, to: $0) }
        defer { sender.stop() }
        let report = await ConformanceSuite(name: "stream") { StreamCapturer.test(sender.url) }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// With losses all the time, and one that fails at its first start.
    @Test func keepsTheContractWithLosses() async throws {
        let stream = try Stream.standard.get()
        let sender = TestSender { Self.play(stream, to: $0, count: 13) }
        let all = Locked([sender])
        defer { for sender in all.withLock({ $0 }) { sender.stop() } }
        let report = await ConformanceSuite(
            name: "stream with losses",
            makeFailingCapture: {
                let failing = TestSender { connection in
                    guard connection.index == 0 else { return Self.play(stream, to: connection) }
                    Self.play(stream, to: connection, count: 2)
                    connection.hangUp(reset: true)
                }
                all.withLock { $0.append(failing) }
                return StreamCapturer.test(failing.url) { $0.reconnectDelays = [] }
            },
            makeCapture: { StreamCapturer.test(sender.url) { $0.reconnectDelays = [.milliseconds(1)] } }
        ).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }
}
