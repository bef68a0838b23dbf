import VideoCapturing

extension IcecastOutput {
    /// What the server shows of a stream, and lists in its directory.
    public struct Metadata: Sendable, Hashable {
        /// The name of the stream.
        public var name: String?
        /// A sentence on it.
        public var description: String?
        /// Its genre.
        public var genre: String?
        /// The address of a page on it.
        public var url: String?
        /// Whether the server may list it in a public directory.
        public var isPublic = false

        /// No metadata.
        public init() {}
    }

    /// How an ``IcecastOutput`` sends.
    public struct Configuration: Sendable, Hashable {
        /// The metadata; what the address states counts more.
        public var metadata = Metadata()
        /// The timeout of a connection attempt, with the answer of the server.
        public var connectTimeout: Duration = .seconds(10)
        /// How long the server may take nothing before the connection is closed.
        public var stallTimeout: Duration = .seconds(10)
        /// How long a packet may wait before groups of pictures are lost.
        public var maximumDelay: Duration = .seconds(3)
        /// The delay before the first attempt to restore a lost connection, at most; each is twice the one before.
        public var reconnectDelay: Duration = .milliseconds(500)
        /// The longest of these delays.
        public var maximumReconnectDelay: Duration = .seconds(10)
        /// How long a lost connection is tried to be restored; nil for as long as the output is used.
        public var reconnectTimeout: Duration?
        /// How long the end waits for the server to take the remaining packets.
        public var finishTimeout: Duration = .seconds(2)

        /// The default configuration.
        public init() {}

        /// Checks all values.
        ///
        /// - Throws: `invalidConfiguration` for a value that is out of range.
        public func validate() throws(CaptureError) {
            let isValid =
                [connectTimeout, stallTimeout, maximumDelay].allSatisfy { $0 > .zero } && finishTimeout >= .zero
                && reconnectDelay > .zero && maximumReconnectDelay >= reconnectDelay
                && reconnectTimeout.map { $0 > .zero } ?? true
            guard isValid else {
                throw CaptureError(
                    .invalidConfiguration, operation: "configure the output",
                    message: "Timeouts and delays must be longer than nothing, and the longest delay is the longest.")
            }
        }
    }

    /// What an ``IcecastOutput`` does.
    public enum State: Sendable, Equatable {
        /// Nothing yet.
        case idle
        /// The first connection is being made.
        case connecting
        /// The server takes the stream.
        case live
        /// The connection was lost, or could not be made again; attempts count from 1 since then.
        case reconnecting(after: CaptureError, attempt: Int)
        /// It has ended: by the error, or as it should.
        case ended(CaptureError?)
    }

    /// Statistics of an ``IcecastOutput`` since it was made.
    public struct Statistics: Sendable, Hashable {
        /// Packets that were sent.
        public var packets: UInt64 = 0
        /// Bytes that were sent, those of WebM included.
        public var bytes: UInt64 = 0
        /// Packets that were dropped, since the server took too little or was not connected.
        public var packetsDropped: UInt64 = 0
        /// Connections that were made again.
        public var reconnections: UInt64 = 0

        /// Statistics with all counters zero.
        public init() {}
    }
}
