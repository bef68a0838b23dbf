import MediaPublishing
import PacketCapturing
import TestTools
import Testing
import VideoCapturing

private struct TestError: Error {}

/// Packets that are passed on as they come, to outputs that come and go and fail.
@Suite struct PassingOnTests {
    /// An output that keeps what it gets.
    private final class Keeper: MediaOutput, PacketSink {
        struct State {
            var tracks: [TrackDescription] = []
            var packets: [MediaPacket] = []
            var calls: [String] = []
        }

        let feed: OutputContext.Feed
        let audioFeed: OutputContext.AudioFeed?
        private let state = Locked(State())
        private let onWrite: @Sendable (MediaPacket) throws -> Void

        init(
            _ codecs: [Codec] = [.h264], sound: [Codec]? = [.opus], purpose: EncodingSettings.Purpose = .file,
            onWrite: @escaping @Sendable (MediaPacket) throws -> Void = { _ in }
        ) {
            feed = .packets(.init(codecs: codecs, purpose: purpose))
            audioFeed = sound.map { .packets($0) }
            self.onWrite = onWrite
        }

        var name: String { "keeper" }
        var kind: String { "keeper" }
        var outputStatistics: OutputStatistics { OutputStatistics(bytes: Int64(packets.count)) }
        var packets: [MediaPacket] { state.withLock { $0.packets } }
        var calls: [String] { state.withLock { $0.calls } }
        var tracks: [Codec] { state.withLock { $0.tracks.map(\.codec) } }

        func open(_ context: OutputContext) -> OutputContext.Destination {
            state.withLock { $0.calls.append("open") }
            return .sink(self)
        }
        func begin(_ tracks: [TrackDescription]) { state.withLock { $0.tracks = tracks } }
        func write(_ packet: MediaPacket) throws {
            try onWrite(packet)
            state.withLock { $0.packets.append(packet) }
            state.wakeAll()
        }
        func finish() { state.withLock { $0.calls.append("finish") } }
        func close(at end: MediaTime?) { state.withLock { $0.calls.append("close") } }

        func wait(for count: Int) throws {
            try #require(state.wait(until: RunLog.limit) { $0.packets.count >= count ? () : nil } != nil)
        }
    }

    private func publisher(
        _ source: sending TestPackets, _ change: (inout MediaPublisher.Settings) -> Void = { _ in }
    ) -> MediaPublisher {
        var settings = MediaPublisher.Settings()
        settings.pacing = .playback(isPaced: source.pacing == .clock)
        change(&settings)
        return MediaPublisher(packets: PacketSourceCapturer(source), settings: settings)
    }

    @Test func everyPacketGoesToEveryOutput() throws {
        let publisher = publisher(TestPackets(count: 200, pacing: .unpaced))
        let (both, pictures) = (Keeper(), Keeper(sound: nil))
        try publisher.add(both)
        try publisher.add(pictures)
        let log = RunLog(publisher)
        try publisher.start()
        #expect(try log.waitForEnd() == .captureStopped(.endOfStream))
        try publisher.stop()
        #expect(both.packets.count == 400)
        #expect(both.packets.map(\.sequenceNumber) == (0..<200).flatMap { [$0, $0] })
        #expect(pictures.packets.count == 200 && pictures.tracks == [.h264])
        #expect(both.calls == ["open", "finish", "close"])
        #expect(log.warnings == ["keeper has no sound: keeper carries pictures only."])
        let statistics = publisher.statistics
        #expect(statistics.framesPublished == 200)
        #expect(statistics.outputs.map(\.passedOn?.packets) == [400, 200])
        #expect(statistics.packets?.packetsDelivered == 400)
        publisher.close()
    }

    /// Nothing is opened, of the others neither.
    @Test func whatAnOutputDoesNotTakeIsFoundFirst() throws {
        let publisher = publisher(TestPackets(count: 5, pacing: .unpaced))
        let good = Keeper()
        try publisher.add(good)
        try publisher.add(Keeper([.vp8]))
        let error = #expect(throws: OptionError.self) { try publisher.open() }
        #expect("\(try #require(error))".contains("takes pictures as vp8, and here is h264"))
        #expect(good.calls == [])
        publisher.close()
    }

    @Test func outputsOfFramesAndSettingsOfFramesAreRefused() throws {
        let publisher = publisher(TestPackets(count: 5, pacing: .unpaced))
        try publisher.open()
        #expect(throws: OptionError.self) { try publisher.add(ProbeOutput(FrameSink())) }
        var frames = MediaPublisher.FrameSettings()
        frames.frameRate = 5
        #expect(throws: OptionError.self) { try publisher.add(Keeper(), frames: frames) }
        #expect(throws: OptionError.self) { try publisher.add(Keeper(), encoding: EncodingSettings(bitrate: 100_000)) }
        publisher.close()
    }

