import CaptureCore

extension PeerConnection {
    /// How a connection is made.
    package struct Configuration: Sendable, Hashable {
        /// Whether this side chooses the path: the side that offers does.
        package var isControlling: Bool
        /// The only addresses of this machine to offer; empty for all that it has.
        package var localAddresses: [String]
        /// Servers of STUN and TURN.
        package var servers: [Server]
        /// Whether only relays are used, so that the peer learns no address of this machine.
        package var isRelayOnly = false
        /// How long connecting may take once the peer has described itself.
        package var connectTimeout: Duration = .seconds(30)
        /// Whether a lost path leaves the connection ``PeerConnection/State/disconnected(_:)``, to be restarted; otherwise it
        /// is closed.
        package var canRestart = false
        /// Whether candidates with a host name are looked up (RFC 8839, 5.1): those of a server that the user has chosen. A
        /// viewer could have any name looked up.
        package var resolvesNames = false

        package init(isControlling: Bool, localAddresses: [String] = [], servers: [Server] = []) {
            self.isControlling = isControlling
            self.localAddresses = localAddresses
            self.servers = servers
        }
    }

    /// A server that helps two peers to find a way to each other: STUN (RFC 8489) or TURN (RFC 8656).
    package struct Server: Sendable, Hashable {
        /// How it is spoken to.
        package enum Kind: Sendable, Hashable { case stun, turnUDP, turnTCP }

        package var kind: Kind
        /// An address, or a name that libnice looks up.
        package var host: String
        package var port: UInt16
        /// For TURN.
        package var user: String
        /// For TURN; a secret.
        package var password: String

        package init(_ kind: Kind, host: String, port: UInt16, user: String = "", password: String = "") {
            self.kind = kind
            self.host = host
            self.port = port
            self.user = user
            self.password = password
        }
    }

    /// The handlers, which are called on the connect thread. They must not wait.
    package struct Handlers: Sendable {
        /// A new state.
        package var stateChanged: @Sendable (State) -> Void
        /// A compound packet of RTCP, decrypted, not checked for anything else.
        package var reportReceived: @Sendable (UnsafeRawBufferPointer) -> Void
        /// A packet of RTP, decrypted; nil for a side that only sends, which drops these unread.
        package var mediaReceived: (@Sendable (UnsafeRawBufferPointer) -> Void)?

        package init(
            stateChanged: @escaping @Sendable (State) -> Void = { _ in },
            reportReceived: @escaping @Sendable (UnsafeRawBufferPointer) -> Void = { _ in },
            mediaReceived: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
        ) {
            self.stateChanged = stateChanged
            self.reportReceived = reportReceived
            self.mediaReceived = mediaReceived
        }
    }

    /// The states of a connection, in their order.
    package enum State: Sendable, Hashable {
        case new
        case gathering
        case gathered
        case connecting
        /// Media flows.
        case ready
        /// The peer no longer answers, for the reason. Nothing is sent until it answers again, upon
        /// ``PeerConnection/restart(_:)``.
        case disconnected(CaptureError)
        /// For a reason, or since it was asked to.
        case closed(CaptureError?)
    }

    /// What one side must know of the other: parts of its session description.
    package struct Parameters: Sendable, Hashable {
        /// `ice-ufrag`.
        package var user: String
        /// `ice-pwd`, a secret.
        package var password: String
        /// The values of the `candidate` attributes, each beginning with `candidate:`.
        package var candidates: [String]
        /// The fingerprints that are understood.
        package var fingerprints: [Fingerprint]

        package init(user: String, password: String, candidates: [String], fingerprints: [Fingerprint]) {
            self.user = user
            self.password = password
            self.candidates = candidates
            self.fingerprints = fingerprints
        }
    }

    /// What a connection has counted.
    package struct Statistics: Sendable, Hashable {
        /// Packets of RTP that the system has taken.
        package var packetsSent: UInt64 = 0
        /// The bytes of these, encrypted, without the headers below.
        package var bytesSent: UInt64 = 0
        /// Packets that the system has not taken, since its buffer was full.
        package var packetsUnsent: UInt64 = 0
        /// Packets of RTCP received.
        package var reportsReceived: UInt64 = 0
        /// Packets of RTCP that were dropped unread, since too many came.
        package var reportsDropped: UInt64 = 0
        /// Packets that were not authentic, or repeated.
        package var rejected: UInt64 = 0
        /// Candidates of the peer without an address: it hides that behind a name, or the name is not known.
        package var hiddenCandidates = 0
        /// How often a path was kept whose checks were not answered.
        package var pathsKept: UInt64 = 0
        /// The kinds of addresses at both ends of the path, as in `host, relayed`; nil before there is one.
        package var path: String?

        package init() {}

        /// Counts packets of which the system has taken some.
        mutating func add(_ sent: (count: Int, bytes: Int), of total: Int) {
            packetsSent += UInt64(sent.count)
            bytesSent += UInt64(sent.bytes)
            packetsUnsent += UInt64(total - sent.count)
        }
    }

    /// Candidates of a peer that are looked at.
    package static let maximumCandidates = 32
    /// Packets of RTCP per second that are read; browsers send some twenty.
    package static let maximumReportsPerSecond = 200
    /// The size of the largest packet of RTCP, in both directions.
    package static let maximumReportSize = 1500
}

extension CaptureError {
    /// A connection that this side has closed.
    static let closedPeer = CaptureError(
        .invalidState, operation: "connect to the peer", message: "The connection was closed; make another one.")
}
