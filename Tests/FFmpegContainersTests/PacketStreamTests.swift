import FFmpegContainers
import Glibc
import H264Bitstream
import PacketCapturing
import TestTools
import Testing

/// The packets of raw H.264 over TCP, from senders that come and go.
@Suite struct PacketStreamTests {
    private final class Recorder: PacketCaptureConsumer {
        let packets = Locked<[MediaPacket]>([])
        func consumePacket(_ packet: MediaPacket) {
            packets.withLock { $0.append(packet) }
            packets.wakeAll()
        }
        func wait(for count: Int) throws {
            let limit = MonotonicClock().now.advanced(by: .seconds(60))
            try #require(packets.wait(until: limit) { $0.count >= count ? () : nil } != nil)
        }
    }

    /// Sends bytes to a port, and ends the connection.
    private func send(_ bytes: [UInt8], to port: Int) throws {
        let socket = try connectTo(port)
        defer { close(socket) }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// A capture that listens, and is initialized by the first sender.
    private func listening(_ bytes: [UInt8]) throws -> (capture: PacketStreamCapturer, recorder: Recorder) {
        let capture = PacketStreamCapturer(url: "tcp://127.0.0.1:0?listen")
        let recorder = Recorder()
        capture.packetCaptureConsumer = recorder
        let result = Locked<Result<Void, CaptureError>?>(nil)
        startThread {
            let made = Result { () throws(CaptureError) in try capture.initCapture() }
            result.withLock { $0 = made }
            result.wakeAll()
        }
        try #require(eventually { capture.port != nil })
        try send(bytes, to: try #require(capture.port))
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        try #require(result.wait(until: limit) { $0 }).get()
        return (capture, recorder)
    }

    @Test func aSenderThatComesBack() throws {
        let clip = try h264Clip(frames: 20, keyFrameInterval: 10)
        let (capture, recorder) = try listening(clip)
        let port = try #require(capture.port)
        guard case .video(let video) = capture.captureSettings().tracks.first?.media else {
            Issue.record("There is no video.")
            return
        }
        #expect((video.width, video.height) == (160, 120))
        try capture.startCapture()
        try recorder.wait(for: 20)
        try #require(eventually { capture.state == .interrupted(.deviceDisconnected) })
        // What brings no stream does not end it.
        try send([1, 2, 3], to: port)
        try send(clip, to: port)
        try recorder.wait(for: 40)
        try capture.stopCapture()
        // A start after a stop waits for another sender.
        try capture.startCapture()
        #expect(eventually { capture.state == .interrupted(.deviceDisconnected) })
        try send(clip, to: port)
        try recorder.wait(for: 60)
        capture.releaseCapture()
        let packets = recorder.packets.withLock { $0 }
        #expect(packets.count == 60)
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 10, 20, 30, 40, 50])
        #expect(packets.map(\.sequenceNumber) == Array(0..<60))
        for (earlier, later) in zip(packets, packets.dropFirst()) { #expect(earlier.timestamp < later.timestamp) }
        #expect(capture.statistics.interruptions >= 2)
        #expect(capture.statistics.packetsLost == 0)
    }

    /// Pictures that refer to lost ones are left out.
    @Test func aLossEndsAtTheNextKeyFrame() throws {
        var clip = try h264Clip(frames: 20, keyFrameInterval: 10, options: "repeat-headers=1:aud=1")
        let starts = clip.indices.dropLast(5).filter { Array(clip[$0..<$0 + 5]) == [0, 0, 0, 1, 9] }
        try #require(starts.count == 20)
        clip.removeSubrange(starts[4]..<starts[5])
        let (capture, recorder) = try listening(clip)
        try capture.startCapture()
        try recorder.wait(for: 14)
        capture.releaseCapture()
        let packets = recorder.packets.withLock { $0 }
        #expect(packets.map(\.sequenceNumber) == [0, 1, 2, 3] + Array(10..<20))
        #expect(packets[4].isKeyFrame)
        #expect(capture.statistics.tracks[0].packetsLost.source == 1)
        #expect(capture.statistics.tracks[0].packetsLost.undecodable == 5)
    }

    /// Raw H.264 states no times, so that the order in which pictures are shown is not known.
    @Test func picturesOutOfOrderNeedTimes() throws {
        let clip = try run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30", "-frames:v", "10", "-c:v", "libx264",
                "-bf", "2", "-f", "h264", "-",
            ])
        let listener = try TestListener()
        let capture = PacketStreamCapturer(url: "tcp://127.0.0.1:\(listener.port)")
        let outcome = Locked<(any Error)?>(nil)
        let isOver = Locked(false)
        startThread {
            do { try capture.initCapture() } catch { outcome.withLock { $0 = error } }
            isOver.withLock { $0 = true }
            isOver.wakeAll()
        }
        let socket = try listener.accept()
        _ = clip.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        close(socket)
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        try #require(isOver.wait(until: limit) { $0 ? () : nil } != nil)
        let error = try #require(outcome.withLock { $0 } as? CaptureError)
        #expect(error.code == .formatUnsupported)
        #expect("\(error)".contains("B-frames"))
    }
}
