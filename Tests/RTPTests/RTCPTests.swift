import CaptureCore
import Testing

@testable import RTP

/// Reports that are written and messages that are read, byte by byte; and bytes that are none.
@Suite struct RTCPTests {
    private let clock = NTPClock(wallClock: .seconds(1_000_000), at: .zero)

    /// A message in words.
    private func read(_ bytes: [UInt8], _ parser: inout RTCPParser, at time: MediaTime = .zero) -> [String] {
        var found: [String] = []
        bytes.withUnsafeBytes { bytes in
            parser.parse(bytes, at: time) { event in
                switch event {
                case .reception(let report): found.append("RR \(report.ssrc) \(report.packetsLost) \(report.jitter)")
                case .nack(let ssrc, let list):
                    found.append("NACK \(ssrc) \(list.map { "\($0)" }.joined(separator: ","))")
                case .pictureLoss(let ssrc): found.append("PLI \(ssrc)")
                case .intraRequest(let ssrc, let number): found.append("FIR \(ssrc) \(number)")
                case .maximumBitrate(let bitrate, let sources):
                    found.append("REMB \(bitrate) of \([8, 9, 10].filter { sources.contains($0) })")
                case .transportFeedback(let bytes): found.append("TWCC \(bytes.count)")
                case .senderReport(let ssrc, let ntp, let timestamp): found.append("SR \(ssrc) \(ntp) \(timestamp)")
                case .goodbye(let ssrc): found.append("BYE \(ssrc)")
                case .other(let type, let format): found.append("other \(type) \(format)")
                }
            }
        }
        return found
    }

    private func read(_ bytes: [UInt8]) -> [String] {
        var parser = RTCPParser()
        return read(bytes, &parser)
    }

    @Test func reports() {
        let sender = RTPSender(.known(), clock: clock)
        #expect(sender.report(at: .zero).isEmpty && sender.report(at: .zero, isLast: true).isEmpty)
        _ = sender.packets(of: frame([1, 2, 3]))
        let half = MediaTime(nanoseconds: 500_000_000)
        let report: [UInt8] =
            [0x80, 200, 0, 6, 0x11, 0x22, 0x33, 0x44]  // RFC 3550, 6.4.1
            // 1900 to 1970, a million seconds, and a half.
            + RTCPBytes.big(UInt32(2_208_988_800 + 1_000_000)) + [0x80, 0, 0, 0]
            // Half a second after the epoch, whose timestamp is 0xFFFFFF00.
            + RTCPBytes.big(UInt32(0xFFFF_FF00) &+ 45_000) + [0, 0, 0, 1, 0, 0, 0, 9]
            // An item of six bytes and the zero that ends the chunk, filled up to a multiple of four.
            + [0x81, 202, 0, 3, 0x11, 0x22, 0x33, 0x44, 1, 4] + Array("name".utf8) + [0, 0]
        #expect(sender.report(at: half) == report)
        #expect(sender.report(at: half, isLast: true).suffix(8) == [0x81, 203, 0, 1, 0x11, 0x22, 0x33, 0x44])
        #expect(read(sender.report(at: half, isLast: true)).map { $0.prefix(3) } == ["SR ", "oth", "BYE"])
    }

    @Test func theLongestNameFits() {
        for length in 0...300 {
            var configuration = RTPSender.Configuration.known()
            configuration.cname = String(repeating: "n", count: length)
            let sender = RTPSender(configuration, clock: clock)
            _ = sender.packets(of: frame([1]))
            let bytes = sender.report(at: .zero, isLast: true)
            #expect(bytes.count <= RTPSender.maximumReportSize && bytes.count % 4 == 0)
            #expect(read(bytes).last == "BYE \(0x1122_3344)")
        }
    }

    @Test func messages() {
        #expect(read(RTCPBytes.reception(ssrc: 5, lost: 0xFF_FFFE, jitter: 90)) == ["RR 5 -2 90"])
        #expect(read(RTCPBytes.pictureLoss(ssrc: 5)) == ["PLI 5"])
        #expect(read(RTCPBytes.intraRequest(ssrc: 5, number: 3)) == ["FIR 5 3"])
        #expect(read(RTCPBytes.packet(203, 2, [0, 0, 0, 1, 0, 0, 0, 2])) == ["BYE 1", "BYE 2"])
        #expect(read(RTCPBytes.packet(207, 0, [0, 0, 0, 1])) == ["other 207 0"])
        #expect(read(RTCPBytes.packet(205, 15, Array(repeating: 0, count: 16))) == ["TWCC 20"])
        // RFC 4585, 6.2.1: the entry's number, and those of the bits behind it.
        let lost = RTCPBytes.packet(205, 1, [0, 0, 0, 1, 0, 0, 0, 5, 0xFF, 0xFE, 0x80, 0x05, 0, 9, 0, 0])
        #expect(read(lost) == ["NACK 5 65534,65535,1,14,9"])
        #expect(read(RTCPBytes.reception(ssrc: 5) + RTCPBytes.pictureLoss(ssrc: 6)) == ["RR 5 0 0", "PLI 6"])
        let padded: [UInt8] = [0xA1, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 4]
        #expect(read(padded) == ["PLI 5"])
    }

