import VideoCapturing

extension RTSPServer {
    /// The address at which a server listens.
    public struct Address: Sendable, Hashable {
        /// The IP address.
        public var host: String
        /// The TCP port.
        public var port: Int
        /// The path of the stream; empty where any path leads to it.
        public var path: String
        /// Whether clients speak TLS with it.
        public var isSecure = false

        /// The URL of the stream, for players.
        public var url: String { url(host) }

        /// The URLs for other machines, where it listens at all addresses of this one; ``url`` otherwise.
        var reachableURLs: [String] {
            guard NetworkAddresses.isUnspecified(host) else { return [url] }
            return NetworkAddresses.ofThisMachine(besides: host).map { url($0) }
        }

        private func url(_ host: String) -> String {
            "\(isSecure ? "rtsps" : "rtsp")://\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)/\(path)"
        }
    }

    /// Statistics of an ``RTSPServer`` since it was made.
    public struct Statistics: Sendable, Hashable {
        /// One client to which packets are sent.
        public struct Client: Sendable, Hashable {
            /// Its address and port.
            public var address: String
            /// Whether the packets go on the connection of the requests, and not as datagrams.
            public var isInterleaved: Bool
            /// Frames of video and sound that were sent.
            public var framesSent: UInt64 = 0
            /// Bytes of RTP that were sent, with the headers of the connection.
            public var bytesSent: UInt64 = 0
            /// Frames that were left out, since it took too little.
            public var framesDropped: UInt64 = 0
            /// Whether it takes nothing at present.
            public var isBlocked = false

            /// A client that has got nothing yet.
            public init(address: String, isInterleaved: Bool) {
                self.address = address
                self.isInterleaved = isInterleaved
            }
        }

        /// The clients to which packets are sent; as they were a quarter of a second ago.
        public var clients: [Client] = []
        /// The number of times that a client began or resumed.
        public var sessions: UInt64 = 0
        /// Connections that are open now.
        public var connections = 0
        /// Connections that were accepted.
        public var connectionsAccepted: UInt64 = 0
        /// Connections that were refused since there were too many.
        public var connectionsRefused: UInt64 = 0
        /// The number of times that groups of pictures were left out for a slow client.
        public var gaps: UInt64 = 0
        /// Requests for a key frame that were passed on to the encoder.
        public var keyFramesAsked: UInt64 = 0
        /// Reports of clients.
        public var reports: UInt64 = 0

        var bytesOfPastClients: UInt64 = 0
        var framesOfPastClients: UInt64 = 0
        var droppedOfPastClients: UInt64 = 0

        /// Frames that were sent, to all clients together.
        public var framesSent: UInt64 { clients.reduce(framesOfPastClients) { $0 + $1.framesSent } }
        /// Bytes of RTP that were sent, to all clients together.
        public var bytesSent: UInt64 { clients.reduce(bytesOfPastClients) { $0 + $1.bytesSent } }
        /// Frames that were left out for slow clients.
        public var framesDropped: UInt64 { clients.reduce(droppedOfPastClients) { $0 + $1.framesDropped } }

        /// Statistics with all counters zero.
        public init() {}
    }
}
