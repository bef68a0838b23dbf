import CaptureCore
import CapturerTestKit
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import WebRTCPublisher

/// An output whose endpoint has a real receiver behind it.
@Suite struct OutputTests {
    private static let track = TrackDescription(id: 0, codec: .vp8, media: .video(.init(width: 64, height: 48)))

    private static func packet(_ number: Int, at time: MediaTime, isKeyFrame: Bool) -> MediaPacket {
        let bytes = (0..<400).map { UInt8(truncatingIfNeeded: $0 &+ number) }
        return MediaPacket(
            data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, track: 0, timestamp: time,
            isKeyFrame: isKeyFrame,
            width: 64, height: 48)
    }

    /// An output, and a thread that writes packets to it until the end: key frames where these are asked for.
    private final class Run: Sendable {
        let endpoint: ReceivingEndpoint
        let output: WHIPOutput
        private let asked = Locked(0)
        private let isOver = Locked(false)
        private let states = Locked<[WebRTCOutput.State]>([])

        init(_ restart: ReceivingEndpoint.Restart) throws {
            endpoint = ReceivingEndpoint(restart)
            output = try WHIPOutput(endpoint.url)
            output.connectFeedback(
                PacketFeedback(onKeyFrame: { [asked] in asked.withLock { $0 += 1 } }, onBitrate: { _ in }))
            let (output, asked, isOver, states) = (output, asked, isOver, states)
            let stream = output.states
            Task { for await state in stream { states.withLock { $0.append(state) } } }
            try output.begin([OutputTests.track])
            startThread {
                var (number, answered) = (0, 0)
                while !isOver.withLock({ $0 }) {
                    let keys = asked.withLock { $0 }
                    try? output.write(
                        OutputTests.packet(number, at: MonotonicClock().now, isKeyFrame: keys > answered))
                    (number, answered) = (number + 1, keys)
                    MonotonicClock().wait(
                        until: MonotonicClock().now.advanced(by: .milliseconds(20)), or: ManualResetEvent())
                }
            }
        }

        var keyFramesAsked: Int { asked.withLock { $0 } }
        var words: [String] {
            states.withLock { $0 }.map { state in String("\(state)".prefix { $0 != "(" }) }
        }

        func end() {
            isOver.withLock { $0 = true }
            output.finish()
            endpoint.stop()
        }
    }

