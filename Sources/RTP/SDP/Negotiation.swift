import CaptureCore

/// What offer and answer have agreed on.
package struct Negotiation: Sendable {
    /// The streams that are sent, in the order of their sections.
    package var streams: [Stream]
    /// What the peer does not take; empty when it takes all.
    package var refusals: [Refusal]
    /// The transport of all streams.
    package var transport: Transport

    /// A stream that the peer does not take.
    package struct Refusal: Sendable, Hashable {
        /// `audio` or `video`.
        package var media: String
        /// Why, in words for the user: part of a sentence.
        package var reason: String
        /// Whether the peer would take the medium in a codec that is not sent.
        package var isOfCodec: Bool
    }

    /// One stream that the peer takes.
    package struct Stream: Sendable {
        /// The index of its section.
        package var section: Int
        /// The identifier of its section; nil without one.
        package var mid: String?
        /// The codec.
        package var codec: Codec
        /// The payload type of its packets.
        package var payloadType: UInt8
        /// The payload type of retransmissions (RFC 4588); nil when the peer takes none.
        package var retransmissionType: UInt8?
        /// The header extensions, under the peer's identifiers.
        package var extensions: RTPExtensionIDs
        /// What the peer will say in RTCP.
        package var feedback: Feedback
        /// `profile-level-id` of H.264, in lower case; nil when the peer states none.
        package var profileLevelID: String?
    }

    /// Messages of the peer that were agreed on.
    package struct Feedback: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        /// The messages of these bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Lost packets are asked for again.
        package static let nack = Feedback(rawValue: 1)
        /// Key frames are asked for.
        package static let pictureLoss = Feedback(rawValue: 2)
        /// Key frames are asked for, with numbers.
        package static let intraRequest = Feedback(rawValue: 4)
        /// An estimate of the bitrate comes (REMB).
        package static let maximumBitrate = Feedback(rawValue: 8)
        /// The arrival of each packet is stated.
        package static let transportWide = Feedback(rawValue: 16)

        init(_ format: SessionDescription.PayloadFormat) {
            self = []
            let names: [(String, Feedback)] = [
                ("nack", .nack), ("nack pli", .pictureLoss), ("ccm fir", .intraRequest),
                ("goog-remb", .maximumBitrate), ("transport-cc", .transportWide),
            ]
            for (name, value) in names where format.feedback.contains(name) { insert(value) }
        }
    }

    /// The transport of the peer.
    package struct Transport: Sendable {
        /// The user name of ICE.
        package var iceUser: String
        /// The password of ICE: a secret.
        package var icePassword: String
        /// Whether the peer is an ICE-lite implementation.
        package var isICELite: Bool
        /// The fingerprints of the peer's certificate, at least one; the strongest hash function first.
        package var fingerprints: [SessionDescription.Fingerprint]
        /// The peer's role in DTLS.
        package var setup: SessionDescription.Setup
        /// The candidates, without `a=`, as the peer has written them. Names of `.local` may be among them.
        package var candidates: [String]
    }
}

extension Negotiation.Transport {
    /// The transport of the first section that is used. What it does not state is that of its group (RFC 9143, 7.1.3).
    ///
    /// - Throws: `incomplete` without credentials or a fingerprint.
    init(_ description: SessionDescription, _ section: SessionDescription.Section, operation: String) throws(SDPError) {
        func missing(_ what: String) -> SDPError {
            SDPError(
                .incomplete, operation: operation,
                message: "The section of line \(section.line) (m=\(section.media)) has no \(what), so no connection "
                    + "can be made; the peer must state it there, in the first section of the group, or for the session."
            )
        }
        let group = description.sections.filter { $0.mid.map(description.bundle.contains) ?? false }
        let tagged = section.mid.map(description.bundle.contains) == true ? description.tagged : nil
        // A section that only exists within its group has no transport of its own, whatever it states.
        let sources = section.isBundleOnly ? [tagged, section] : [section, tagged]
        func stated<Value>(_ value: (SessionDescription.Section) -> Value?) -> Value? {
            for case let source? in sources { if let found = value(source) { return found } }
            return nil
        }
        guard let user = stated(\.iceUser) else { throw missing("a=ice-ufrag") }
        guard let password = stated(\.icePassword) else { throw missing("a=ice-pwd") }
        guard let found = stated({ $0.fingerprints.isEmpty ? nil : $0.fingerprints }) else {
            throw missing("a=fingerprint that is known (SHA-1 or SHA-2)")
        }
        guard stated({ $0.multiplexesRTCP ? true : nil }) != nil else { throw missing("a=rtcp-mux") }
        iceUser = user
        icePassword = password
        isICELite = description.isICELite
        fingerprints = found.sorted { $0.digest.count > $1.digest.count }
        setup = stated(\.setup) ?? .either
        // With one transport the candidates may stand in any section of the group.
        candidates = section.candidates.isEmpty ? group.flatMap(\.candidates) : section.candidates
    }
}

extension Negotiation.Transport: CustomStringConvertible {
    /// What is no secret.
    package var description: String { "transport of \(iceUser), \(setup.rawValue), \(candidates.count) candidates" }
}

extension LocalSession.Transport: CustomStringConvertible {
    /// What is no secret.
    package var description: String { "transport of \(iceUser), \(setup.rawValue), \(candidates.count) candidates" }
}

extension SessionDescription.Section: CustomStringConvertible {
    /// What is no secret.
    package var description: String { "\(media) at line \(line), \(direction.rawValue), port \(port)" }
}

extension RTPExtensionIDs {
    /// The extensions that are known here, by their URIs.
    package static let uris: [(keyPath: any WritableKeyPath<RTPExtensionIDs, UInt8?> & Sendable, uri: String)] = [
        (\.mid, "urn:ietf:params:rtp-hdrext:sdes:mid"),
        (\.absoluteSendTime, "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"),
        (\.transportNumber, "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"),
        (\.videoOrientation, "urn:3gpp:video-orientation"),
    ]

    /// The extensions of a section.
    init(_ section: SessionDescription.Section) {
        self.init()
        for (path, uri) in RTPExtensionIDs.uris {
            self[keyPath: path] = section.extensions.first { $0.uri == uri }?.id
        }
    }
}
