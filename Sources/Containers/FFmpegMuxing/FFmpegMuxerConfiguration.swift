import MediaContainers

extension FFmpegMuxer {
    /// How a ``FFmpegMuxer`` writes.
    public struct Configuration: Sendable, Hashable {
        /// FFmpeg's name of the container, as in `ffmpeg -formats`; nil for that of the URL's scheme or of the extension.
        public var format: String?
        /// Whether an existing file is replaced, which is an error otherwise.
        public var overwrites: Bool
        /// Options of FFmpeg's container and protocol by name, as on the command line of ffmpeg but without the dash. They
        /// replace those that are set here.
        public var options: [String: String]
        /// Whether an MP4 or MOV file gets its index at the beginning when it is finished, so that every player can seek in it.
        /// That writes the file once more; without it, and when it fails, the file stays in fragments.
        public var makesIndex: Bool
        /// How many segments an HLS playlist keeps, 3 at least for players; older ones are deleted, so that it may run
        /// indefinitely. One that was just left out of the playlist stays for the time of another, for clients that read it.
        /// Nil, the default, keeps all, as a recording.
        public var keptSegments: Int?
        /// How long a connection may take to be made. An output that listens waits for its caller as long as it is used.
        public var connectTimeout: Duration
        /// How long a peer may take nothing before its connection counts as lost.
        public var writeTimeout: Duration
        /// How long a lost connection is tried to be made again; nil for indefinitely, zero for not at all.
        public var reconnectTimeout: Duration?
        /// Whether a first connection that fails is tried again as well, in place of ending the output.
        public var retriesFirstConnection = false
        /// How far a network peer may fall behind before groups of pictures are dropped.
        public var maximumDelay: Duration

        /// The defaults suit a file and a live stream.
        public init(
            format: String? = nil, overwrites: Bool = false, options: [String: String] = [:], makesIndex: Bool = true,
            keptSegments: Int? = nil, connectTimeout: Duration = .seconds(10),
            writeTimeout: Duration = .seconds(5), reconnectTimeout: Duration? = nil,
            maximumDelay: Duration = .seconds(2)
        ) {
            self.format = format
            self.overwrites = overwrites
            self.options = options
            self.makesIndex = makesIndex
            self.keptSegments = keptSegments
            self.connectTimeout = connectTimeout
            self.writeTimeout = writeTimeout
            self.reconnectTimeout = reconnectTimeout
            self.maximumDelay = maximumDelay
        }

        /// The options of the container, with those that follow from the others.
        var containerOptions: [String: String] {
            guard let keptSegments else { return options }
            let window = [
                "hls_list_size": "\(keptSegments)", "hls_playlist_type": "0",
                "hls_flags": "independent_segments+temp_file+delete_segments",
            ]
            return window.merging(options) { _, user in user }
        }
    }
}

extension FFmpegMuxer {
    /// What a muxer does.
    public enum State: Sendable, Hashable {
        /// It has not been begun.
        case idle
        /// It connects for the first time.
        case connecting
        /// What is written arrives in the file, or at the peer.
        case live
        /// The connection was lost; it is being made again. Packets are dropped meanwhile.
        case reconnecting(after: MediaFileError, attempt: Int)
        /// It takes no more; nil when it was finished.
        case ended(MediaFileError?)
    }

    /// What a muxer has counted.
    public struct Statistics: Sendable, Hashable {
        /// Packets written.
        public var packets: UInt64 = 0
        /// Their encoded bytes.
        public var bytes: UInt64 = 0
        /// Packets dropped because a peer was too slow or not there.
        public var packetsDropped: UInt64 = 0
        /// Connections made after the first.
        public var reconnections: UInt64 = 0

        /// Zeros.
        public init() {}
    }
}
