import CaptureCore
import Testing

@testable import RTP

/// Lost packets, and what is sent again.
@Suite struct ResendTests {
    private let clock = NTPClock(wallClock: .seconds(1_000_000), at: .zero)

    private func time(_ milliseconds: Int64) -> MediaTime { MediaTime(nanoseconds: milliseconds * 1_000_000) }

    private func sender(
        _ resending: RTPSender.Resending, bitrate: Int = 2_500_000,
        _ change: (inout RTPSender.Configuration) -> Void = { _ in }
    ) -> RTPSender {
        var configuration = RTPSender.Configuration.known()
        configuration.resending = resending
        configuration.maximumBitrate = bitrate
        change(&configuration)
        return RTPSender(configuration, clock: clock)
    }

    @Test func inAStreamOfTheirOwn() throws {
        let sender = sender(.rtx(payloadType: 97, ssrc: 0x5566_7788)) {
            $0.extensions = RTPExtensionIDs(mid: 1, transportNumber: 3)
            $0.mid = "0"
        }
        let original = try #require(ReadPacket(sender.packets(of: frame([1, 2, 3]), at: time(0))[0]))
        let again = try #require(sender.resent([0x7FFE], at: time(30)).first)
        let resent = try #require(ReadPacket(again))
        #expect(resent.payloadType == 97 && resent.ssrc == 0x5566_7788 && resent.sequenceNumber == 0x0100)
        #expect(resent.timestamp == original.timestamp && resent.isMarked)
        // RFC 4588, 4: the original number, then the original payload.
        #expect(resent.payload == [0x7F, 0xFE] + original.payload)
        #expect(resent.extensions == [1: Array("0".utf8), 3: [0, 0]])
        let second = try #require(ReadPacket(sender.resent([0x7FFE], at: time(60))[0]))
        #expect(second.sequenceNumber == 0x0101)
        #expect(sender.statistics.packetsResent == 2 && sender.statistics.nacks == 2)
        #expect(sender.statistics.packets == 1, "retransmissions are counted apart")
    }

    @Test func fullPacketsHaveRoomForTheNumber() throws {
        let sender = sender(.rtx(payloadType: 97, ssrc: 5)) { $0.trailerSize = 16 }
        let packets = sender.packets(of: frame(numbered(50_000)), at: time(0))
        let numbers = packets.compactMap { ReadPacket($0)?.sequenceNumber }
        let again = sender.resent(Array(numbers.prefix(60)), at: time(1))
        #expect(again.count == packets.count && (packets + again).allSatisfy { $0.count <= 1200 - 16 })
    }

    /// What only fills a probe is the newest packet in the stream of retransmissions, which receivers leave out.
    @Test func paddingIsTheNewestPacketAgain() throws {
        let sender = sender(.rtx(payloadType: 97, ssrc: 5)) { $0.extensions = RTPExtensionIDs(transportNumber: 3) }
        var memory = [UInt8](repeating: 0, count: 1200)
        func padding(at milliseconds: Int64) -> [UInt8]? {
            memory.withUnsafeMutableBytes { memory in
                guard let packet = sender.writePadding(into: memory, at: time(milliseconds)) else { return nil }
                return packet.stamps.transportNumberIndex > 0 ? Array(packet.bytes) : []
            }
        }
        #expect(padding(at: 0) == nil)
        let packets = sender.packets(of: frame(numbered(3000)), at: time(1))
        let newest = try #require(ReadPacket(packets[packets.count - 1]))
        for number in 0..<3 as Range<UInt16> {
            let bytes = try #require(padding(at: 2))
            let read = try #require(ReadPacket(bytes))
            #expect(read.ssrc == 5 && read.payloadType == 97 && read.sequenceNumber == 0x0100 + number)
            #expect(read.payload.dropFirst(2) == newest.payload[...])
            #expect(read.payload.prefix(2) == [UInt8(newest.sequenceNumber >> 8), UInt8(newest.sequenceNumber & 255)])
        }
        #expect(sender.statistics.paddingPackets == 3 && sender.statistics.packetsResent == 0)
        // Receivers no longer know it after a second.
        #expect(padding(at: 2000) == nil)
    }

    @Test func theSamePacketAgain() {
        let sender = sender(.plain)
        let packets = sender.packets(of: frame(numbered(3000)), at: time(0))
        #expect(sender.resent([0x7FFF, 0x7FFE], at: time(5)) == [packets[1], packets[0]])
    }

