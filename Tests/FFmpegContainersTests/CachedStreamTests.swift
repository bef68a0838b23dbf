import FFmpegContainers
import Glibc
import PacketCapturing
import TestTools
import Testing

/// Servers that begin each connection with what they have sent since the last key frame, as those of RTMP do.
@Suite struct CachedStreamTests {
    private final class Recorder: PacketCaptureConsumer {
        let packets = Locked<[(packet: MediaPacket, arrival: MediaTime)]>([])
        func consumePacket(_ packet: MediaPacket) {
            let now = MonotonicClock().now
            packets.withLock { $0.append((packet, now)) }
        }
    }

    private static let bytesPerSecond = 100_000

    /// MPEG-TS of a constant bitrate, so that a place in it is a time; a key frame each two seconds.
    private func clip(seconds: Int) throws -> [UInt8] {
        try run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25", "-f", "lavfi", "-i", "sine", "-t",
                "\(seconds)", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "50", "-b:v",
                "300k",
                "-c:a", "aac", "-f", "mpegts", "-muxrate", "\(8 * CachedStreamTests.bytesPerSecond)", "-muxdelay", "0",
                "-muxpreload", "0", "-",
            ])
    }

    /// Serves a stream that has run for `age` when the first client comes; returns once the last one is served.
    private func serve(_ clip: [UInt8], by listener: TestListener, age: Duration, clients: Int, each length: Duration)
        throws
    {
        let clock = MonotonicClock()
        var start = clock.now
        func place(_ time: Duration) -> Int {
            let bytes = Int(time.nanoseconds / 1000) * CachedStreamTests.bytesPerSecond / 1_000_000
            return min(clip.count, bytes / 188 * 188)
        }
        for client in 0..<clients {
            let socket = try listener.accept()
            defer { close(socket) }
            if client == 0 { start = clock.now - age }
            let end = clock.now + length
            // Sound and pictures of a time lie a little before its place.
            var sent = place(.seconds((clock.now - start).nanoseconds / 2_000_000_000 * 2)) / 188 * 188
            sent = max(0, sent - 20 * 188)
            while clock.now < end {
                let due = place(clock.now - start)
                while sent < due {
                    let count = clip[sent..<due].withUnsafeBytes {
                        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { return }
                    sent += count
                }
                usleep(20_000)
            }
        }
    }

    @Test func whatIsRepeatedIsNotNew() throws {
        let clip = try clip(seconds: 12)
        let listener = try TestListener()
        var configuration = PacketStreamCapturer.Configuration()
        configuration.reconnectDelays = [.milliseconds(100)]
        let capture = PacketStreamCapturer(
            url: "tcp://127.0.0.1:\(listener.port)?format=mpegts", configuration: configuration)
        let recorder = Recorder()
        capture.packetCaptureConsumer = recorder
        let isServed = Locked(false)
        startThread {
            try? serve(clip, by: listener, age: .milliseconds(1800), clients: 3, each: .milliseconds(2500))
            isServed.withLock { $0 = true }
        }
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { isServed.withLock { $0 } })
        capture.releaseCapture()
        let packets = recorder.packets.withLock { $0 }
        for track in capture.captureSettings().tracks {
            let own = packets.filter { $0.packet.track == track.id }
            try #require(own.count > 100)
            for (earlier, later) in zip(own, own.dropFirst()) {
                #expect(earlier.packet.timestamp < later.packet.timestamp)
            }
            for (packet, arrival) in own { #expect(packet.timestamp - arrival < .milliseconds(800)) }
            let (first, last) = (own[0], own[own.count - 1])
            #expect(last.arrival - last.packet.timestamp < .seconds(2))
            // The first one is as old as the stream was then.
            #expect(first.arrival - first.packet.timestamp > .seconds(1))
        }
    }
}
