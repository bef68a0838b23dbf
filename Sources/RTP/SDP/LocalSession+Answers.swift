import CaptureCore

extension LocalSession {
    // MARK: The peer answers

    /// Reads the answer to ``offer``.
    ///
    /// - Parameter text: the answer.
    /// - Returns: the streams that the peer takes, and its transport.
    /// - Throws: `tooLarge` and `malformed` as ``SessionDescription/init(parsing:operation:)``; `refused` when no section
    ///   is accepted, `noCommonCodec` when none has a codec that was offered, `incomplete` without credentials,
    ///   fingerprint or multiplexed RTCP.
    package func readAnswer(_ text: String) throws(SDPError) -> Negotiation {
        let operation = "read the answer"
        let answer = try SessionDescription(parsing: text, operation: operation)
        var streams: [Negotiation.Stream] = []
        var refusals: [Negotiation.Refusal] = []
        var first: SessionDescription.Section?
        for (index, offered) in self.streams.enumerated() {
            func refuse(_ reason: String, isOfCodec: Bool = false) {
                refusals.append(.init(media: offered.media, reason: reason, isOfCodec: isOfCodec))
            }
            guard index < answer.sections.count else {
                refuse("the answer has no section for the \(offered.media)")
                continue
            }
            let section = answer.sections[index]
            guard section.media == offered.media else {
                throw SDPError(
                    .malformed, operation: operation,
                    message: "Line \(section.line) of the answer is of \(section.media) where \(offered.media) was "
                        + "offered; an answer has the sections of its offer, in their order.")
            }
            if let reason = section.refusal(isRejected: section.isRejected) {
                refuse(reason)
            } else if let found = match(offered, section, index: index, usesOwnTypes: true) {
                streams.append(found)
                first = first ?? section
            } else {
                refuse(section.mismatch(with: offered), isOfCodec: true)
            }
        }
        guard let first else {
            throw SDPError(
                refusals.contains(where: \.isOfCodec) ? .noCommonCodec : .refused, operation: operation,
                message: "The server accepts nothing of the offer: "
                    + "\(refusals.map(\.reason).joined(separator: "; ")).")
        }
        return Negotiation(
            streams: streams, refusals: refusals,
            transport: try Negotiation.Transport(answer, first, operation: operation))
    }

    // MARK: The peer offers

    /// Answers the offer of a peer that wants to receive (WHEP): each stream goes to the first section that takes it, all
    /// other sections are rejected.
    ///
    /// The caller has read the peer's transport before, with ``SessionDescription`` where it must; this side's
    /// ``LocalSession/Transport/setup`` is to be active or passive.
    ///
    /// - Parameter offer: the peer's.
    /// - Returns: the answer, and what was agreed on.
    /// - Throws: as ``readAnswer(_:)``; `noCommonCodec` also for an offer of video in other codecs only, whatever becomes of
    ///   its sound.
    package func answer(to offer: SessionDescription) throws(SDPError) -> (text: String, negotiation: Negotiation) {
        let operation = "answer the offer"
        var unused = Array(streams.indices)
        var chosen: [Int: (stream: Stream, agreed: Negotiation.Stream)] = [:]
        var refusals: [Negotiation.Refusal] = []
        for (index, section) in offer.sections.enumerated() {
            guard section.refusal(isRejected: !offer.isOffered(section)) == nil else { continue }
            for candidate in unused where streams[candidate].media == section.media {
                guard let agreed = match(streams[candidate], section, index: index, usesOwnTypes: false) else {
                    refusals.append(
                        .init(
                            media: section.media, reason: section.mismatch(with: streams[candidate]), isOfCodec: true))
                    continue
                }
                chosen[index] = (streams[candidate], agreed)
                unused.removeAll { $0 == candidate }
                break
            }
        }
        let order = chosen.keys.sorted()
        // Sound alone is not what an offer of both asks for.
        let isVideoMissing =
            refusals.contains { $0.media == "video" } && !chosen.values.contains { $0.stream.media == "video" }
        guard let first = order.first, !isVideoMissing else {
            throw SDPError(
                refusals.isEmpty ? .refused : .noCommonCodec, operation: operation,
                message: refusals.isEmpty
                    ? "The offer has no section that receives \(streams.map(\.media).joined(separator: " or "))."
                    : "The offer takes no codec that is sent: \(refusals.map(\.reason).joined(separator: "; ")).")
        }
        let transport = try Negotiation.Transport(offer, offer.sections[first], operation: operation)
        var text = SDPText()
        writeHead(&text, bundle: order.compactMap { offer.sections[$0].mid })
        for (index, section) in offer.sections.enumerated() {
            guard let (stream, agreed) = chosen[index] else {
                text.add("m=\(section.media) 0 \(section.transport) \(section.formats)")
                text.add("c=IN IP4 0.0.0.0")
                if let mid = section.mid { text.add("a=mid:\(mid)") }
                text.add("a=inactive")
                continue
            }
            write(&text, section, stream, agreed)
            if index == first { writeCandidates(&text) }
        }
        return (
            text.content,
            Negotiation(streams: order.compactMap { chosen[$0]?.agreed }, refusals: refusals, transport: transport)
        )
    }

