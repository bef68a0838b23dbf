import TestTools
import Testing
import VideoCapturing

@testable import RTPOutput

/// What receivers ask for, and what is done about it.
@Suite(.serialized) struct FeedbackTests {
    /// What was asked of the encoder.
    private struct Asked {
        var keyFrames = 0
        var bitrates: [Int?] = []
    }

    /// An output that has sent a frame to a peer that has a report.
    private struct Session {
        let peer: TestPeer
        let output: RTPOutput
        let asked = Locked(Asked())
        let source: UInt32

        init(_ change: (inout RTPOutput.Configuration) -> Void = { _ in }) throws {
            peer = try TestPeer()
            var configuration = RTPOutput.Configuration()
            change(&configuration)
            output = try RTPOutput(peer.url(), configuration: configuration)
            let asked = asked
            output.connectFeedback(
                PacketFeedback(
                    onKeyFrame: { asked.withLock { $0.keyFrames += 1 } },
                    onBitrate: { bitrate in asked.withLock { $0.bitrates.append(bitrate) } },
                    maximumBitrate: { 4_000_000 }))
            try output.begin([Sample.track])
            try output.write(Sample.packet(0))
            let peer = peer
            let hasArrived = eventually { !peer.packets.isEmpty && !peer.reportsReceived.isEmpty }
            guard hasArrived, let source = peer.source else { throw NoConnection(code: 0) }
            self.source = source
        }
    }

    @Test func keyFramesAreLimited() throws {
        let session = try Session { $0.keyFrameInterval = .seconds(3600) }
        for _ in 0..<100 { session.peer.answer(Message.pictureLoss(session.source)) }
        #expect(eventually { session.output.statistics.keyFrameRequests == 100 })
        #expect(session.asked.withLock { $0.keyFrames } == 1 && session.output.statistics.keyFramesAsked == 1)
        session.output.finish()
    }

    @Test func aRequestThatIsTooSoonIsKept() throws {
        let session = try Session { $0.keyFrameInterval = .milliseconds(200) }
        session.peer.answer(Message.pictureLoss(session.source))
        #expect(eventually { session.asked.withLock { $0.keyFrames } == 1 })
        session.peer.answer(Message.pictureLoss(session.source))
        #expect(eventually { session.asked.withLock { $0.keyFrames } == 2 })
        session.output.finish()
    }

    @Test func lostPacketsAreSentAgain() throws {
        let session = try Session()
        let packet = try #require(session.peer.packets.first)
        session.peer.answer(Message.lost(session.source, Array(packet[2..<4])))
        #expect(eventually { session.peer.packets.count { $0 == packet } == 2 })
        #expect(session.output.statistics.packetsResent == 1 && session.output.statistics.packetsAsked == 1)
        // What was never sent is not there.
        session.peer.answer(Message.lost(session.source, [packet[2] ^ 0x40, packet[3]]))
        #expect(eventually { session.output.statistics.packetsAsked == 2 })
        #expect(session.output.statistics.packetsResent == 1)
        session.output.finish()
    }

    @Test func estimatesAreAskedOfTheEncoder() throws {
        let session = try Session { $0.estimateTimeout = .milliseconds(300) }
        session.peer.answer(Message.estimate(500))
        #expect(eventually { session.asked.withLock { $0.bitrates.first == 512_000 } })
        // Nothing more comes, so it no longer counts.
        #expect(eventually { session.asked.withLock { $0.bitrates } == [512_000, nil] })
        #expect(session.output.statistics.bitrateLimit == nil)
        session.output.finish()
    }

    @Test func smallChangesAreNoChanges() throws {
        let session = try Session { $0.estimateTimeout = .seconds(3600) }
        for thousands: UInt16 in [500, 510, 495, 505, 800] { session.peer.answer(Message.estimate(thousands)) }
        #expect(eventually { session.asked.withLock { $0.bitrates.last == 819_200 } })
        // Those that are read together are asked for together.
        #expect(session.asked.withLock { $0.bitrates.count } <= 2)
        #expect(session.output.statistics.bitrateLimit == 819_200)
        session.output.finish()
    }

    @Test func garbageIsIgnored() throws {
        let session = try Session()
        session.peer.answer([1, 2, 3])
        session.peer.answer([0x81, 206, 0xFF, 0xFF] + Array(repeating: 0, count: 40))
        session.peer.answer(Array(repeating: 0x80, count: 9000))
        #expect(eventually { session.output.statistics.messagesIgnored == 3 })
        session.peer.answer(Message.pictureLoss(session.source &+ 1))
        session.peer.answer(Message.pictureLoss(session.source))
        #expect(eventually { session.output.statistics.keyFrameRequests == 1 })
        session.output.finish()
    }

    @Test func nothingIsAskedAfterTheEnd() throws {
        let session = try Session()
        session.output.finish()
        session.peer.answer(Message.pictureLoss(session.source))
        #expect(session.asked.withLock { $0.keyFrames } == 0 && session.output.statistics.keyFrameRequests == 0)
    }
}
