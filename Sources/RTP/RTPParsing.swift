import CaptureCore

/// The parsers of what peers send, for fuzzing.
@_spi(Fuzzing)
public enum RTPParsing {
    private static let local = LocalSession(
        streams: [
            .init(
                formats: [
                    .init(.vp8, payloadType: 96, retransmissionType: 97),
                    .init(.h264, payloadType: 102, retransmissionType: 103),
                ], retransmissionSSRC: 2), .init(formats: [.init(.opus, payloadType: 111)]),
        ], transport: .init(iceUser: "user", icePassword: "password", fingerprint: "sha-256 AA", candidates: []))

    /// Reads a description as an answer and as an offer, and reads what answers the latter. What is read does not depend on
    /// the order of the attributes within a section.
    ///
    /// - Returns: the longest error message; nil when all was taken.
    public static func readDescription(_ text: String) -> String? {
        var message: String?
        func attempt(_ body: () throws(SDPError) -> Void) {
            do throws(SDPError) {
                try body()
            } catch {
                if error.message.utf8.count > message?.utf8.count ?? 0 { message = error.message }
            }
        }
        attempt { () throws(SDPError) in
            let agreed = try local.readAnswer(text)
            precondition(!agreed.streams.isEmpty && !agreed.transport.fingerprints.isEmpty)
            precondition(agreed.streams.allSatisfy { $0.payloadType < 128 })
        }
        attempt { () throws(SDPError) in
            let offer = try SessionDescription(parsing: text, operation: "read the offer")
            precondition(offer.sections.count <= SessionDescription.maximumSections)
            precondition(offer.sections.flatMap(\.candidates).count <= SessionDescription.maximumCandidates)
            let (answer, agreed) = try local.answer(to: offer)
            let read = try SessionDescription(parsing: answer, operation: "read the answer")
            precondition(read.sections.count == offer.sections.count, "an answer has the sections of its offer")
            precondition(read.sections.count { !$0.isRejected } == agreed.streams.count)
        }
        if let read = try? SessionDescription(parsing: text, operation: "read") {
            let other = try? SessionDescription(
                parsing: reordered(text, by: UInt64(text.utf8.count)), operation: "read")
            precondition(read == other, "the order of the attributes matters")
        }
        return message
    }

