import AudioCapturing
import RadioCapturer
import RadioPlayer
import TestTools
import Testing

@Suite(.serialized) struct RadioCapturerTests {
    private static let clip = try! mp3("sine=frequency=440:sample_rate=44100")

    private static func mp3(_ source: String) throws -> [UInt8] {
        let folder = TemporaryFolder()
        try run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", source, "-t", "20", "-c:a", "libmp3lame", "-b:a", "64k",
                "-id3v2_version", "0", "-write_xing", "0", folder.file("a.mp3"),
            ])
        return try folder.read("a.mp3")
    }

    private final class Collector: AudioCaptureConsumer {
        let chunks = Locked<[AudioChunk]>([])

        func consumeAudio(_ chunk: AudioChunk) {
            chunks.withLock { $0.append(chunk) }
            chunks.wakeAll()
        }

        func awaitChunks(_ count: Int) -> [AudioChunk]? {
            chunks.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0.count >= count ? $0 : nil }
        }
    }

    @Test func `Chunks come at the speed of sound, in one format`() throws {
        let server = QuirkServer { _, connection in
            connection.write("ICY 200 OK\r\nicy-name:Station\r\ncontent-type:audio/mpeg\r\n\r\n")
            connection.write(Self.clip)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let capture = RadioCapturer(url: server.url)
        let collector = Collector()
        capture.audioCaptureConsumer = collector
        try capture.initCapture()
        #expect(capture.state == .initialized)
        #expect(capture.information?.name == "Station" || capture.information == nil)
        let start = MonotonicClock().now
        try capture.startCapture()
        let chunks = try #require(collector.awaitChunks(60))
        let elapsed = (MonotonicClock().now - start).seconds
        try capture.stopCapture()
        #expect(chunks.allSatisfy { $0.buffer.format == .float48kStereo && $0.buffer.frameCount == 960 })
        #expect(Array(chunks.map(\.firstFrame).prefix(60)) == Array(stride(from: Int64(0), to: 60 * 960, by: 960)))
        // 60 chunks of 20 ms: neither in a burst nor late.
        #expect(elapsed > 1 && elapsed < 4)
        #expect(capture.streamStatistics.framesDecoded > 0)
        #expect(capture.information?.name == "Station")
        let loudest = chunks.last?.buffer.withSamples(as: Float.self) { samples -> Float in
            var loudest: Float = 0
            for index in samples.indices { loudest = max(loudest, abs(samples[index])) }
            return loudest
        }
        #expect((loudest ?? 0) > 0.05)
        capture.releaseCapture()
        #expect(capture.state == .idle)
    }

    private static let head = "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n"

    private static func awaitStop(_ capture: RadioCapturer) -> Bool {
        eventually { if case .stopped = capture.state { true } else { false } }
    }

    @Test func `A start after a failure connects again`() throws {
        let isRefusing = Locked(false)
        let server = QuirkServer { _, connection in
            guard !isRefusing.withLock({ $0 }) else {
                connection.write("HTTP/1.0 403 Forbidden\r\n\r\n")
                return
            }
            connection.write(Self.head + "\r\n")
            // A second and a half, and the end.
            connection.write(Array(Self.clip.prefix(12_000)))
            isRefusing.withLock { $0 = true }
        }
        defer { server.stop() }
        let capture = RadioCapturer(url: server.url)
        let collector = Collector()
        capture.audioCaptureConsumer = collector
        try capture.initCapture()
        try capture.startCapture()
        #expect(Self.awaitStop(capture))
        guard case .stopped(.error(let error)) = capture.state else {
            Issue.record("\(capture.state)")
            return
        }
        #expect(error.code == .permissionDenied)
        isRefusing.withLock { $0 = false }
        let count = collector.chunks.withLock { $0.count }
        try capture.startCapture()
        #expect(collector.awaitChunks(count + 10) != nil)
        capture.releaseCapture()
    }

    @Test func `A start after the end of a file begins it again`() throws {
        let file = Array(Self.clip.prefix(10_000))
        let server = QuirkServer { _, connection in
            connection.write(Self.head + "Content-Length: \(file.count)\r\n\r\n")
            connection.write(file)
        }
        defer { server.stop() }
        let capture = RadioCapturer(url: server.url)
        let collector = Collector()
        capture.audioCaptureConsumer = collector
        try capture.initCapture()
        var counts: [Int] = []
        for _ in 0..<2 {
            try capture.startCapture()
            #expect(Self.awaitStop(capture))
            #expect(capture.state == .stopped(.endOfStream))
            counts.append(collector.chunks.withLock { $0.count } - counts.reduce(0, +))
        }
        #expect(counts[0] > 40 && counts[1] == counts[0], "\(counts)")
        capture.releaseCapture()
    }

    @Test func `A start after a stop begins with what the station sends then`() throws {
        // Of the silent sound of a second station in place of the tone.
        let silence = try Self.mp3("anullsrc=sample_rate=44100")
        let server = QuirkServer { request, connection in
            connection.write(Self.head + "icy-name: Station\r\n\r\n")
            connection.write(request.index == 0 ? Self.clip : silence)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let capture = RadioCapturer(url: server.url)
        let collector = Collector()
        capture.audioCaptureConsumer = collector
        try capture.initCapture()
        try capture.startCapture()
        #expect(collector.awaitChunks(10) != nil)
        try capture.stopCapture()
        let count = collector.chunks.withLock { $0.count }
        try capture.startCapture()
        let chunks = try #require(collector.awaitChunks(count + 10)).dropFirst(count)
        for chunk in chunks {
            let loudest = chunk.buffer.withSamples(as: Float.self) { samples in
                samples.indices.map { abs(samples[$0]) }.max() ?? 0
            }
            #expect(loudest < 0.001)
        }
        #expect(server.requests.count == 2)
        capture.releaseCapture()
    }

    @Test func `What cannot be received is told by initCapture`() throws {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.0 404 Not Found\r\n\r\n")
        }
        defer { server.stop() }
        let capture = RadioCapturer(url: server.url)
        let error = #expect(throws: CaptureError.self) { try capture.initCapture() }
        #expect(error?.code == .deviceNotFound)
        let invalid = RadioCapturer(url: "nothing")
        #expect(throws: CaptureError.self) { try invalid.initCapture() }
    }

    @Test func `The entry asks for an address`() throws {
        let catalog = AudioCapturerCatalog([.radio])
        let found = try #require(catalog.find("http://127.0.0.1:1/x"))
        #expect(found.entry.name == "radio")
        _ = try found.entry.make(found.request)
        #expect(throws: OptionError.self) { try found.entry.make(AudioCapturerEntry.Request()) }
    }
}