    private final class FrameSink: VideoCaptureConsumer {
        func consumeFrame(_ frame: VideoFrame) {}
    }

    @Test(arguments: [false, true]) func anOutputThatComesLaterBeginsWithAKeyFrame(onRequest: Bool) throws {
        let publisher = publisher(TestPackets(makesKeyFrames: onRequest))
        let first = Keeper()
        try publisher.add(first)
        try publisher.start()
        try first.wait(for: 7)
        let late = Keeper()
        let id = try publisher.add(late)
        try late.wait(for: 10)
        publisher.remove(id)
        #expect(late.calls == ["open", "finish", "close"])
        let count = late.packets.count
        try first.wait(for: first.packets.count + 20)
        #expect(late.packets.count == count)
        #expect(late.packets.first?.track == TestPackets.video && late.packets.first?.isKeyFrame == true)
        #expect(late.packets.first?.sequenceNumber != 0)
        publisher.close()
    }

    @Test func oneThatFailsHarmsNoOther() throws {
        let publisher = publisher(TestPackets(count: 100, pacing: .unpaced))
        let good = Keeper()
        let bad = Keeper { packet in
            if packet.sequenceNumber == 10 { throw TestError() }
        }
        try publisher.add(bad)
        try publisher.add(good)
        let log = RunLog(publisher)
        try publisher.start()
        try log.waitForFailures(1)
        _ = try log.waitForEnd()
        try publisher.stop()
        #expect(log.failures.map(\.outputs) == [[0]])
        #expect(good.packets.count == 200)
        #expect(bad.calls.filter { $0 == "finish" }.count == 1)
        publisher.close()
    }

    /// A live output that takes nothing loses groups; a file next to it gets everything.
    @Test func aLiveOutputLosesWholeGroups() throws {
        let isOpen = Locked(false)
        let publisher = publisher(TestPackets(count: 2000, pacing: .unpaced))
        let file = Keeper()
        let live = Keeper(purpose: .live) { _ in _ = isOpen.wait(until: RunLog.limit) { $0 ? () : nil } }
        try publisher.add(file)
        try publisher.add(live)
        let log = RunLog(publisher)
        try publisher.start()
        _ = try log.waitForEnd()
        isOpen.withLock { $0 = true }
        isOpen.wakeAll()
        try publisher.stop()
        #expect(file.packets.count == 4000)
        let pictures = live.packets.filter { $0.track == TestPackets.video }
        #expect(pictures.count < 2000)
        for (earlier, later) in zip(pictures, pictures.dropFirst())
        where later.sequenceNumber != earlier.sequenceNumber + 1 {
            #expect(later.isKeyFrame)
        }
        #expect((publisher.statistics.outputs[1].passedOn?.packetsDropped ?? 0) > 0)
        publisher.close()
    }

    @Test func limitsCountPictures() throws {
        let publisher = publisher(TestPackets(pacing: .unpaced)) { $0.maximumFrames = 12 }
        let output = Keeper()
        try publisher.add(output)
        let log = RunLog(publisher)
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        #expect(output.packets.count { $0.track == TestPackets.video } == 12)
        publisher.close()
    }

    /// A stop while a file takes nothing does not wait for the capture, which waits for the file.
    @Test func aStopEndsTheWaitForAFile() throws {
        let isOpen = Locked(false)
        let publisher = publisher(TestPackets(pacing: .unpaced, hasSound: false))
        let hasBegun = Locked(false)
        let output = Keeper(sound: nil) { _ in
            hasBegun.withLock { $0 = true }
            hasBegun.wakeAll()
            _ = isOpen.wait(until: RunLog.limit) { $0 ? () : nil }
        }
        try publisher.add(output)
        try publisher.start()
        // An output that got nothing is discarded, too.
        #expect(hasBegun.wait(until: RunLog.limit) { $0 ? () : nil } != nil)
        let isStopped = Locked(false)
        try CaptureThread(name: "stop") {
            try? publisher.stop()
            isStopped.withLock { $0 = true }
            isStopped.wakeAll()
        }
        let limit = RunLog.limit
        while publisher.video.capture.isCaptureStarted, MonotonicClock().now < limit {
            _ = isStopped.wait(until: MonotonicClock().now.advanced(by: .milliseconds(5))) { $0 ? () : nil }
        }
        #expect(!publisher.video.capture.isCaptureStarted)
        isOpen.withLock { $0 = true }
        isOpen.wakeAll()
        #expect(isStopped.wait(until: RunLog.limit) { $0 ? () : nil } != nil)
        #expect(output.calls == ["open", "finish", "close"])
    }
}
