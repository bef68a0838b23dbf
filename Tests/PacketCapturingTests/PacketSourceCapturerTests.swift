import CapturerTestKit
import PacketCapturing
import TestTools
import Testing

/// What a capturer makes of a source: numbers, times, losses, key frames on request.
@Suite struct PacketSourceCapturerTests {
    private final class Recorder: PacketCaptureConsumer {
        private let contents = Locked<[MediaPacket]>([])
        var packets: [MediaPacket] { contents.withLock { $0 } }

        func consumePacket(_ packet: MediaPacket) {
            contents.withLock { $0.append(packet) }
            contents.wakeAll()
        }

        func wait(for count: Int) throws {
            let limit = MonotonicClock().now.advanced(by: .seconds(60))
            try #require(contents.wait(until: limit) { $0.count >= count ? () : nil } != nil)
        }
    }

    /// Runs a source to its end.
    private func run(
        _ source: sending some PacketSource
    ) async throws -> (packets: [MediaPacket], capture: PacketSourceCapturer) {
        let capture = PacketSourceCapturer(source)
        let recorder = Recorder()
        capture.packetCaptureConsumer = recorder
        let changes = capture.stateChanges()
        try capture.initCapture()
        try capture.startCapture()
        for await change in changes { if case .stopped = change.new { break } }
        capture.releaseCapture()
        return (recorder.packets, capture)
    }

    /// The program of the doc comment.
    private struct SlideShow: PacketSource {
        let slides: [[UInt8]]
        var number = 0
        let settings = PacketSettings(
            tracks: [TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 640, height: 480)))],
            sourceName: "slides")
        var pacing: PacketPacing { .unpaced }

        mutating func nextPacket(_ context: PacketContext) -> MediaPacket? {
            guard number < slides.count else { return nil }
            defer { number += 1 }
            return MediaPacket(
                data: context.makeBuffer(copying: slides[number]), timestamp: .zero + .seconds(number),
                duration: .seconds(1), width: 640, height: 480)
        }
    }

    @Test func aSourceInTwentyLines() async throws {
        let before = MonotonicClock().now
        let (packets, capture) = try await run(SlideShow(slides: [[1], [2, 2], [3, 3, 3]]))
        #expect(packets.map { $0.data.count } == [1, 2, 3])
        #expect(packets.map(\.sequenceNumber) == [0, 1, 2])
        let first = try #require(packets.first?.timestamp)
        #expect(first >= before)
        #expect(packets.map { $0.timestamp - first } == [.zero, .seconds(1), .seconds(2)])
        #expect(capture.statistics.tracks.map(\.bytesDelivered) == [6])
        #expect(capture.state == .idle)
    }

    /// Packets that need a lost one are counted, and have numbers.
    @Test func aLossEndsAtAKeyFrame() async throws {
        let (packets, capture) = try await run(
            TestPackets(count: 20, pacing: .unpaced, hasSound: false, lossEvery: 8))
        let counts = try #require(capture.statistics.tracks.first)
        // Before the pictures 7 and 15, of groups of five: 7 to 9, and none of a group that begins with 15.
        #expect(counts.packetsLost.source == 2)
        #expect(counts.packetsLost.undecodable == 3)
        #expect(counts.packetsDelivered == 17)
        for (earlier, later) in zip(packets, packets.dropFirst())
        where later.sequenceNumber != earlier.sequenceNumber + 1 {
            #expect(later.isKeyFrame)
        }
        #expect(packets.last?.sequenceNumber == 21)
    }

    /// A recording that begins again in the middle, or goes on much later, has no gap there, and both tracks are in step.
    @Test(arguments: [nil, 0, 5, 50_000]) func timesGoOnWhereTheyStep(pause: Int?) async throws {
        let interval = Duration.milliseconds(400)
        let (packets, _) = try await run(
            TestPackets(
                count: 20, pacing: .unpaced, interval: interval, stepBackAt: pause == nil ? 10 : nil,
                pause: pause.map { (at: 10, length: .seconds($0)) }))
        // A step of more than ten seconds is no pause.
        let longest = pause == 5 ? interval + .seconds(5) : interval
        for track in [TestPackets.video, TestPackets.sound] {
            let times = packets.filter { $0.track == track }.map { $0.decodeTimestamp ?? $0.timestamp }
            #expect(times.count == 20)
            for (index, (earlier, later)) in zip(times, times.dropFirst()).enumerated() {
                #expect(later - earlier == (index == 9 ? longest : interval), "\(track): \(index)")
            }
        }
        let both = zip(packets.filter { $0.track == 0 }, packets.filter { $0.track == 1 })
        #expect(both.allSatisfy { $0.decodeTimestamp == $1.timestamp })
    }

    /// Pictures of a camera that was away for a minute, and sound that went on.
    private struct Interrupted: PacketSource {
        let settings: PacketSettings
        var pacing: PacketPacing { .unpaced }
        /// Each with its track, in tenths of a second.
        var times: [(track: TrackID, time: Int)]

        init() {
            settings = TestPackets(count: 1).settings
            times = (0...700).flatMap { time -> [(TrackID, Int)] in
                let sound = (TestPackets.sound, time)
                return time < 50 || time > 650 ? [(TestPackets.video, time), sound] : [sound]
            }
        }

        mutating func nextPacket(_ context: PacketContext) -> MediaPacket? {
            guard !times.isEmpty else { return nil }
            let (track, time) = times.removeFirst()
            return MediaPacket(
                data: context.makeBuffer(copying: [1]), track: track, timestamp: .zero + .milliseconds(100 * time),
                duration: .milliseconds(100), isKeyFrame: true, width: 64, height: 48)
        }
    }

    @Test func aTrackThatWasSilentStaysInStep() async throws {
        let source = Interrupted()
        let expected = source.times.map { Duration.milliseconds(100 * $0.time) }
        let (packets, _) = try await run(source)
        let first = try #require(packets.first?.timestamp)
        #expect(packets.map { $0.timestamp - first } == expected)
    }

    @Test func keyFramesOnRequest() throws {
        let capture = PacketSourceCapturer(TestPackets(hasSound: false, makesKeyFrames: true))
        #expect(!capture.requestKeyFrame(), "It is not known before it is open.")
        let recorder = Recorder()
        capture.packetCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        try recorder.wait(for: 2)
        // Often enough that one comes within a group.
        for count in stride(from: 3, to: 40, by: 1) {
            #expect(capture.requestKeyFrame())
            try recorder.wait(for: count)
        }
        capture.releaseCapture()
        let numbers = recorder.packets.filter(\.isKeyFrame).map(\.sequenceNumber)
        #expect(numbers.contains { $0 % UInt64(TestPackets.groupLength) != 0 }, "\(numbers)")
    }

    @Test func aPacketOfNoTrackEndsTheCapture() async throws {
        struct Stranger: PacketSource {
            let settings = PacketSettings(
                tracks: [TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 2, height: 2)))])
            func nextPacket(_ context: PacketContext) -> MediaPacket? {
                MediaPacket(data: context.makeBuffer(copying: [1]), track: 5, timestamp: context.now)
            }
        }
        let capture = PacketSourceCapturer(Stranger())
        let changes = capture.stateChanges()
        try capture.initCapture()
        try? capture.startCapture()
        for await change in changes {
            guard case .stopped(let reason) = change.new else { continue }
            #expect(reason.error?.code == .invalidConfiguration)
            #expect(reason.error?.message.contains("track 5") == true)
            break
        }
    }
}