    /// Receivers fill their feedback up by one to three bytes, which is less than RFC 3550 has.
    @Test func feedbackIsReadWithItsPadding() {
        for count in 1...40 {
            var parser = RTCPParser()
            var reports = 0
            FeedbackWriter.write((0..<count).map { (UInt16($0), $0) }).withUnsafeBytes { bytes in
                parser.parse(bytes, at: .zero) { event in
                    guard case .transportFeedback(let packet) = event else { return }
                    TransportFeedback(packet)?.forEachReport { _ in reports += 1 }
                }
            }
            #expect(reports == count && parser.malformed == 0)
        }
    }

    @Test func estimates() {
        #expect(read(RTCPBytes.maximumBitrate(exponent: 3, mantissa: 250_000)) == ["REMB 2000000 of [9]"])
        #expect(read(RTCPBytes.maximumBitrate(exponent: 63, mantissa: 1)) == ["REMB \(Int.max) of [9]"])
        #expect(read(RTCPBytes.maximumBitrate(exponent: 63, mantissa: 0)) == ["REMB 0 of [9]"])
        #expect(read(RTCPBytes.maximumBitrate(exponent: 45, mantissa: 0x3FFFF)) == ["REMB \(0x3FFFF << 45) of [9]"])
        #expect(read(RTCPBytes.maximumBitrate(exponent: 46, mantissa: 0x3FFFF)) == ["REMB \(Int.max) of [9]"])
        #expect(read(RTCPBytes.packet(206, 15, [0, 0, 0, 1, 0, 0, 0, 0] + Array("ABCD1234".utf8))) == ["other 206 15"])
        var all = RTCPBytes.maximumBitrate(exponent: 0, mantissa: 5)
        all[16] = 0
        #expect(read(all) == ["REMB 5 of [8, 9, 10]"])
    }

    @Test func everyCutIsNoticed() {
        let whole = [
            RTCPBytes.reception(ssrc: 5), RTCPBytes.nack(ssrc: 5, [1, 2]), RTCPBytes.pictureLoss(ssrc: 5),
            RTCPBytes.intraRequest(ssrc: 5, number: 1), RTCPBytes.maximumBitrate(exponent: 1, mantissa: 1),
        ]
        for message in whole {
            for length in 1..<message.count {
                var parser = RTCPParser()
                #expect(
                    read(Array(message.prefix(length)), &parser).isEmpty && parser.malformed == 1,
                    "\(message) \(length)")
            }
            // The length says so, and the content is missing.
            let isApplication = message[0] & 31 == 15
            for words in 0..<message.count / 4 - 1 where !(message[1] == 205 && words >= 3) {
                // Messages of other applications may be as short.
                if isApplication, words == 2 || words == 3 { continue }
                var cut = Array(message.prefix(4 * (words + 1)))
                cut[3] = UInt8(words)
                var parser = RTCPParser()
                _ = read(cut, &parser)
                #expect(parser.malformed == 1, "\(cut)")
            }
        }
    }

    @Test func limits() {
        var parser = RTCPParser()
        let message = RTCPBytes.pictureLoss(ssrc: 5)
        let start = MediaTime(nanoseconds: 5)
        let first = (0..<1000).reduce(0) { count, _ in count + read(message, &parser, at: start).count }
        #expect(first == 200 && parser.dropped == 800)
        let afterASecond = read(message, &parser, at: start.advanced(by: .seconds(1)))
        #expect(afterASecond.count == 1)
        let large = read(RTCPBytes.nack(ssrc: 5, Array(0..<400)), &parser, at: start.advanced(by: .seconds(2)))
        #expect(large.isEmpty && parser.dropped == 801)
        let numbers = (0..<300).map { UInt16($0 * 20) }
        let many = read(RTCPBytes.nack(ssrc: 5, numbers), &parser, at: start.advanced(by: .seconds(3)))
        #expect(many[0].split(separator: ",").count == 64)
    }

    @Test func anyBytes() {
        var random = Repeatable(state: 7)
        let seeds = [
            RTCPBytes.reception(ssrc: 5) + RTCPBytes.nack(ssrc: 5, [1, 2, 3]) + RTCPBytes.packet(203, 1, [0, 0, 0, 5]),
            RTCPBytes.maximumBitrate(exponent: 3, mantissa: 9) + RTCPBytes.intraRequest(ssrc: 5, number: 1),
            RTCPBytes.packet(200, 1, Array(repeating: 3, count: 48)) + RTCPBytes.pictureLoss(ssrc: 5),
        ]
        var parser = RTCPParser()
        let sender = RTPSender(.known(), clock: clock)
        var datagrams: UInt64 = 0
        for round in 0..<20_000 {
            var bytes = seeds[round % 3]
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random) / 2)
            let time = MediaTime(nanoseconds: Int64(round) * 10_000_000)
            bytes.withUnsafeBytes { bytes in
                parser.parse(bytes, at: time) { _ = sender.handle($0, at: time) { _ in } }
            }
            datagrams += 1
        }
        #expect(parser.datagrams == datagrams && parser.malformed > 1000 && parser.malformed < datagrams)
    }

    @Test func multiplexing() {
        func isRTCP(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { RTCPParser.isRTCP($0) } }
        #expect(isRTCP(RTCPBytes.pictureLoss(ssrc: 5)) && isRTCP([0x80, 200, 0, 0]))
        #expect(
            !isRTCP([0x80, 96, 0, 0]) && !isRTCP([0x80, 0xE0, 0, 0]) && !isRTCP([20, 200, 0, 0]) && !isRTCP([0x80]))
    }
}
