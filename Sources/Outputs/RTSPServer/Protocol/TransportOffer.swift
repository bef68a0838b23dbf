/// One of the transports that a client offers for a track (RFC 2326, 12.39).
struct TransportOffer: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// On the connection itself; nil where the client leaves the channels to the server.
        case interleaved(channels: TrackTransport.Channels?)
        /// To these ports of the client.
        case datagrams(port: UInt16, reportPort: UInt16)
        /// To a group of the server, whatever group and ports the client names.
        case multicast
    }

    var kind: Kind

    /// The maximum number of offers that are looked at.
    static let maximumCount = 8

    /// The offers of a header that a server could take, the client's preferred one first. Recording is not
    /// among them.
    static func parse(_ header: String) -> [TransportOffer] {
        header.split(separator: ",").prefix(maximumCount).compactMap { TransportOffer($0) }
    }

    private init?(_ text: Substring) {
        let fields = text.split(separator: ";").map { $0.trimmingSpaces() }
        guard let profile = fields.first?.uppercased(), ["RTP/AVP", "RTP/AVP/UDP", "RTP/AVP/TCP"].contains(profile)
        else { return nil }
        var channels: TrackTransport.Channels?
        var ports: (UInt16, UInt16)?
        var isMulticast = false
        var isInterleaved = profile.hasSuffix("/TCP")
        for field in fields.dropFirst() {
            let pair = field.split(separator: "=", maxSplits: 1).map { $0.trimmingSpaces() }
            let value = pair.count > 1 ? pair[1] : ""
            switch pair.first?.lowercased() {
            case "multicast": isMulticast = true
            case "mode" where !value.lowercased().contains("play"): return nil
            case "interleaved":
                isInterleaved = true
                guard let (first, second) = TransportOffer.range(value, as: UInt8.self), first != second else {
                    return nil
                }
                channels = TrackTransport.Channels(packets: first, reports: second)
            case "client_port":
                guard let (first, second) = TransportOffer.range(value, as: UInt16.self), first > 0, second > 0 else {
                    return nil
                }
                ports = (first, second)
            default: break
            }
        }
        if isMulticast {
            guard !isInterleaved else { return nil }
            kind = .multicast
        } else if isInterleaved {
            kind = .interleaved(channels: channels)
        } else if let ports {
            kind = .datagrams(port: ports.0, reportPort: ports.1)
        } else {
            return nil
        }
    }

    /// `4-5`, or `4` for both; nil for anything else.
    private static func range<Number: FixedWidthInteger>(
        _ text: Substring, as type: Number.Type
    ) -> (Number, Number)? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let first = Number(parts[0]) else { return nil }
        if parts.count == 1 { return first < .max ? (first, first + 1) : nil }
        return Number(parts[1]).map { (first, $0) }
    }
}

/// How the packets of a track reach a client.
enum TrackTransport: Sendable, Hashable {
    /// On the connection, between the responses.
    case interleaved(Channels)
    /// To these ports of the client's address.
    case datagrams(port: UInt16, reportPort: UInt16)
    /// To these ports of the server's group, once for all clients.
    case multicast(port: UInt16, reportPort: UInt16)

    /// The channels of packets and of their reports.
    struct Channels: Sendable, Hashable {
        var packets: UInt8
        var reports: UInt8
    }

    var isInterleaved: Bool { if case .interleaved = self { true } else { false } }
    var isMulticast: Bool { if case .multicast = self { true } else { false } }
}

/// Where a track begins for a client.
struct TrackStart: Sendable, Hashable {
    /// The number of the first packet.
    var sequenceNumber: UInt16
    /// The RTP timestamp of the instant at which the first track begins.
    var timestamp: UInt32
}

extension Substring {
    /// Without spaces at its ends.
    fileprivate func trimmingSpaces() -> Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
