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
                guard let (size, stamps) = sender.writePadding(into: memory, at: time(milliseconds)) else { return nil }
                return stamps.transportNumberIndex > 0 ? Array(memory[..<size]) : []
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

    @Test func protectedBytesAreNotTouched() {
        let sender = sender(.protected)
        var flags: [Bool] = []
        sender.send(frame(numbered(3000)), at: time(0)) { packet in
            let wire = Array(packet.bytes.reversed())
            wire.withUnsafeBytes { sender.storeProtected($0, sequenceNumber: packet.sequenceNumber, at: time(0)) }
            flags.append(packet.isProtected)
        }
        #expect(flags == [false, false, false])
        let event = RTCPBytes.nack(ssrc: 0x1122_3344, [0x7FFF])
        var parser = RTCPParser()
        var found: [[UInt8]] = []
        event.withUnsafeBytes { bytes in
            parser.parse(bytes, at: time(5)) { event in
                _ = sender.handle(event, at: time(5)) { packet in
                    #expect(packet.isProtected && packet.isResent)
                    found.append(Array(packet.bytes))
                }
            }
        }
        #expect(found.count == 1 && found[0].suffix(4) == [0xFF, 0x7F, 0x60, 0x80])
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

    @Test func theHistoryKeepsASecondOfTheBitrate() {
        for bitrate in [0, 300_000, 2_500_000, 50_000_000] {
            let history = RTPHistory(bitrate: bitrate, maximumPacketSize: 1200)
            #expect(history.capacity >= bitrate / 8 / 1080 && history.capacity <= 8192)
        }
        #expect(RTPHistory(bitrate: .max, maximumPacketSize: 1200).capacity == 8192)
        // The oldest packets make room, over the overflow of the numbers too.
        let history = RTPHistory(bitrate: 0, maximumPacketSize: 200)
        for number in 0..<70_000 {
            let number = UInt16(truncatingIfNeeded: number)
            history.reserve(number).write(number, at: 0)
            history.commit(size: 2, headerSize: 0, isKeyFrame: false, at: time(0))
        }
        let last = UInt16(truncatingIfNeeded: 69_999)
        for age in 0..<300 {
            let number = last &- UInt16(age)
            let found = history.takeForResending(number, at: time(1), interval: .zero) { _ in true }
            #expect((found != nil) == (age < history.capacity))
            if let found { #expect(found.bytes.bigEndian16(at: 0) == number) }
        }
        // Numbers that were skipped are not those that stood in their place before.
        _ = history.reserve(last &+ 3)
        history.commit(size: 2, headerSize: 0, isKeyFrame: false, at: time(0))
        for skipped in 1...2 {
            let found = history.takeForResending(last &+ UInt16(skipped), at: time(1), interval: .zero) { _ in true }
            #expect(found == nil)
        }
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
