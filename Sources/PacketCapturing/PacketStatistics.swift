/// What a packet capture has counted since it was initialized.
public struct PacketStatistics: Sendable, Hashable {
    /// The counts of each track, in the order of the settings.
    public var tracks: [Track] = []
    /// Times that the capture was started.
    public var starts: UInt64 = 0
    /// Times that the capture was interrupted.
    public var interruptions: UInt64 = 0

    /// Counts that are all zero.
    public init() {}

    /// Packets handed to the consumer, of all tracks.
    public var packetsDelivered: UInt64 { tracks.reduce(0) { $0 &+ $1.packetsDelivered } }

    /// Packets that are lost, of all tracks.
    public var packetsLost: UInt64 { tracks.reduce(0) { $0 &+ $1.packetsLost.total } }

    /// The counts of one track.
    public struct Track: Sendable, Hashable {
        /// The track.
        public var id: TrackID
        /// Packets handed to the consumer.
        public var packetsDelivered: UInt64 = 0
        /// Their encoded bytes.
        public var bytesDelivered: UInt64 = 0
        /// Those of them with which decoding can begin.
        public var keyFrames: UInt64 = 0
        /// Packets that are lost, by reason.
        public var packetsLost = LossCounts()

        /// Counts that are all zero.
        public init(id: TrackID) { self.id = id }
    }

    /// Lost packets, each counted under one reason.
    public struct LossCounts: Sendable, Hashable {
        /// The device, the network or the source lost them.
        public var source: UInt64 = 0
        /// They need a packet that was lost, or came before the first key frame after a start.
        public var undecodable: UInt64 = 0
        /// There was no consumer.
        public var noConsumer: UInt64 = 0
        /// The capture was stopped before they were handed over.
        public var abandoned: UInt64 = 0

        /// Counts that are all zero.
        public init() {}

        /// All of them.
        public var total: UInt64 { source &+ undecodable &+ noConsumer &+ abandoned }
    }
}
