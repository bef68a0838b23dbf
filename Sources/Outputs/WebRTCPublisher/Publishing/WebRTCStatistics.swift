import CaptureCore

extension WebRTCOutput {
    /// What a ``WebRTCOutput`` has counted, over all its connections, and what it measures at present.
    public struct Statistics: Sendable, Hashable {
        /// What it does.
        public var state = State.idle
        /// The present sending rate, with headers and retransmissions, in bits per second.
        public var bitrate = 0
        /// The estimated capacity of the path to the peer, in bits per second; 0 without a path.
        public var targetBitrate = 0
        /// The round-trip time to the peer; nil before it has reported.
        public var roundTripTime: Duration?
        /// The part of the packets that were lost lately, 0 to 1.
        public var loss = 0.0
        /// Frames of video that were sent.
        public var framesSent: UInt64 = 0
        /// Frames that were left out, since the peer was too slow.
        public var framesDropped: UInt64 = 0
        /// Packets that the system has taken, retransmissions included.
        public var packetsSent: UInt64 = 0
        /// The bytes of these, encrypted.
        public var bytesSent: UInt64 = 0
        /// Packets that the system has not taken, since its buffer was full.
        public var packetsUnsent: UInt64 = 0
        /// Packets that were left out before, since too many waited to be sent.
        public var packetsDropped: UInt64 = 0
        /// Packets that were sent again.
        public var packetsResent: UInt64 = 0
        /// Requests of the peer for lost packets.
        public var nacks: UInt64 = 0
        /// Requests of the peer for a key frame.
        public var keyFrameRequests: UInt64 = 0
        /// How often the encoder was asked for one: requests in quick succession share a key frame.
        public var keyFramesRequested: UInt64 = 0
        /// Connections that were lost.
        public var reconnects: UInt64 = 0
        /// The kinds of addresses at both ends of the connection, as in `host, relayed`; nil without a connection.
        public var path: String?
        /// The offered media that the peer refuses, each with the reason, as in `video: line 7 rejects the video`; empty
        /// when it takes all.
        public var refusals: [String] = []

        /// Statistics with all counters zero.
        public init() {}

        /// Adds what a session has counted; the state and the number of connections lost are of the output.
        mutating func addCounters(of session: Self) {
            framesSent += session.framesSent
            framesDropped += session.framesDropped
            packetsSent += session.packetsSent
            bytesSent += session.bytesSent
            packetsUnsent += session.packetsUnsent
            packetsDropped += session.packetsDropped
            packetsResent += session.packetsResent
            nacks += session.nacks
            keyFrameRequests += session.keyFrameRequests
            keyFramesRequested += session.keyFramesRequested
        }
    }
}