    private func write(
        _ text: inout SDPText, _ section: SessionDescription.Section, _ stream: Stream, _ agreed: Negotiation.Stream
    ) {
        let types = [agreed.payloadType] + (agreed.retransmissionType.map { [$0] } ?? [])
        text.add("m=\(section.media) 9 \(section.transport) \(types.map { "\($0)" }.joined(separator: " "))")
        writeTransport(&text, mid: section.mid)
        writeExtensions(&text, agreed.extensions)
        guard var format = stream.formats.first(where: { $0.format.codec == agreed.codec }) else { return }
        if let profile = agreed.profileLevelID { format.profileLevelID = profile }
        let names: [(Negotiation.Feedback, String)] = [
            (.nack, "nack"), (.pictureLoss, "nack pli"), (.intraRequest, "ccm fir"), (.maximumBitrate, "goog-remb"),
            (.transportWide, "transport-cc"),
        ]
        writeFormat(
            &text, format, payloadType: agreed.payloadType, retransmissionType: agreed.retransmissionType,
            feedback: names.filter { agreed.feedback.contains($0.0) }.map(\.1))
        writeSources(&text, stream, isResent: agreed.retransmissionType != nil)
        guard let epoch = stream.epoch else { return }
        text.add("a=ts-refclk:local")
        text.add("a=mediaclk:direct=\(epoch)")
    }

    // MARK: Both

    /// What a section takes of a stream: the first of its payload types with a codec of ours.
    ///
    /// - Parameter usesOwnTypes: whether a payload type that the section does not describe is the one that was offered.
    private func match(
        _ stream: Stream, _ section: SessionDescription.Section, index: Int, usesOwnTypes: Bool
    ) -> Negotiation.Stream? {
        for type in section.payloadTypes {
            let described = section.format(of: type)
            let own = stream.formats.first { format in
                described.map { $0.codec == format.format.codec } ?? (usesOwnTypes && format.payloadType == type)
            }
            guard let own else { continue }
            let parameters = described?.parameters ?? [:]
            if own.format == .h264 {
                // Without the parameter it is the mode 0 (RFC 6184, 8.1), which has no fragments.
                let mode = parameters["packetization-mode"] ?? (parameters.isEmpty && usesOwnTypes ? "1" : "0")
                guard mode == "1", H264Profile.isSame(parameters["profile-level-id"], own.profileLevelID) else {
                    continue
                }
            }
            var resent: UInt8?
            if stream.retransmissionSSRC != nil {
                resent = section.codecs.first { $0.retransmitted == type }?.payloadType
                if let found = resent, !section.payloadTypes.contains(found) { resent = nil }
            }
            return Negotiation.Stream(
                section: index, mid: section.mid, codec: own.format.codec, payloadType: type,
                retransmissionType: resent, extensions: RTPExtensionIDs(section),
                feedback: described.map { Negotiation.Feedback($0) } ?? [],
                profileLevelID: parameters["profile-level-id"]?.lowercased())
        }
        return nil
    }
}

/// Profiles of H.264 in session descriptions.
private enum H264Profile {
    /// Whether a receiver of one profile takes the other. Levels may differ, since each side states what it can take; and
    /// of the constraints only the one counts that makes Baseline the constrained one, which all receivers take.
    static func isSame(_ theirs: String?, _ ours: String) -> Bool {
        // The default of RFC 6184, 8.1, is Baseline.
        let (first, second) = (numbers(theirs ?? "42000a"), numbers(ours))
        guard let first, let second else { return false }
        return first.profile == second.profile || (second.isConstrained && second.profile == 66)
    }

    private static func numbers(_ text: String) -> (profile: Int, isConstrained: Bool)? {
        guard text.utf8.count == 6, let value = Int(text, radix: 16), value >= 0 else { return nil }
        return (value >> 16, value & 0x4000 != 0)
    }
}

extension SessionDescription.Section {
    /// Why nothing can be sent in this section; nil when it can.
    fileprivate func refusal(isRejected: Bool) -> String? {
        if isRejected { return "line \(line) rejects the \(media) (its port is 0)" }
        if !direction.receives { return "line \(line): the \(media) is \(direction.rawValue), so nothing is received" }
        if payloadTypes.isEmpty { return "line \(line): the \(media) has no payload type of RTP" }
        return nil
    }

    /// Why no payload type of this section can carry a stream.
    fileprivate func mismatch(with stream: LocalSession.Stream) -> String {
        let h264 = codecs.filter { $0.codec == .h264 && payloadTypes.contains($0.payloadType) }
        if let own = stream.formats.first(where: { $0.format == .h264 }), !h264.isEmpty {
            // The codec is the right one.
            let theirs = h264.map { format in
                "packetization-mode=\(format.parameters["packetization-mode"] ?? "0") and profile-level-id="
                    + (format.parameters["profile-level-id"] ?? "42000a")
            }
            return
                "line \(line) takes H264 with \(printable(theirs.joined(separator: ", "), limit: 160)), but this stream "
                + "has packetization-mode=1 and profile-level-id=\(own.profileLevelID)"
        }
        let theirs = codecs.filter { $0.retransmitted == nil }.map(\.name)
        let ours = stream.formats.map { $0.format.encodingName.prefix { $0 != "/" } }
        return
            "line \(line) takes \(theirs.isEmpty ? "nothing known" : printable(theirs.joined(separator: ", "), limit: 80)) "
            + "for the \(media), but this stream is \(ours.joined(separator: ", "))"
    }
}