    @Test func nothingIsStoredUnlessAsked() {
        let sender = sender(.none)
        _ = sender.packets(of: frame([1]), at: time(0))
        #expect(sender.resent([0x7FFE], at: time(1)).isEmpty)
        #expect(sender.statistics.packetsAsked == 1)
    }

    @Test func oncePerRoundTripAndWithinASecond() {
        let sender = sender(.plain)
        _ = sender.packets(of: frame([1]), at: time(0))
        #expect(sender.resent([0x7FFE], at: time(10)).count == 1)
        #expect(sender.resent([0x7FFE], at: time(29)).isEmpty, "within 20 ms")
        #expect(sender.resent([0x7FFE], at: time(30)).count == 1)
        #expect(sender.resent([0x7FFE, 0x7FFE], at: time(100)).count == 1)
        #expect(sender.resent([0x7FFE], at: time(1001)).isEmpty, "older than a second")
        #expect(sender.resent([0x7FFF, 0x7FFD, 0], at: time(500)).isEmpty, "never sent")
    }

    @Test func theRoundTripCounts() {
        let sender = sender(.plain)
        _ = sender.packets(of: frame([1]), at: time(0))
        _ = sender.report(at: time(0))
        let short = clock.shortTime(at: time(0))
        let report = RTCPBytes.reception(ssrc: 0x1122_3344, last: short, delay: 65536 / 10)
        var parser = RTCPParser()
        report.withUnsafeBytes { bytes in
            parser.parse(bytes, at: time(300)) { event in _ = sender.handle(event, at: time(300)) { _ in } }
        }
        let trip = sender.roundTripTime?.seconds ?? 0
        #expect(abs(trip - 0.2) < 0.001)
        #expect(sender.resent([0x7FFE], at: time(310)).count == 1)
        #expect(sender.resent([0x7FFE], at: time(505)).isEmpty)
        #expect(sender.resent([0x7FFE], at: time(515)).count == 1)
    }

    @Test func halfOfTheRateAtMost() {
        let sender = sender(.rtx(payloadType: 97, ssrc: 5), bitrate: 800_000)
        var number: UInt16 = 0x7FFE
        var resentBytes = 0
        // Ten seconds at 800 kbit/s of which every packet is asked for again and again.
        for tick in 0..<1000 {
            let now = time(Int64(tick) * 10)
            let packets = sender.packets(of: frame(numbered(984), isKeyFrame: false), at: now)
            #expect(packets.count == 1)
            number &+= 1
            let asked = (1...60).map { number &- UInt16($0) }
            resentBytes += sender.resent(asked, at: now).reduce(0) { $0 + $1.count }
        }
        // 400 kbit/s for ten seconds are 500,000 bytes, and half a second may come at once.
        #expect(resentBytes <= 527_000 && resentBytes > 480_000, "\(resentBytes)")
        #expect(sender.statistics.resendsWithheld > 0)
        sender.targetBitrate = 80_000
        var later = 0
        for tick in 1000..<2000 {
            let now = time(Int64(tick) * 10)
            _ = sender.packets(of: frame(numbered(984), isKeyFrame: false), at: now)
            number &+= 1
            later += sender.resent((1...60).map { number &- UInt16($0) }, at: now).reduce(0) { $0 + $1.count }
        }
        #expect(later <= 53_000 && later > 45_000, "\(later)")
    }

    /// Whatever the bitrate: the history grows with the packets of a second. Over the overflow of the numbers, too.
    @Test(arguments: [1, 40, 600]) func theHistoryKeepsASecond(packets: Int) {
        let sender = sender(.plain, bitrate: 1_000_000_000) { $0.start.sequenceNumber = 0xFFF0 }
        let bytes = numbered(1182 * packets - packets / 2)
        var sent: [(number: UInt16, bytes: [UInt8])] = []
        for tick in 0..<30 {
            let found = sender.packets(of: frame(bytes, isKeyFrame: false), at: time(Int64(tick) * 100))
            #expect(found.count == packets)
            sent = sent.suffix(11 * packets) + found.map { (UInt16($0[2]) << 8 | UInt16($0[3]), $0) }
        }
        for (age, packet) in sent.reversed().enumerated() where age % 97 < 3 {
            let again = sender.resent([packet.number], at: time(2900))
            // The frames of a second are eleven.
            let isRight = again == (age / packets <= 10 ? [packet.bytes] : [])
            #expect(isRight, "packet \(age) of \(sent.count), from the end")
        }
    }

