import MediaPublishing
import PacketCapturing
import TestTools
import Testing
import VideoCapturing

/// Packets that are passed on to an output whose receivers come and go.
@Suite struct PassedReceiverTests {
    /// A place for receivers.
    private final class Hall: MediaOutput {
        let feed: OutputContext.Feed
        let audioFeed: OutputContext.AudioFeed?
        private let context = Locked<OutputContext?>(nil)

        init(sound: [Codec] = [.opus], maximumBitrate: Int? = nil) {
            var feed = OutputContext.Feed.PacketFeed(codecs: [.h264], purpose: .live, needsOwnEncoder: true)
            feed.servesReceivers = true
            feed.takesReorderedPictures = false
            feed.maximumBitrate = maximumBitrate
            self.feed = .packets(feed)
            audioFeed = .packets(sound)
        }

        var name: String { "hall" }
        var kind: String { "hall" }
        var outputStatistics: OutputStatistics { OutputStatistics(bytes: 1) }
        var passedTracks: [Codec] { context.withLock { $0?.passedTracks ?? [] }.map(\.codec) }

        func open(_ context: OutputContext) -> OutputContext.Destination {
            self.context.withLock { $0 = context }
            return .receivers
        }

        func enter(_ guest: ReceiverSink, _ name: String) -> Bool {
            context.withLock { $0 }?.addReceiver(guest, name) ?? false
        }
        func leave(_ name: String) { context.withLock { $0 }?.removeReceiver(name) }
    }

    private func publisher(_ source: sending TestPackets) -> MediaPublisher {
        var settings = MediaPublisher.Settings()
        settings.pacing = .playback(isPaced: source.pacing == .clock)
        return MediaPublisher(packets: PacketSourceCapturer(source), settings: settings)
    }

    @Test(arguments: [false, true]) func receiversComeAndGo(makesKeyFrames: Bool) throws {
        let publisher = publisher(TestPackets(makesKeyFrames: makesKeyFrames))
        let hall = Hall()
        try publisher.add(hall)
        try publisher.start()
        #expect(hall.passedTracks == [.h264, .opus])
        let guests = (0..<6).map { _ in ReceiverSink() }
        for (number, guest) in guests.enumerated() {
            #expect(hall.enter(guest, "\(number)"))
            try guest.wait(for: 7 * number)
        }
        for (number, guest) in guests.enumerated().dropLast() {
            hall.leave("\(number)")
            try guest.waitForEnd()
        }
        try guests[5].wait(for: guests[5].packets.count + 40)
        try publisher.stop()
        try guests[5].waitForEnd()
        #expect(!hall.enter(ReceiverSink(), "late"))
        for guest in guests {
            #expect(guest.packets.isEmpty || guest.tracks == [.h264, .opus])
            #expect(guest.check() <= (makesKeyFrames ? 0 : 1))
        }
        #expect(guests[5].packets.contains { $0.track == TestPackets.sound })
        #expect(publisher.statistics.outputs.map { $0.passedOn?.tracks } == [[.h264, .opus]])
        publisher.close()
    }

    /// Where no key frame can be had, the pictures since the last one come again: once for many requests.
    @Test func picturesSinceTheLastKeyFrameComeAgain() throws {
        let publisher = publisher(TestPackets(interval: .milliseconds(2), hasSound: false))
        let hall = Hall()
        try publisher.add(hall)
        try publisher.start()
        let guest = ReceiverSink()
        #expect(hall.enter(guest, "a"))
        try guest.wait(for: 10)
        for _ in 0..<200 {
            guest.requestKeyFrame()
            try guest.wait(for: guest.packets.count + 1)
        }
        let length = (guest.pictures.last?.timestamp).flatMap { last in guest.pictures.first.map { last - $0.timestamp }
        }
        try publisher.stop()
        let repeats = guest.check()
        #expect(repeats <= 2 + Int((try #require(length)).seconds))
        publisher.close()
    }

    @Test func soundOfAnotherCodecIsLeftOut() throws {
        let publisher = publisher(TestPackets())
        let hall = Hall(sound: [.aac])
        try publisher.add(hall)
        let log = RunLog(publisher)
        try publisher.start()
        #expect(hall.passedTracks == [.h264])
        let guest = ReceiverSink()
        #expect(hall.enter(guest, "a"))
        try guest.wait(for: 20)
        try publisher.stop()
        #expect(guest.packets.allSatisfy { $0.track == TestPackets.video })
        #expect(log.warnings.contains { $0.hasPrefix("hall has no sound: hall takes sound as aac, and here is opus") })
        publisher.close()
    }

    /// Without a decoder there is nothing else to show.
    @Test(arguments: [true, false]) func whatPlayersDoNotShowIsNotPassedOn(isReordered: Bool) throws {
        let publisher = publisher(TestPackets(isReordered: isReordered))
        try publisher.add(Hall(maximumBitrate: isReordered ? nil : 500_000))
        let error = #expect(throws: OptionError.self) { try publisher.open() }
        let words = isReordered ? "out of order (B-frames)" : "has a maximum bitrate"
        #expect("\(try #require(error))".contains(words))
        publisher.close()
    }
}

extension ReceiverSink {
    fileprivate var pictures: [MediaPacket] { packets.filter { $0.track == TestPackets.video } }

    /// Checks that what it got decodes, at times that increase.
    ///
    /// - Returns: how often it got pictures again.
    fileprivate func check() -> Int {
        var repeats = 0
        for (earlier, later) in zip(pictures, pictures.dropFirst()) {
            #expect(earlier.timestamp < later.timestamp || later.isKeyFrame && earlier.timestamp == later.timestamp)
            #expect(later.isKeyFrame || later.sequenceNumber == earlier.sequenceNumber + 1)
            if later.sequenceNumber <= earlier.sequenceNumber { repeats += 1 }
        }
        #expect(pictures.first?.isKeyFrame ?? true)
        return repeats
    }
}
