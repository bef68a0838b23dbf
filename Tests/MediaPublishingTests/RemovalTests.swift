import AudioCapturing
import MediaPublishing
import NoiseCapturer
import OpusCodec
import Testing
import ToneCapturer
import VP8Codec
import VideoCapturing

/// Outputs of pictures and sound that end while their encoders deliver: each encoder has a thread, and neither waits for the
/// other one.
@Suite struct RemovalTests {
    private func publisher() -> MediaPublisher {
        MediaPublisher(
            video: NoiseCapturer(format: .i420(width: 16, height: 8), frameRate: 30), audio: ToneCapturer(),
            settings: .init(encoders: [.vp8], audioEncoders: [.opus]))
    }

    /// One fails with sound while the other fails with a picture.
    @Test func twoFailuresAtATime() throws {
        struct Progress {
            var isPictureHeld = false
            var hasSoundFailed = false
        }
        let progress = Locked(Progress())
        let first = HookedOutput { _, isSound in
            guard isSound, progress.withLock({ $0.isPictureHeld }) else { return }
            progress.withLock { $0.hasSoundFailed = true }
            progress.wakeAll()
            throw TestError()
        }
        let second = HookedOutput { _, isSound in
            guard !isSound else { return }
            progress.withLock { $0.isPictureHeld = true }
            _ = progress.wait(until: RunLog.limit) { $0.hasSoundFailed ? () : nil }
            throw TestError()
        }
        let publisher = publisher()
        try publisher.add(first)
        try publisher.add(second)
        let log = RunLog(publisher)
        try publisher.start()
        try log.waitForFailures(2)
        #expect(Set(log.failures.map(\.outputs)) == [[0], [1]])
        #expect(!publisher.isActive)
        publisher.close()
        #expect(first.calls == ["finish", "close"])
        #expect(second.calls == ["finish", "close"])
    }

    /// An encoder that fails with its tenth frame.
    private final class FailingEncoder: VideoEncoder {
        private let encoder: VP8Encoder
        private var frames = 0

        init() throws { encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 100_000)) }

        var track: TrackDescription? { encoder.track }
        func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
            frames += 1
            guard frames < 10 else { throw TestError() }
            try encoder.encode(frame, output: output)
        }
        func requestKeyFrame() { encoder.requestKeyFrame() }
        func setBitrate(_ bitrate: Int) throws { try encoder.setBitrate(bitrate) }
    }

    /// The pictures of an output have failed: no sound comes after them, and it is finished while the run goes on.
    @Test func anEncoderOfPicturesThatFailsEndsTheSound() throws {
        let entry = EncoderEntry(name: "failing", codec: .vp8, summary: "Fails", make: { _ in try FailingEncoder() })
        let publisher = MediaPublisher(
            video: NoiseCapturer(format: .i420(width: 16, height: 8), frameRate: 30), audio: ToneCapturer(),
            settings: .init(encoders: [entry], audioEncoders: [.opus]))
        let output = HookedOutput { _, _ in }
        try publisher.add(output)
        let log = RunLog(publisher)
        try publisher.start()
        try log.waitForFailures(1)
        try output.waitForCalls(1)
        #expect(output.calls == ["finish"])
        #expect((1...9).contains(output.packets.pictures))
        // One that comes later has an encoder of its own, and fails in the same way.
        let second = HookedOutput { _, _ in }
        try publisher.add(second)
        try log.waitForFailures(2)
        try second.waitForCalls(1)
        #expect((1...9).contains(second.packets.pictures))
        publisher.close()
        #expect(log.failures.map(\.outputs) == [[0], [1]])
        #expect(output.calls == ["finish", "close"])
    }

    /// One removes itself while it is given a picture, and sound waits for it to return.
    @Test func anOutputRemovesItself() throws {
        let sound = Locked(0)
        let other = HookedOutput { _, isSound in
            guard isSound else { return }
            sound.withLock { $0 += 1 }
            sound.wakeAll()
        }
        let publisher = publisher()
        let removed = Locked<MediaPublisher.OutputID?>(nil)
        let leaving = HookedOutput { [weak publisher] _, isSound in
            guard !isSound, let id = removed.withLock({ $0.take() }) else { return }
            // By then the thread of the sound is at this output, whose turn is after the other one's.
            let before = sound.withLock { $0 }
            _ = sound.wait(until: RunLog.limit) { $0 > before ? () : nil }
            publisher?.remove(id)
        }
        try publisher.add(other)
        let id = try publisher.add(leaving)
        removed.withLock { $0 = id }
        try publisher.start()
        try leaving.waitForCalls(2)
        #expect(leaving.calls == ["finish", "close"])
        // The other one goes on with both.
        let now = other.packets
        try other.waitForPackets(now.sound + 5, now.pictures + 5)
        publisher.close()
        #expect(other.calls == ["finish", "close"])
    }

    /// A capture of the sound that fails before it has taken over ends nothing.
    @Test func aReplacementThatFailsEndsNothing() throws {
        struct Broken: AudioSource {
            var settings: AudioSettings { AudioSettings(format: .float48kStereo) }
            var pacing: AudioPacing { .device }
            mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
                throw CaptureError(.deviceLost, operation: "test", message: "The card has been pulled.")
            }
        }
        let publisher = MediaPublisher(audio: ToneCapturer(), settings: .init(audioEncoders: [.opus]))
        let output = HookedOutput { _, _ in }
        try publisher.add(output)
        let log = RunLog(publisher)
        try publisher.start()
        #expect(throws: CaptureError.self) {
            try publisher.replaceCapture(with: AudioSourceCapturer(Broken()), timeout: .milliseconds(50))
        }
        try output.waitForPackets(output.packets.sound + 5, 0)
        #expect(log.end == nil)
        publisher.close()
    }

    private struct TestError: Error {}
}

