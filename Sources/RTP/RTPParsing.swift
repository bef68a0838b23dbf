import CaptureCore

/// The parsers of what peers send, for fuzzing.
@_spi(Fuzzing)
public enum RTPParsing {
    private static let local = LocalSession(
        streams: [
            .init(
                formats: [
                    .init(.vp8(temporalLayers: false), payloadType: 96, retransmissionType: 97),
                    .init(.h264, payloadType: 102, retransmissionType: 103),
                ], retransmissionSSRC: 2), .init(formats: [.init(.opus, payloadType: 111)]),
        ], transport: .init(iceUser: "user", icePassword: "password", fingerprint: "sha-256 AA", candidates: []))

    /// Reads a description as an answer and as an offer, and reads what answers the latter.
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
        return message
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
                precondition(packet.bytes.count <= configuration.maximumPacketSize)
                resent += 1
            }
        }
        precondition(parser.datagrams + parser.dropped == 1)
        return (named, resent)
    }
}
