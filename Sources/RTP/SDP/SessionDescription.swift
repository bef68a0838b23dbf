import CaptureCore

/// A session description (RFC 8866) of WebRTC, as it was received: an offer or an answer.
///
/// ``init(parsing:operation:)`` reads one. Attributes that mean nothing here are left out.
package struct SessionDescription: Sendable, Hashable {
    /// The maximum size of a description, in bytes.
    package static let maximumSize = 64 << 10
    /// The maximum number of sections.
    package static let maximumSections = 8
    /// The maximum number of candidates that are kept, of all sections together.
    package static let maximumCandidates = 32
    /// The maximum number of payload types, extensions or sources of a section.
    static let maximumItems = 64

    /// The identifiers of the sections that share one transport (RFC 9143); empty without a group.
    package var bundle: [String] = []
    /// Whether the peer is an ICE-lite implementation (RFC 8445, 2.5).
    package var isICELite = false
    /// The sections in their order.
    package var sections: [Section] = []
    /// Candidates beyond the maximum, and those of a second component, which are left out.
    package var candidatesIgnored = 0

    /// What stands at the level of the session is that of each section without an own one.
    package struct Section: Sendable, Hashable {
        /// The line at which it begins, counted from 1.
        package var line: Int
        /// `video`, `audio`, `application` or another medium.
        package var media: String
        /// 0 for a section that is rejected, or that an offer sends over the transport of its group only.
        package var port: Int
        /// The transport protocol, as in `UDP/TLS/RTP/SAVPF`.
        package var transport: String
        /// The payload types in the order of preference; empty for sections without RTP.
        package var payloadTypes: [UInt8]
        /// The formats of the `m=` line as they stand there, for an answer that rejects the section.
        package var formats: String
        /// The identifier (RFC 5888); nil without one.
        package var mid: String?
        /// Which way media flow, as the peer sees it.
        package var direction = Direction.sendAndReceive
        /// The payload formats by `a=rtpmap`.
        package var codecs: [PayloadFormat] = []
        /// The header extensions.
        package var extensions: [HeaderExtension] = []
        /// Whether RTCP shares the port of RTP (RFC 5761).
        package var multiplexesRTCP = false
        /// The user name of ICE; nil without one.
        package var iceUser: String?
        /// The password of ICE: a secret. Nil without one.
        package var icePassword: String?
        /// The fingerprints of the certificate, the section's own before those of the session.
        package var fingerprints: [Fingerprint] = []
        /// The role in DTLS (RFC 8842); nil when it is not stated.
        package var setup: Setup?
        /// The candidates of the first component, without `a=`.
        package var candidates: [String] = []

        /// Whether an offer wants the section only in the group of one transport (`a=bundle-only`, RFC 9143, 6).
        package var isBundleOnly = false

        /// Whether nothing may be sent in this section. In an offer ``SessionDescription/isOffered(_:)`` says so.
        package var isRejected: Bool { port == 0 }

        /// The format of a payload type; nil when it is not described.
        package func format(of payloadType: UInt8) -> PayloadFormat? {
            codecs.first { $0.payloadType == payloadType }
        }
    }

    /// Whether an offer has a section to be answered: its port is not 0, or its group's transport carries it (RFC 9143, 7.2).
    package func isOffered(_ section: Section) -> Bool {
        !section.isRejected || (section.isBundleOnly && section.mid.map(bundle.contains) ?? false)
    }

    /// The section whose transport its whole group uses: the first of the group (RFC 9143, 7.2); nil without a group.
    var tagged: Section? {
        bundle.first.flatMap { first in sections.first { $0.mid == first } }
    }

    /// A header extension of RTP (RFC 8285).
    package struct HeaderExtension: Sendable, Hashable {
        /// Its identifier in the packets, 1 to 14.
        package var id: UInt8
        /// Its name.
        package var uri: String
    }

    /// A direction of media (RFC 8866, 6.7).
    package enum Direction: String, Sendable, Hashable {
        case sendAndReceive = "sendrecv"
        case send = "sendonly"
        case receive = "recvonly"
        case inactive

        /// Whether the peer accepts packets.
        package var receives: Bool { self == .receive || self == .sendAndReceive }
    }

    /// A role in DTLS (RFC 4145, 4).
    package enum Setup: String, Sendable, Hashable {
        /// The peer begins the handshake.
        case active
        /// The peer waits for the handshake.
        case passive
        /// Either, as in offers.
        case either = "actpass"
    }

    /// A payload format of a section: `a=rtpmap` and what belongs to it.
    package struct PayloadFormat: Sendable, Hashable {
        /// The payload type.
        package var payloadType: UInt8
        /// The encoding, as in `VP8`.
        package var name: String
        /// Ticks per second.
        package var clockRate: Int
        /// The channels of sound; 1 when they are not stated.
        package var channels = 1
        /// The parameters of `a=fmtp`, by their names in lower case.
        package var parameters: [String: String] = [:]
        /// The values of `a=rtcp-fb`, as in `nack pli`.
        package var feedback: Set<String> = []

        /// The payload type whose packets it sends again; nil when it is not a retransmission.
        package var retransmitted: UInt8? {
            name.lowercased() == "rtx" ? parameters["apt"].flatMap { UInt8($0) } : nil
        }

        /// The codec, where it is one that is sent here, in its usual form.
        package var codec: Codec? {
            switch (name.lowercased(), clockRate, channels) {
            case ("vp8", 90_000, 1): .vp8
            case ("h264", 90_000, 1): .h264
            case ("opus", 48_000, 2): .opus
            default: nil
            }
        }
    }

    /// The fingerprint of a certificate (RFC 8122).
    package struct Fingerprint: Sendable, Hashable {
        /// The hash function in lower case, as in `sha-256`.
        package var hash: String
        /// The digest.
        package var digest: [UInt8]
    }
}

/// An error of a session description.
package typealias SDPError = MediaError<SDPErrorCode>

/// What can be wrong with a session description.
package enum SDPErrorCode: String, MediaErrorCode {
    /// It is larger than the limits allow.
    case tooLarge
    /// A line is not what the specification asks for.
    case malformed
    /// The peer refuses the offer.
    case refused
    /// The peer takes none of the codecs that are sent.
    case noCommonCodec
    /// What a connection needs is missing.
    case incomplete

    package var category: ErrorCategory {
        switch self {
        case .tooLarge, .malformed, .incomplete: .invalidData
        case .refused, .noCommonCodec: .unsupported
        }
    }
}