/// An output of pictures and sound, which does what a test wants with each packet.
private final class HookedOutput: MediaOutput, PacketSink {
    private struct State {
        var soundTrack: TrackID?
        var packets = (sound: 0, pictures: 0)
        var calls: [String] = []
    }

    private let state = Locked(State())
    private let onWrite: @Sendable (MediaPacket, _ isSound: Bool) throws -> Void

    init(_ onWrite: @escaping @Sendable (MediaPacket, _ isSound: Bool) throws -> Void) { self.onWrite = onWrite }

    var name: String { "hooked" }
    var kind: String { "hooked" }
    var feed: OutputContext.Feed { .packets(.init(codecs: [.vp8])) }
    var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }
    var outputStatistics: OutputStatistics { OutputStatistics(bytes: 1) }
    var calls: [String] { state.withLock { $0.calls } }
    var packets: (sound: Int, pictures: Int) { state.withLock { $0.packets } }

    func open(_ context: OutputContext) -> OutputContext.Destination { .sink(self) }
    func close(at end: MediaTime?) { note("close") }

    func begin(_ tracks: [TrackDescription]) {
        state.withLock { state in state.soundTrack = tracks.first { $0.codec == .opus }?.id }
    }

    func write(_ packet: MediaPacket) throws {
        let isSound = state.withLock { state in
            let isSound = packet.track == state.soundTrack
            if isSound { state.packets.sound += 1 } else { state.packets.pictures += 1 }
            return isSound
        }
        state.wakeAll()
        try onWrite(packet, isSound)
    }

    func finish() { note("finish") }

    private func note(_ call: String) {
        state.withLock { $0.calls.append(call) }
        state.wakeAll()
    }

    func waitForCalls(_ count: Int) throws {
        try #require(state.wait(until: RunLog.limit) { $0.calls.count >= count ? () : nil } != nil, "\(calls)")
    }

    func waitForPackets(_ sound: Int, _ pictures: Int) throws {
        try #require(
            state.wait(until: RunLog.limit) { $0.packets.sound >= sound && $0.packets.pictures >= pictures ? () : nil }
                != nil)
    }
}
