import CaptureCore
import Testing

@testable import RTP

/// Headers and payloads, byte by byte, and back through a receiver's reading of them.
@Suite struct PacketTests {
    private let clock = NTPClock(wallClock: .seconds(1_000_000), at: .zero)

    @Test func vp8InOnePacket() {
        let sender = RTPSender(.known(), clock: clock)
        // A second at 90 kHz is 0x15F90; the offset makes the timestamp overflow.
        let packets = sender.packets(of: frame([1, 2, 3], at: MediaTime(nanoseconds: 1_000_000_000)))
        #expect(
            packets == [
                [
                    0x80, 0xE0, 0x7F, 0xFE, 0x00, 0x01, 0x5E, 0x90, 0x11, 0x22, 0x33, 0x44,  // RFC 3550, 5.1
                    0x90, 0xE0, 0xFF, 0xFF, 0, 0, 1, 2, 3,  // RFC 7741, 4.2: X and S; I, L and T; 15 bits; 0; TID 0
                ]
            ])
        // The picture id and, two packets later, the number overflow; N on a frame that none refers to.
        let second = sender.packets(of: frame([4], isKeyFrame: false, isDroppable: true))
        #expect(second[0][2...3] == [0x7F, 0xFF] && second[0][12...] == [0xB0, 0xE0, 0x80, 0x00, 1, 0, 4])
        #expect(sender.packets(of: frame([5], isKeyFrame: false))[0][2...3] == [0x80, 0x00])
    }

    @Test func vp8Layers() throws {
        let sender = RTPSender(.known(.vp8), clock: clock)
        var depacketizer = Depacketizer(.vp8)
        for layer in [0, 2, 1, 2, 0, 2, 1, 2, 0] {
            for packet in sender.packets(of: frame(numbered(2500), isDroppable: layer == 2, layer: layer)) {
                try depacketizer.add(try #require(ReadPacket(packet)))
            }
        }
        #expect(depacketizer.descriptors.map(\.layer) == [0, 2, 1, 2, 0, 2, 1, 2, 0])
        #expect(depacketizer.descriptors.map(\.baseLayerIndex) == [0, 0, 0, 0, 1, 1, 1, 1, 2])
        #expect(depacketizer.descriptors.map(\.pictureID) == [0x7FFF] + Array(0..<8))
        #expect(depacketizer.descriptors.map(\.isUnreferenced) == [0, 2, 1, 2, 0, 2, 1, 2, 0].map { $0 == 2 })
        // What refers to the base layer alone: all but the second frame of the topmost layer.
        #expect(depacketizer.descriptors.map(\.isSync) == [0, 1, 1, 0, 0, 1, 1, 0, 0].map { $0 == 1 })
        #expect(depacketizer.frames.allSatisfy { $0 == numbered(2500) })
        // TID in the two upper bits, then Y.
        #expect(sender.packets(of: frame([9], layer: 2))[0][12...] == [0x90, 0xE0, 0x80, 0x08, 2, 0xA0, 9])
        #expect(sender.packets(of: frame([9], layer: 2))[0][12...] == [0x90, 0xE0, 0x80, 0x09, 2, 0x80, 9])
        #expect(sender.packets(of: frame([9], layer: 1))[0][12...] == [0x90, 0xE0, 0x80, 0x0A, 2, 0x60, 9])
    }

    /// A receiver of the lower layers alone finds no gap in any number.
    @Test(arguments: [0, 1]) func vp8WithoutHigherLayers(highest: Int) throws {
        let sender = RTPSender(.known(), clock: clock)
        var depacketizer = Depacketizer(.vp8)
        var numbers: [UInt16] = []
        for layer in (0..<40).map({ [0, 2, 1, 2][$0 % 4] }) where layer <= highest {
            for packet in sender.packets(of: frame(numbered(2500), isKeyFrame: false, layer: layer)) {
                let read = try #require(ReadPacket(packet))
                numbers.append(read.sequenceNumber)
                try depacketizer.add(read)
            }
        }
        #expect(numbers == (0..<UInt16(numbers.count)).map { 0x7FFE &+ $0 })
        let count = depacketizer.descriptors.count
        #expect(count == 10 * (highest + 1))
        #expect(depacketizer.descriptors.map(\.pictureID) == [0x7FFF] + Array(0..<count - 1))
        let baseFrames = depacketizer.descriptors.map { $0.baseLayerIndex.map { Int($0) } }
        #expect(baseFrames == (0..<count).map { $0 / (highest + 1) })
        #expect(depacketizer.descriptors.allSatisfy { $0.isSync == ($0.layer == 1) })
    }

    @Test func partsAreEqual() throws {
        let sender = RTPSender(.known(), clock: clock)
        for size in [1, 1181, 1182, 1183, 2364, 2365, 10_000, 100_001] {
            var depacketizer = Depacketizer(.vp8)
            let packets = sender.packets(of: frame(numbered(size)))
            #expect(packets.count == (size + 1181) / 1182)
            let sizes = packets.map(\.count)
            // One size but for the last part, which lacks at most a byte for each of the others.
            #expect(sizes[0] <= 1200 && sizes.dropLast().allSatisfy { $0 == sizes[0] }, "\(size)")
            #expect((0..<sizes.count).contains(sizes[0] - sizes.last!), "\(size)")
            for packet in packets { try depacketizer.add(try #require(ReadPacket(packet))) }
            #expect(depacketizer.frames == [numbered(size)])
            let marks = packets.map { $0[1] & 0x80 != 0 }
            #expect(marks == Array(repeating: false, count: packets.count - 1) + [true])
        }
    }

    @Test func h264SetsGoTogether() {
        let sender = RTPSender(.known(.h264), clock: clock)
        let sps: [UInt8] = [0x67, 0x42, 0xE0, 0x1F, 1]
        let pps: [UInt8] = [0x68, 0xCE, 2]
        let start: [UInt8] = [0, 0, 0, 1]
        // A delimiter is left out.
        let unit = start + [9, 0xF0] + start + sps + start + pps + [0, 0, 1, 0x06, 5, 1] + start + [0x65, 7, 8]
        let payloads = sender.packets(of: frame(unit)).map { Array($0[12...]) }
        #expect(
            payloads == [
                [0x78, 0, 5] + sps + [0, 3] + pps,  // RFC 6184, 5.7.1: STAP-A
                [0x06, 5, 1], [0x65, 7, 8],
            ])
        #expect(
            sender.packets(of: frame(start + sps + start + [0x65, 1])).map { Array($0[12...]) } == [sps, [0x65, 1]])
        // A set alone ends the unit.
        let alone = sender.packets(of: frame(start + sps + start + pps))
        #expect(alone.count == 1 && alone[0][1] & 0x80 != 0)
    }

    @Test func h264Fragments() throws {
        var configuration = RTPSender.Configuration.known(.h264)
        configuration.maximumPacketSize = 200
        let sender = RTPSender(configuration, clock: clock)
        let packets = sender.packets(of: frame([0, 0, 1, 0x65] + numbered(400)))
        // 400 bytes at 186 each: three parts, none of them full.
        #expect(packets.map { $0.count - 14 } == [134, 134, 132])
        #expect(packets.map { Array($0[12...13]) } == [[0x7C, 0x85], [0x7C, 0x05], [0x7C, 0x45]])
        #expect(packets.map { $0[1] >> 7 } == [0, 0, 1])
        var depacketizer = Depacketizer(.h264)
        for packet in packets { try depacketizer.add(try #require(ReadPacket(packet))) }
        #expect(depacketizer.frames == [[0, 0, 0, 1, 0x65] + numbered(400)])
    }

    @Test func h264OfAnyUnits() throws {
        var random = Repeatable(state: 42)
        let sender = RTPSender(.known(.h264), clock: clock)
        for _ in 0..<300 {
            let kinds: [UInt8] = [0x67, 0x68, 0x06, 0x65, 0x41, 0x01]
            var expected: [UInt8] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let kind = kinds.randomElement(using: &random)!
                let size = Bool.random(using: &random) ? 20 : 4000
                expected += [0, 0, 0, 1, kind] + numbered(Int.random(in: 0..<size, using: &random))
            }
            var depacketizer = Depacketizer(.h264)
            let packets = sender.packets(of: frame(expected))
            for packet in packets { try depacketizer.add(try #require(ReadPacket(packet))) }
            #expect(packets.allSatisfy { $0.count <= 1200 })
            #expect(depacketizer.frames == [expected])
        }
    }

    @Test func opus() {
        let sender = RTPSender(.known(.opus, payloadType: 111), clock: clock)
        let packets = (0..<3).flatMap { index in
            sender.packets(of: frame([UInt8(index)], at: MediaTime(nanoseconds: 20_000_000 * Int64(index))))
        }
        let expected: [[UInt8]] = [
            [0x80, 0xEF, 0x7F, 0xFE, 0xFF, 0xFF, 0xFF, 0x00, 0],
            [0x80, 0x6F, 0x7F, 0xFF, 0x00, 0x00, 0x02, 0xC0, 1],
            [0x80, 0x6F, 0x80, 0x00, 0x00, 0x00, 0x06, 0x80, 2],
        ]
        let read: [[UInt8]] = packets.map { Array($0[0..<8] + $0[12...]) }
        #expect(read == expected)
        #expect(sender.packets(of: frame(numbered(1300))).isEmpty)
        #expect(sender.statistics.oversizedFrames == 1)
    }

    @Test func extensions() throws {
        var configuration = RTPSender.Configuration.known()
        configuration.extensions = RTPExtensionIDs(
            mid: 1, absoluteSendTime: 2, transportNumber: 3, videoOrientation: 4)
        configuration.mid = "v0"
        let sender = RTPSender(configuration, clock: clock)
        var copies: [[UInt8]] = []
        let ntp: UInt64 = 0x1234_5678_9ABC_DEF0
        sender.send(frame(numbered(1500), orientation: .left), at: .zero) { packet in
            var bytes = Array(packet.bytes)
            bytes.withUnsafeMutableBytes { packet.stamps.write(transportNumber: 0xABCD, ntp: ntp, into: $0) }
            copies.append(bytes)
        }
        #expect(copies.count == 2)
        // Transport-wide number, send time in 6.18 bits, mid; two bytes of padding.
        #expect(
            copies[0][12..<28] == [
                0xBE, 0xDE, 0, 3, 0x31, 0xAB, 0xCD, 0x22, 0xE2, 0x6A, 0xF3, 0x11, 0x76, 0x30, 0, 0,
            ])
        let last = try #require(ReadPacket(copies[1]))
        #expect(last.extensions[4] == [1] && last.extensions[1] == Array("v0".utf8))
        // The orientation only where it changes, the mid no longer after the first packets.
        var later: [ReadPacket] = []
        for index in 0..<60 {
            let turned: VideoOrientation = index < 59 ? .left : .down
            later += sender.packets(of: frame([1], isKeyFrame: false, orientation: turned)).compactMap {
                ReadPacket($0)
            }
        }
        #expect(later.allSatisfy { $0.extensions[3] == [0, 0] })
        #expect(later.prefix(48).allSatisfy { $0.extensions[1] != nil })
        #expect(later.dropFirst(48).allSatisfy { $0.extensions[1] == nil })
        #expect(later.map { $0.extensions[4] } == Array(repeating: nil, count: 59) + [[2]])
    }

    @Test func timestamps() {
        let timeline = RTPTimeline(rate: 90_000, offset: 0)
        // A third of a second in whole nanoseconds is not a whole tick: rounded, not cut.
        #expect(timeline.timestamp(at: MediaTime(nanoseconds: 333_333_333)) == 30_000)
        #expect(timeline.timestamp(at: MediaTime(nanoseconds: -333_333_333)) == 0 &- 30_000)
        // 2³² ticks are 47,721.858… s.
        #expect(timeline.timestamp(at: MediaTime(nanoseconds: 47_722_000_000_000)) == 12_704)
        let clock = NTPClock(wallClock: .seconds(10) + .milliseconds(500), at: MediaTime(nanoseconds: 5_000_000_000))
        #expect(clock.time(at: MediaTime(nanoseconds: 6_000_000_000)) == UInt64(2_208_988_811) << 32 | UInt64(1) << 31)
        #expect(clock.shortTime(at: MediaTime(nanoseconds: 5_500_000_000)) == UInt32((2_208_988_811 & 0xFFFF) << 16))
    }

    @Test func startsAreRandom() {
        let starts = (0..<64).map { _ in RTPSender.Start() }
        #expect(starts.allSatisfy { $0.sequenceNumber < 0x8000 && $0.resendNumber < 0x8000 && $0.pictureID < 0x8000 })
        #expect(Set(starts.map(\.timestamp)).count > 60 && Set(starts.map(\.sequenceNumber)).count > 50)
        #expect(Set((0..<64).map { _ in RTPSender.Configuration.randomName() }).count == 64)
    }
}
