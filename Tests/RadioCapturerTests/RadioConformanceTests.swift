import AudioCapturing
import CapturerTestKit
import RadioCapturer
import RadioPlayer
import TestTools
import Testing

/// The contract on a station, and on a file of a server.
@Suite(.serialized) struct RadioConformanceTests {
    private static func clip(seconds: Double) throws -> [UInt8] {
        let folder = TemporaryFolder()
        try run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=\(seconds)", "-c:a",
                "libmp3lame", "-b:a", "64k", "-id3v2_version", "0", "-write_xing", "0", folder.file("a.mp3"),
            ])
        return try folder.read("a.mp3")
    }

    /// Each start waits for a second of sound, by default.
    private static func capture(_ url: String) -> RadioCapturer {
        var configuration = RadioConfiguration()
        configuration.startLevel = .milliseconds(100)
        return RadioCapturer(url: url, configuration: configuration)
    }

    @Test func aStationKeepsTheContract() async throws {
        let clip = try Self.clip(seconds: 20)
        let server = QuirkServer { _, connection in
            connection.write("ICY 200 OK\r\nicy-name:Station\r\ncontent-type:audio/mpeg\r\n\r\n")
            // The socket holds back what is ahead.
            while connection.write(clip) {}
        }
        defer { server.stop() }
        let report = await AudioConformanceSuite(name: "station") { Self.capture(server.url) }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func aFileKeepsTheContract() async throws {
        let clip = try Self.clip(seconds: 0.5)
        let server = QuirkServer { _, connection in
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: \(clip.count)\r\n\r\n")
            connection.write(clip)
        }
        defer { server.stop() }
        let report = await AudioConformanceSuite(name: "file") { Self.capture(server.url) }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }
}
