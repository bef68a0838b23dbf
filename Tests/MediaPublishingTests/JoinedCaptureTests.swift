import CapturerTestKit
import MediaPublishing
import NoiseCapturer
import OpusCodec
import PacketCapturing
import TestTools
import Testing
import ToneCapturer
import VP8Codec
import VideoCapturing

/// The packets of several publishers as one capture.
@Suite struct JoinedCaptureTests {
    private static func noise(frames: UInt64? = nil, hasSound: Bool = false) -> MediaPublisher {
        var settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
        settings.maximumFrames = frames
        return MediaPublisher(
            video: NoiseCapturer(format: .i420(width: 64, height: 48), frameRate: 50),
            audio: hasSound ? ToneCapturer() : nil, settings: settings)
    }

    private static func packets(_ count: Int?, pacing: PacketPacing = .unpaced, failsAt: Int? = nil) -> MediaPublisher {
        var settings = MediaPublisher.Settings()
        settings.pacing = .playback(isPaced: pacing == .clock)
        return MediaPublisher(
            packets: PacketSourceCapturer(TestPackets(count: count, pacing: pacing, failsAt: failsAt)),
            settings: settings)
    }

    /// A publisher of a joined capture, with an output that keeps all of it.
    private func run(_ joined: JoinedCapture, until isDone: (ProbeLog) throws -> Void = { _ in }) throws -> (
        ProbeLog, MediaPublisher.Event.End
    ) {
        let publisher = MediaPublisher(packets: joined)
        let output = ProbeLog()
        try publisher.add(output)
        let log = RunLog(publisher)
        try publisher.start()
        try isDone(output)
        let end = try log.waitForEnd()
        try publisher.stop()
        publisher.close()
        return (output, end)
    }

    @Test func twoCamerasAndAMicrophone() throws {
        let joined = JoinedCapture { [Self.noise(frames: 40, hasSound: true), Self.noise(frames: 25)] }
        let (output, end) = try run(joined)
        #expect(end == .captureStopped(.endOfStream))
        #expect(output.tracks == [.vp8, .opus, .vp8])
        let counts = output.counts
        #expect(counts[0] == 40 && counts[2] == 25)
        #expect(counts[1] > 30)
        #expect(output.decodeTimesIncrease)
    }

    /// All of it, although the recordings are read faster than they are written, and end at different times.
    @Test func nothingOfRecordingsIsLost() throws {
        let joined = JoinedCapture { [Self.packets(1000), Self.packets(3), Self.packets(400)] }
        let (output, end) = try run(joined)
        #expect(end == .captureStopped(.endOfStream))
        #expect(output.tracks == [.h264, .opus, .h264, .opus, .h264, .opus])
        #expect(output.counts == [1000, 1000, 3, 3, 400, 400])
        #expect(output.decodeTimesIncrease)
    }

    @Test func aPartThatFailsHarmsNoOther() throws {
        let joined = JoinedCapture { [Self.packets(500, failsAt: 10), Self.packets(500)] }
        let (output, end) = try run(joined)
        guard case .captureStopped(.error(let error)) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(error.message.contains("fails on purpose"))
        #expect(output.counts[0] == 10 && output.counts[2] == 500)
    }

    /// A camera that is slow to open delays no other.
    @Test func partsOpenAtTheSameTime() throws {
        let opened = Locked(0)
        let joined = JoinedCapture {
            (0..<3).map { _ in
                MediaPublisher(packets: PacketSourceCapturer(MeetingPackets(opened: opened, others: 3)))
            }
        }
        #expect(try run(joined).0.counts == [20, 20, 20, 20, 20, 20])
    }

    @Test func whatHasNoTracksIsAnError() throws {
        for joined in [
            JoinedCapture { throw MediaFileFailure() },
            // One that opens, so that its tracks are known, and does not start.
            JoinedCapture {
                let opened = Locked(0)
                return [
                    Self.packets(nil, pacing: .clock),
                    MediaPublisher(
                        packets: PacketSourceCapturer(MeetingPackets(opened: opened, others: 1, fails: true))),
                ]
            },
            JoinedCapture {
                [Self.packets(5), MediaPublisher(video: NoiseCapturer(format: .i420(width: 64, height: 48)))]
            },
        ] {
            #expect(throws: CaptureError.self) { try joined.initCapture() }
            #expect(joined.state == .idle)
        }
    }

    private struct MediaFileFailure: Error {}

    @Test func itKeepsTheContract() async {
        for parts in [{ [Self.packets(nil, pacing: .clock), Self.noise()] }, { [Self.packets(nil, pacing: .clock)] }]
            as [@Sendable () -> [MediaPublisher]]
        {
            var suite = PacketConformanceSuite(name: "joined") { JoinedCapture(makeParts: parts) }
            suite.ownEndTimeout = .milliseconds(100)
            for rule in PacketConformanceSuite.Rule.allCases {
                let check = await suite.checkDetached(rule)
                #expect(!check.isFailure, "\(check)")
            }
        }
    }
}

/// Packets of a source that opens once as many others do, and may not start.
private struct MeetingPackets: PacketSource {
    let opened: Locked<Int>
    let others: Int
    let fails: Bool
    private var packets = TestPackets(count: 20)

    init(opened: Locked<Int>, others: Int, fails: Bool = false) {
        self.opened = opened
        self.others = others
        self.fails = fails
    }

    var settings: PacketSettings { packets.settings }
    var pacing: PacketPacing { packets.pacing }

    func open(_ context: PacketContext) throws {
        opened.withLock { $0 += 1 }
        opened.wakeAll()
        let isMet = opened.wait(until: context.now.advanced(by: .seconds(20))) { $0 >= others ? true : nil }
        guard isMet == true else { throw CaptureError(.stalled, operation: "meet", message: "No other is opened.") }
    }

    mutating func start(_ context: PacketContext) throws {
        guard !fails else { throw CaptureError(.deviceBusy, operation: "start", message: "It is busy.") }
        packets.start(context)
    }

    mutating func nextPacket(_ context: PacketContext) throws -> MediaPacket? { try packets.nextPacket(context) }
}

/// An output that counts what it gets.
private final class ProbeLog: MediaOutput, PacketSink {
    private struct State {
        var tracks: [TrackDescription] = []
        var packets: [MediaPacket] = []
    }
    private let state = Locked(State())

    let feed = OutputContext.Feed.packets(.init(codecs: [.h264, .vp8]))
    let audioFeed: OutputContext.AudioFeed? = .packets([.opus])
    var name: String { "log" }
    var kind: String { "log" }
    var outputStatistics: OutputStatistics { OutputStatistics(bytes: 1) }

    var tracks: [Codec] { state.withLock { $0.tracks.map(\.codec) } }
    /// The packets of each track.
    var counts: [Int] {
        state.withLock { state in state.tracks.map { track in state.packets.count { $0.track == track.id } } }
    }
    var decodeTimesIncrease: Bool {
        let (tracks, packets) = state.withLock { ($0.tracks, $0.packets) }
        return tracks.allSatisfy { track in
            let times = packets.filter { $0.track == track.id }.map { $0.decodeTimestamp ?? $0.timestamp }
            return zip(times, times.dropFirst()).allSatisfy { $0 < $1 }
        }
    }

    func open(_ context: OutputContext) -> OutputContext.Destination { .sink(self) }
    func begin(_ tracks: [TrackDescription]) { state.withLock { $0.tracks = tracks } }
    func write(_ packet: MediaPacket) { state.withLock { $0.packets.append(packet) } }
    func finish() {}
}