    /// A packet that waits, for the first time or again, is held however long that takes; it leaves once.
    @Test func whatWaitsIsHeld() throws {
        let sender = sender(.plain)
        var waiting: [OutgoingPacket] = []
        let first = numbered(100_000)
        sender.enqueue(frame(first), at: time(0)) { waiting.append($0) }
        #expect(waiting.count > 64)
        for tick in 1...50 { _ = sender.packets(of: frame([1]), at: time(Int64(tick) * 100)) }
        var depacketizer = Depacketizer(.vp8)
        for packet in waiting {
            var count = 0
            sender.send(packet, at: time(6000)) { sent in
                count += 1
                #expect(sent.bytes.count == packet.bytes)
                if let read = ReadPacket(Array(sent.bytes)) { try? depacketizer.add(read) }
            }
            sender.send(packet, at: time(6000)) { _ in count += 1 }
            #expect(count == 1)
        }
        #expect(depacketizer.frames == [first])
        // A retransmission that waits for longer than a packet can be asked for.
        var again: [OutgoingPacket] = []
        RTCPBytes.nack(ssrc: 0x1122_3344, [waiting[3].number]).withUnsafeBytes { bytes in
            var parser = RTCPParser()
            parser.parse(bytes, at: time(6500)) { _ = sender.handle($0, at: time(6500)) { again.append($0) } }
        }
        for tick in 70...90 { _ = sender.packets(of: frame([1]), at: time(Int64(tick) * 100)) }
        var numbers: [UInt16] = []
        for packet in again { sender.send(packet, at: time(9000)) { numbers.append($0.sequenceNumber) } }
        #expect(numbers == [waiting[3].number])
    }

    /// More than any network has in flight: the oldest make room, and the process does not grow.
    @Test func theHistoryHasALimit() {
        let sender = sender(.plain)
        var waiting: [OutgoingPacket] = []
        for _ in 0..<10 { sender.enqueue(frame(numbered(1_500_000)), at: time(0)) { waiting.append($0) } }
        var written = 0
        for packet in waiting { sender.send(packet, at: time(1)) { _ in written += 1 } }
        #expect(waiting.count > RTPHistory.maximumPackets && written <= RTPHistory.maximumPackets)
        #expect(written > RTPHistory.maximumPackets / 2)
    }

    @Test func keyFrames() {
        let sender = sender(.plain)
        var parser = RTCPParser()
        func asks(_ bytes: [UInt8]) -> Bool {
            var isAsked = false
            bytes.withUnsafeBytes { bytes in
                parser.parse(bytes, at: time(0)) { event in
                    if sender.handle(event, at: time(0), output: { _ in }) { isAsked = true }
                }
            }
            return isAsked
        }
        #expect(asks(RTCPBytes.pictureLoss(ssrc: 0x1122_3344)) && asks(RTCPBytes.pictureLoss(ssrc: 0)))
        #expect(!asks(RTCPBytes.pictureLoss(ssrc: 0x1122_3345)))
        #expect(asks(RTCPBytes.intraRequest(ssrc: 0x1122_3344, number: 5)))
        #expect(!asks(RTCPBytes.intraRequest(ssrc: 0x1122_3344, number: 5)), "a repeated request")
        #expect(asks(RTCPBytes.intraRequest(ssrc: 0x1122_3344, number: 6)))
        #expect(sender.statistics.keyFrameRequests == 4)
    }

    @Test func keyFramesAreLimited() {
        var limiter = KeyFrameLimiter(interval: .milliseconds(300))
        let first = [0, 100, 299].map { limiter.request(at: time($0)) }
        #expect(first == [true, false, false] && limiter.due == time(300))
        let due = [299, 300, 301].map { limiter.takeDue(at: time($0)) }
        #expect(due == [false, true, false])
        let isTooSoon = !limiter.request(at: time(599))
        limiter.didSendKeyFrame()
        let isAnswered = !limiter.takeDue(at: time(700))
        #expect(isTooSoon && isAnswered)
        // A thousand a second for ten seconds.
        var count = 0
        for tick in 1000..<11_000 {
            if limiter.request(at: time(Int64(tick))) || limiter.takeDue(at: time(Int64(tick))) { count += 1 }
        }
        #expect((33...35).contains(count), "\(count)")
    }
}