    /// The description with the attributes of each media section in another order; those of one name keep theirs, since
    /// the first or the last of them counts.
    ///
    /// - Parameter seed: chooses the order.
    static func reordered(_ text: String, by seed: UInt64) -> String {
        var random = OrderGenerator(state: seed)
        var sections: [[Substring]] = [[]]
        for line in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.starts(with: "m=".unicodeScalars) { sections.append([]) }
            sections[sections.count - 1].append(Substring(line))
        }
        for index in sections.indices.dropFirst() {
            var queues: [Substring: [Substring]] = [:]
            var names: [Substring] = []
            for line in sections[index].dropFirst() {
                let word = line.prefix { $0 != ":" && $0 != "\r" && $0 != "\r\n" }
                let isDirection = ["a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"].contains(word)
                let name = isDirection ? "direction" : word.hasPrefix("a=") ? word : ""
                queues[name, default: []].append(line)
                names.append(name)
            }
            names.shuffle(using: &random)
            var next: [Substring: Int] = [:]
            let lines = names.map { name in
                defer { next[name, default: 0] += 1 }
                return queues[name]![next[name, default: 0]]
            }
            sections[index] = [sections[index][0]] + lines
        }
        return sections.joined().joined(separator: "\n")
    }

    /// Repeatable random numbers (SplitMix64).
    private struct OrderGenerator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    /// Cuts a packet of a capture as each codec, and reads its decoder configuration: no part is larger than allowed, the last
    /// one is marked, and the parts of an image make its scan again.
    ///
    /// - Parameter bytes: any.
    public static func cut(_ bytes: UnsafeRawBufferPointer) {
        let formats: [RTPFormat] = [
            .h264, .h265, .vp8, .vp9, .jpeg, .opus, .aac(rate: 48_000, channels: 2),
            .g711(isALaw: false, rate: 8000, channels: 2),
        ]
        for format in formats {
            var configuration = RTPSender.Configuration(format: format, payloadType: 96)
            configuration.maximumPacketSize = 200
            let sender = RTPSender(configuration, clock: NTPClock(wallClock: .seconds(1), at: .zero))
            var (isMarked, scan) = (true, 0)
            sender.send(MediaPacket(data: PacketBuffer(copying: bytes), timestamp: .zero), at: .zero) { packet in
                precondition(packet.payloadSize > 0 && packet.bytes.count <= 200, "a packet within its limit")
                isMarked = packet.isLastOfFrame
                guard format == .jpeg else { return }
                let payload = packet.bytes.slice(RTPHeader.fixedSize..<packet.bytes.count)
                precondition(payload.bigEndian32(at: 0) == scan, "the offset of a part")
                let headers = 8 + (payload[4] >= 64 ? 4 : 0) + (scan == 0 ? 132 : 0)
                precondition(payload.count > headers, "a part of the scan")
                scan += payload.count - headers
            }
            precondition(isMarked || format.isAudio, "the last packet is marked")
            if format == .jpeg { precondition(scan == (try? RTPImage(bytes))?.scan.count ?? 0, "the whole scan") }
        }
        for (type, sets) in H265.parameterSets(of: bytes) {
            precondition(H265.parameterSets.contains(type) && sets.allSatisfy { $0.count > 2 }, "a parameter set")
        }
    }

    /// Hands a datagram to a parser and its events to a sender that has sent something.
    ///
    /// - Returns: the numbers of packets that were named as lost, and of those that were sent again.
    public static func readReport(_ bytes: UnsafeRawBufferPointer) -> (named: Int, resent: Int) {
        var configuration = RTPSender.Configuration(format: .opus, payloadType: 111)
        configuration.ssrc = 0x0101_0101
        configuration.start.sequenceNumber = 0
        configuration.resending = .rtx(payloadType: 112, ssrc: 2)
        let sender = RTPSender(configuration, clock: NTPClock(wallClock: .seconds(1), at: .zero))
        for _ in 0..<20 {
            sender.send(MediaPacket(data: PacketBuffer(copying: bytes), timestamp: .zero), at: .zero) { _ in }
        }
        var parser = RTCPParser()
        var named = 0
        var resent = 0
        parser.parse(bytes, at: .zero) { event in
            if case .nack(_, let list) = event { named += list.reduce(0) { count, _ in count + 1 } }
            _ = sender.handle(event, at: .zero) { packet in
                sender.send(packet, at: .zero) { packet in
                    precondition(packet.bytes.count <= configuration.maximumPacketSize)
                    resent += 1
                }
            }
        }
        precondition(parser.datagrams + parser.dropped == 1)
        return (named, resent)
    }

    /// Hands a sender's packets of transport-wide feedback, as they follow each other in RTCP, to an estimator: each report
    /// lies in the range that its packet states, and the rates stay within their limits.
    ///
    /// - Parameter sent: the number of packets that are sent before each packet of feedback.
    public static func readTransportFeedback(_ bytes: UnsafeRawBufferPointer, sent: Int) {
        var rest = bytes
        var estimator = BandwidthEstimator(.init(maximum: 2_000_000))
        var sequence: UInt16 = 0
        var time = MediaTime(nanoseconds: 1_000_000_000)
        while rest.count >= 4 {
            let size = min(rest.count, (Int(rest[2]) << 8 | Int(rest[3])) * 4 + 4)
            let packet = UnsafeRawBufferPointer(rebasing: rest[..<size])
            rest = UnsafeRawBufferPointer(rebasing: rest[size...])
            for _ in 0..<sent {
                estimator.didSend(sequence, bytes: 1000, at: time, probe: 1)
                sequence &+= 1
            }
            time = time.advanced(by: .milliseconds(50))
            if let feedback = TransportFeedback(packet) {
                var reports = 0
                feedback.forEachReport { report in
                    precondition(report.sequence == feedback.base &+ UInt16(reports), "reports are in order")
                    reports += 1
                }
                precondition(reports == feedback.count, "as many reports as the packet states")
            }
            estimator.handleFeedback(packet, at: time)
            estimator.update(at: time)
            _ = estimator.takeProbe()
            precondition((50_000...2_000_000).contains(estimator.target), "a target within its limits")
        }
    }
}