    /// No datagram passes until the peer, which has sent reports, is given up, which takes ten seconds: the three at a time. Of a fourth one only the
    /// checks are lost, as a lossy link loses some in a row: its reports show that it is there.
    @Test func `A path that is lost is found again, or another session is begun`() throws {
        let lossy = try Run(.succeeds)
        defer { lossy.end() }
        let runs = [
            try Run(.succeeds), try Run(.isRefused("405 Method Not Allowed")), try Run(.leadsNowhere),
        ]
        defer { for run in runs { run.end() } }
        for run in runs + [lossy] {
            #expect(eventually { run.endpoint.frames > 10 && run.endpoint.reports > 5 }, "\(run.words)")
        }
        lossy.endpoint.dropChecks()
        let frames = runs.map(\.endpoint.frames)
        let asked = runs.map(\.keyFramesAsked)
        for run in runs { run.endpoint.cut() }
        for (index, run) in runs.enumerated() {
            #expect(eventually { run.output.statistics.reconnects == 1 }, "\(run.words)")
            #expect(
                eventually { run.endpoint.frames > frames[index] + 50 && run.output.state == .live }, "\(run.words)")
            // It goes on with a key frame that was asked for.
            #expect(run.keyFramesAsked > asked[index])
            #expect(run.endpoint.matches == ["\"*\""])
            // States come by a task.
            #expect(eventually { run.words.contains("reconnecting") })
        }
        // The first one has the session that it had; the others have ended it and begun another one.
        #expect(runs[0].endpoint.methods == ["POST", "PATCH"])
        #expect(runs[1].endpoint.methods == ["POST", "PATCH", "DELETE", "POST"])
        #expect(runs[2].endpoint.methods == ["POST", "PATCH", "DELETE", "POST"])
        let last = lossy.endpoint.frames
        #expect(eventually { lossy.endpoint.frames > last + 50 })
        #expect(lossy.output.statistics.reconnects == 0 && lossy.endpoint.methods == ["POST"], "\(lossy.words)")
    }

    /// A sound that the server does not take is no silent success.
    @Test func `What the server does not take is said`() throws {
        let endpoint = ReceivingEndpoint()
        defer { endpoint.stop() }
        let output = try WHIPOutput(endpoint.url)
        let warnings = Locked<[String]>([])
        _ = try output.open(
            OutputContext(
                format: VideoFormat(.i420, width: 64, height: 48),
                warn: { text in warnings.withLock { $0.append(text) } }))
        let sound = TrackDescription(id: 1, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2)))
        try output.begin([OutputTests.track, sound])
        #expect(eventually { output.state == .live })
        try output.write(OutputTests.packet(0, at: MonotonicClock().now, isKeyFrame: true))
        #expect(output.statistics.refusals == ["audio: the answer has no section for the audio"])
        #expect(output.outputStatistics.details.contains { $0.name == "refusals" && $0.value.text.contains("audio:") })
        let error = #expect(throws: CaptureError.self) { try output.close(at: nil) }
        #expect(error?.message == "The sound was never taken: the answer has no section for the audio.")
        let said = warnings.withLock { $0 }
        #expect(said.count == 1 && said[0].contains("does not take the sound, which is not published"), "\(said)")
    }

    /// It would be as wrong each time, and the server makes and ends a session with each.
    @Test(arguments: [
        WHIPServer.sdp + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=recvonly\r\na=rtpmap:96 VP8/90000\r\n", "<html>",
    ])
    func `An answer that stays wrong is asked for twice`(body: String) throws {
        let server = WHIPServer(WHIPServer.accept(["Location: /r"], body: body))
        defer { server.stop() }
        let output = try WHIPOutput(server.url)
        try output.begin([OutputTests.track])
        #expect(eventually { if case .ended(_?) = output.state { true } else { false } })
        #expect(server.requests == ["POST /whip/room", "DELETE /r", "POST /whip/room", "DELETE /r"])
        output.finish()
    }

    @Test func `The end does not wait for a STUN server that does not answer`() throws {
        let silent = try DatagramRelay(to: 9)
        silent.isCut = true
        var configuration = WebRTCOutput.Configuration()
        configuration.iceServers = ["stun:127.0.0.1:\(silent.port)"]
        let endpoint = ReceivingEndpoint()
        defer { endpoint.stop() }
        let output = try WHIPOutput(endpoint.url, configuration: configuration)
        try output.begin([OutputTests.track])
        #expect(eventually { output.state == .connecting })
        MonotonicClock().wait(until: MonotonicClock().now.advanced(by: .milliseconds(300)), or: ManualResetEvent())
        // It may take ten seconds.
        #expect(Stopwatch.time { output.finish() } < .seconds(5))
        #expect(endpoint.methods.isEmpty)
    }

    /// A frame of more packets than may wait: those that are left out are in the statistics.
    @Test func `Packets that are left out are counted`() throws {
        let endpoint = ReceivingEndpoint()
        defer { endpoint.stop() }
        let output = try WHIPOutput(endpoint.url)
        try output.begin([OutputTests.track])
        #expect(eventually { output.state == .live })
        var packet = OutputTests.packet(0, at: MonotonicClock().now, isKeyFrame: true)
        packet.data = [UInt8](repeating: 1, count: 12_000_000).withUnsafeBytes { PacketBuffer(copying: $0) }
        try output.write(packet)
        #expect(eventually { output.statistics.packetsDropped > 0 })
        let details = output.outputStatistics.details
        #expect(details.first { $0.name == "packetsDropped" }?.value.text == "\(output.statistics.packetsDropped)")
        #expect(details.first { $0.name == "packetsUnsent" }?.value.text == "\(output.statistics.packetsUnsent)")
        output.finish()
    }

    /// The output is begun once its peer receives, since what comes before is left out.
    private final class ConnectedSink: PacketSink {
        private let output: WHIPOutput

        init(_ output: WHIPOutput) { self.output = output }

        func begin(_ tracks: [TrackDescription]) throws {
            try output.begin(tracks)
            #expect(eventually { self.output.state == .live })
        }

        func write(_ packet: MediaPacket) throws { try output.write(packet) }
        func finish() throws { output.finish() }
    }

    @Test func `The contract of sinks`() throws {
        let refused = [
            TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 64, height: 48))),
            TrackDescription(id: 0, codec: .pcm, media: .audio(.init(sampleRate: 48_000, channelCount: 1))),
        ]
        let endpoints = Locked<[ReceivingEndpoint]>([])
        defer { for endpoint in endpoints.withLock({ $0 }) { endpoint.stop() } }
        let suite = PacketSinkSuite(
            tracks: [OutputTests.track], refused: refused,
            makePacket: { track, number in
                // 5 ms apart: what is older than a second is left out.
                var packet = OutputTests.packet(
                    number, at: MediaTime(nanoseconds: 5_000_000_000 + Int64(number) * 5_000_000),
                    isKeyFrame: number % 10 == 0)
                packet.track = track.id
                return packet
            },
            makeTrial: {
                let endpoint = ReceivingEndpoint()
                endpoints.withLock { $0.append(endpoint) }
                return PacketSinkSuite.Trial(sink: ConnectedSink(try WHIPOutput(endpoint.url))) {
                    // What was sent before the end arrives before it.
                    let isOver = endpoint.methods.isEmpty || eventually { endpoint.hasEnded }
                    return isOver ? endpoint.frames : -1
                }
            })
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }
}
